package s3test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// built returns the path of the server's program. The first call on a machine builds it, which
// takes a minute or two. It is in the user's cache folder, and its name contains the version.
var built = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir, err := module()
	if err != nil {
		return "", err
	}
	version := sha256.New()
	for _, name := range []string{"go.mod", "go.sum", "main.go"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		version.Write(content)
	}
	program := filepath.Join(cache, "sheaf", "versitygw-"+hex.EncodeToString(version.Sum(nil)[:8]))
	return program, build(dir, program)
})

// module returns the folder of the module that pins versitygw and its dependencies.
func module() (string, error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sheaf.dev").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(root)), "internal", "sheaftest", "s3test", "versitygw"), nil
}

// build builds the program, completely or not at all, unless it exists. Another process that needs it
// waits.
func build(module, program string) error {
	if err := os.MkdirAll(filepath.Dir(program), 0o700); err != nil {
		return err
	}
	lock, err := os.Create(program + ".lock")
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	if _, err := os.Stat(program); err == nil {
		return nil
	}
	fresh, err := os.MkdirTemp(filepath.Dir(program), "building-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	target := filepath.Join(fresh, "versitygw")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", target, ".")
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build versitygw, the tests' S3 server: %w\n%s", err, out)
	}
	return os.Rename(target, program)
}
