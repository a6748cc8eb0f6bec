package main

import (
	"net"
	"syscall"
)

// takeNoMore makes the kernel ignore whoever wants to connect from now on: they
// try again by themselves. Those whom it has already taken stay in the queue.
func takeNoMore(l net.Listener) bool {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return false
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return false
	}
	const flags, syn, ack = 13, 0x02, 0x10 // of the TCP header
	ignore := []syscall.SockFilter{
		{Code: syscall.BPF_LD | syscall.BPF_B | syscall.BPF_ABS, K: flags},
		{Code: syscall.BPF_ALU | syscall.BPF_AND | syscall.BPF_K, K: syn | ack},
		{Code: syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K, Jf: 1, K: syn},
		{Code: syscall.BPF_RET | syscall.BPF_K, K: 0},
		{Code: syscall.BPF_RET | syscall.BPF_K, K: 0xffffffff},
	}
	var attached error
	err = raw.Control(func(fd uintptr) { attached = syscall.AttachLsf(int(fd), ignore) })
	return err == nil && attached == nil
}
