//go:build unix

package deliver

import (
	"net"
	"syscall"
)

// silence returns what reports whether a connection is open and nothing waits to be read on it. To
// an idle one nothing comes but its end, or an answer that nobody asked for: both are seen without
// waiting, where net/http has a goroutine that waits for each connection.
func silence(c net.Conn) func() bool {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return func() bool { return true } // a test's pipe, whose end is noticed by writing
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
