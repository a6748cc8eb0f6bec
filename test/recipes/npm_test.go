package recipes

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"sheaf.dev/internal/sheaftest"
)

// npm returns the folder with the node_modules of npm/package-lock.json. They are installed once into the user's cache
// folder, as scripts/lint-openapi does with the linters.
func npm(t *testing.T) string {
	t.Helper()
	need(t, "npm")
	need(t, "node")
	dir, err := installed()
	if err != nil {
		sheaftest.Unable(t, err.Error())
	}
	return dir
}

var installed = sync.OnceValues(func() (string, error) {
	lock, err := os.ReadFile("npm/package-lock.json")
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(lock)
	dir := filepath.Join(cache, "sheaf", "recipes-"+hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err == nil {
		return dir, nil
	}
	return dir, install(dir)
})

// install fills the folder, whole or not at all; somebody may be faster.
func install(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "installing-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	for _, name := range []string{"package.json", "package-lock.json"} {
		b, err := os.ReadFile(filepath.Join("npm", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(fresh, name), b, 0o600)
		}
		if err != nil {
			return err
		}
	}
	ci := exec.Command("npm", "ci", "--prefix", fresh, "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
	if out, err := ci.CombinedOutput(); err != nil {
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
