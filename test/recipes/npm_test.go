package recipes

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"sheaf.dev/internal/sheaftest"
)

// npm returns the folder with the node_modules of npm/package-lock.json.
func npm(t *testing.T) string {
	t.Helper()
	return modules(t, "npm")
}

// modules returns a folder with the node_modules that a folder beside this file asks for. They are installed once into
// the user's cache folder, as scripts/lint-openapi does with the linters.
func modules(t *testing.T, source string) string {
	t.Helper()
	need(t, "npm")
	need(t, "node")
	installing.Lock()
	defer installing.Unlock()
	dir, err := installed(source)
	if err != nil {
		sheaftest.Unable(t, err.Error())
	}
	return dir
}

// installing lets one test of this process install, and the others wait for it.
var installing sync.Mutex

func installed(source string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	wanted, err := os.ReadFile(filepath.Join(source, "package.json"))
	if err != nil {
		return "", err
	}
	lock, err := os.ReadFile(filepath.Join(source, "package-lock.json"))
	if err != nil && !os.IsNotExist(err) {
		return "", err
	}
	sum := sha256.Sum256(slices.Concat(wanted, lock))
	dir := filepath.Join(cache, "sheaf", "recipes-"+hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err == nil {
		return dir, nil
	}
	return dir, install(dir, wanted, lock)
}

// install fills the folder, whole or not at all; somebody may be faster. Without a lock npm chooses the versions that
// package.json leaves open.
func install(dir string, wanted, lock []byte) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "installing-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	if err := os.WriteFile(filepath.Join(fresh, "package.json"), wanted, 0o600); err != nil {
		return err
	}
	act := "install"
	if lock != nil {
		act = "ci"
		if err := os.WriteFile(filepath.Join(fresh, "package-lock.json"), lock, 0o600); err != nil {
			return err
		}
	}
	cmd := exec.Command("npm", act, "--prefix", fresh, "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm could not install what the recipes need: %w\n%s", err, out)
	}
	if err := os.Rename(fresh, dir); err != nil {
		if _, err := os.Stat(filepath.Join(dir, "node_modules")); err == nil {
			return nil
		}
		return err
	}
	return nil
}
