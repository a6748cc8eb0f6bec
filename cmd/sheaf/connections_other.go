//go:build !linux

package main

import "net"

// takeNoMore cannot be done here: who is in the queue when the listener closes is cut off.
func takeNoMore(net.Listener) bool { return false }

// queued cannot be told here.
func queued(net.Listener) uint32 { return 0 }
