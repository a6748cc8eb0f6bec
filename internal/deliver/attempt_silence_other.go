//go:build !unix

package deliver

import "net"

// silence cannot tell here: that a connection has ended is noticed by writing.
func silence(net.Conn) func() bool { return func() bool { return true } }
