package sheaftest

import (
	"net"

	"golang.org/x/sys/unix"
)

// hungUp reports whether the sender has closed its end. It asks the kernel and reads nothing from
// the connection.
func hungUp(c net.Conn) (yes bool) {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return false
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return true
	}
	err = raw.Control(func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, _ := unix.Poll(poll, 0)
		yes = n > 0
	})
	return yes || err != nil
}
