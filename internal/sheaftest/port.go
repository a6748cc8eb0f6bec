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

// Ports that the tests hand out lie below those that the kernel gives to outgoing connections and to
// listeners on port 0 (32768 and up on Linux): a test beside this one that connects somewhere cannot
// take one of them by chance.
const firstPort, lastPort = 12000, 32000

// FreePort returns a port of 127.0.0.1 that nobody listens on, for a program that cannot listen on
// port 0 and say where. No other call gets it while this process lives, here or in another process of
// the tests: a locked file stands for each port that was handed out.
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

// reserve locks a file until this process ends. It reports whether another process, or an earlier call,
// had locked it.
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
