// Package promtest runs Prometheus' own parser and engine, for tests of the alerts and the dashboard in deploy. They are in
// the module in the folder promcheck, so that nothing else compiles them; its program is built once into the user's cache folder.
package promtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"sheaf.dev/internal/sheaftest"
)

// built returns the path of the program. Its name contains a hash of its source.
var built = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sheaf.dev").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	module := filepath.Join(strings.TrimSpace(string(root)), "internal", "sheaftest", "promtest", "promcheck")
	version := sha256.New()
	for _, name := range []string{"go.mod", "go.sum", "main.go"} {
		content, err := os.ReadFile(filepath.Join(module, name))
		if err != nil {
			return "", err
		}
		version.Write(content)
	}
	program := filepath.Join(cache, "sheaf", "promcheck-"+hex.EncodeToString(version.Sum(nil)[:8]))
	return program, build(module, program)
})

// build builds the program, completely or not at all, unless it exists. Another process that needs it waits.
func build(module, program string) (err error) {
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
	defer func() { err = errors.Join(err, os.RemoveAll(fresh)) }()
	target := filepath.Join(fresh, "promcheck")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", target, ".")
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build Prometheus' engine: %w\n%s", err, out)
	}
	return os.Rename(target, program)
}

// Rules runs a file of tests, in the form of promtool test rules, against a file of rules. Every alert must fire in one test
// and be silent in another.
func Rules(t testing.TB, rules, tests string) error {
	t.Helper()
	out, err := exec.Command(program(t), "rules", rules, tests).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// Answer is the result of a query.
type Answer struct {
	Query  string `json:"query"`
	Error  string `json:"error"`
	Series int    `json:"series"`
}

// Queries runs queries on two scrapes of a server, which are stored as those of a minute under the job sheaf.
func Queries(t testing.TB, before, after string, queries []string) (answers []Answer) {
	t.Helper()
	var paths []string
	for i, scrape := range []string{before, after} {
		path := filepath.Join(t.TempDir(), fmt.Sprint(i))
		if err := os.WriteFile(path, []byte(scrape), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	cmd := exec.Command(program(t), append([]string{"queries"}, paths...)...)
	cmd.Stdin = strings.NewReader(strings.Join(queries, "\n") + "\n")
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(out) {
		var a Answer
		if err := json.Unmarshal(line, &a); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, a)
	}
	if len(answers) != len(queries) {
		t.Fatalf("%d of %d queries are answered", len(answers), len(queries))
	}
	return answers
}

func program(t testing.TB) string {
	t.Helper()
	path, err := built()
	if err != nil {
		sheaftest.Unable(t, err.Error())
	}
	return path
}
