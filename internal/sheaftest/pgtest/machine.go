package pgtest

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// ErrNotInstalled says that no PostgreSQL server was found on the machine.
var ErrNotInstalled = errors.New("PostgreSQL is not installed: ./scripts/test installs it")

// debianBinaries is where Debian keeps the programs of each major version, outside of PATH.
const debianBinaries = "/usr/lib/postgresql/*/bin"

// findBinaries returns the folder of the newest PostgreSQL installed.
func findBinaries() (string, error) {
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

// firstComplete returns the first folder that holds a server: the client's packages install parts
// of it.
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

// serverOwner returns the user to run the server as: nil for our own, and another one if we are
// root, as which PostgreSQL refuses to run.
func serverOwner() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
