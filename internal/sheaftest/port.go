package sheaftest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// The ports for tests are below those that the kernel uses for outgoing connections and for
// listeners on port 0 (32768 and up on Linux), so a parallel test that opens a connection does not
// get one of them by chance.
const firstPort, lastPort = 12000, 32000

// FreePort returns a free port of 127.0.0.1, for a program that cannot listen on port 0 and report
// its port. While this process lives, no other call returns the same port, here or in another test
// process: each port has a locked file.
func FreePort() (string, error) {
	folder := filepath.Join(os.TempDir(), "sheaf-test-ports")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return "", err
	}
	for range 1000 {
		port := strconv.Itoa(firstPort + rand.IntN(lastPort-firstPort))
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		_ = l.Close()
		taken, err := reserve(filepath.Join(folder, port))
		if err != nil {
			return "", err
		}
		if !taken {
			return port, nil
		}
	}
	return "", errors.New("no port of 127.0.0.1 is free")
}

// reserve locks a file until this process ends. It returns true if another process, or an earlier
// call, has locked it.
func reserve(path string) (taken bool, err error) {
	fd, err := syscall.Open(path, syscall.O_CREAT|syscall.O_RDWR|syscall.O_CLOEXEC, 0o666)
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	if err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB); err != nil { // the lock ends with the open file
		_ = syscall.Close(fd)
		return true, nil
	}
	return false, nil
}
