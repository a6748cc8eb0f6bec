package sheaftest

import "net"

// FreePort returns a port of 127.0.0.1 that nobody listened on just now. Another process may take
// it meanwhile: a program that can listen on port 0 and say where is the better way.
func FreePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
