// Package npmtest installs npm packages for tests, once, into the user's cache folder. Tests with
// the same packages share them.
package npmtest

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

// installing makes sure that one test of this process installs at a time.
var installing sync.Mutex

// Modules returns a folder with the node_modules for the package.json of a folder, at the versions
// of its package-lock.json if it has one. Without npm or Node.js the test ends by
// [sheaftest.Unable].
func Modules(t testing.TB, source string) string {
	t.Helper()
	for _, program := range []string{"npm", "node"} {
		if _, err := exec.LookPath(program); err != nil {
			sheaftest.Unable(t, err.Error())
		}
	}
	installing.Lock()
	defer installing.Unlock()
	dir, err := installed(source)
	if err != nil {
		sheaftest.Unable(t, err.Error())
	}
	return dir
}

// installed returns the folder in the cache. Its name is a hash of package.json and the lock.
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

// install fills the folder, completely or not at all. Another process may do so at the same time.
// Without a lock npm chooses the versions that package.json leaves open.
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
		return fmt.Errorf("npm could not install what the tests need: %w\n%s", err, out)
	}
	if err := os.Rename(fresh, dir); err != nil {
		if _, err := os.Stat(filepath.Join(dir, "node_modules")); err == nil {
			return nil
		}
		return err
	}
	return nil
}
