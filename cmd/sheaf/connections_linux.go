package main

import (
	"net"

	"golang.org/x/sys/unix"
)

// ignoreConnections makes the kernel drop connection requests from now on; clients repeat them by
// themselves. Connections that the kernel has already accepted stay in its backlog. It returns
// false if that is not possible.
func ignoreConnections(l net.Listener) bool {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return false
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return false
	}
	const flags, syn, ack = 13, 0x02, 0x10 // offset and bits in the TCP header
	ignore := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: flags},
		{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: syn | ack},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: syn},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0xffffffff},
	}
	filter := unix.SockFprog{Len: uint16(len(ignore)), Filter: &ignore[0]}
	var attached error
	err = raw.Control(func(fd uintptr) {
		attached = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &filter)
	})
	return err == nil && attached == nil
}

// queued returns the length of the kernel's backlog: the connections that the server has not
// accepted yet. It returns 0 if that is unknown.
func queued(l net.Listener) (clients uint32) {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return 0
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			clients = info.Unacked // for a listening socket this is the length of its backlog
		}
	})
	return clients
}
