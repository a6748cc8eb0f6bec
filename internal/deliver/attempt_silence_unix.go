//go:build unix

package deliver

import (
	"net"
	"syscall"
)

// silence returns a function that reports whether the connection is open and has nothing to read. All
// that can arrive on an idle connection is its end, or an unexpected answer. A non-blocking read sees
// both; net/http keeps a goroutine per connection for that.
func silence(c net.Conn) func() bool {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return func() bool { return true } // a test's pipe: its end shows when we write
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return func() bool { return false }
	}
	silent := false
	look := func(fd uintptr) bool {
		var b [1]byte
		_, err := syscall.Read(int(fd), b[:])
		silent = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
		return true
	}
	return func() bool { return raw.Read(look) == nil && silent }
}
