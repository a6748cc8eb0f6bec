package pgtest

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ErrNotInstalled says that no PostgreSQL server was found on the machine.
var ErrNotInstalled = errors.New("PostgreSQL is not installed: ./scripts/test installs it")

// debianBinaries are the folders of the programs on Debian, one for each major version. They are
// not in PATH.
const debianBinaries = "/usr/lib/postgresql/*/bin"

// Binaries returns the folder of the newest PostgreSQL installed.
func Binaries() (string, error) {
	dirs, _ := filepath.Glob(debianBinaries)
	slices.SortFunc(dirs, func(a, b string) int { return majorOf(b) - majorOf(a) })
	if program, err := exec.LookPath("initdb"); err == nil {
		dirs = append(dirs, filepath.Dir(program))
	}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	return firstComplete(dirs)
}

// firstComplete returns the first folder that has a server. The packages of the client install only
// a part of it.
func firstComplete(dirs []string) (string, error) {
	for _, dir := range dirs {
		_, noInit := exec.LookPath(filepath.Join(dir, "initdb"))
		_, noServer := exec.LookPath(filepath.Join(dir, "postgres"))
		if noInit == nil && noServer == nil {
			return dir, nil
		}
	}
	return "", ErrNotInstalled
}

// majorOf returns 15 for /usr/lib/postgresql/15/bin.
func majorOf(dir string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
	return n
}
