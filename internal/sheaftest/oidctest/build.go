package oidctest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// The providers of other projects, as their authors wrote them.
const (
	dexProgram     = "github.com/dexidp/dex/cmd/dex"
	zitadelProgram = "github.com/zitadel/oidc/v3/example/server"
)

// built returns the folder with both programs. The first call on a machine builds them, which takes a minute or two. It is in
// the user's cache folder, and its name contains the versions.
var built = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sheaf.dev").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	module := filepath.Join(strings.TrimSpace(string(root)), "internal", "sheaftest", "oidctest", "providers")
	version := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(module, name))
		if err != nil {
			return "", err
		}
		version.Write(content)
	}
	folder := filepath.Join(cache, "sheaf", "oidc-"+hex.EncodeToString(version.Sum(nil)[:8]))
	return folder, build(module, folder)
})

// build builds the programs, both or none, unless the folder exists. Another process that needs them waits.
func build(module, folder string) (err error) {
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return err
	}
	lock, err := os.Create(folder + ".lock")
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	if _, err := os.Stat(folder); err == nil {
		return nil
	}
	fresh, err := os.MkdirTemp(filepath.Dir(folder), "building-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(fresh)) }()
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", filepath.Join(fresh, "bin")+"/", dexProgram, zitadelProgram)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build Dex and Zitadel's provider: %w\n%s", err, out)
	}
	return os.Rename(filepath.Join(fresh, "bin"), folder)
}
