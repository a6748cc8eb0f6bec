//go:build !linux

package main

import "net"

// ignoreConnections is not possible here: connections in the backlog are cut off when the listener
// closes.
func ignoreConnections(net.Listener) bool { return false }

// queued is unknown here.
func queued(net.Listener) uint32 { return 0 }
