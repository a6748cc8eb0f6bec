package media

import (
	"context"
	"net"
	"time"
)

// patientDialer makes connections that end if nothing moves on them for `patience`. A limit on the
// whole request would be wrong: a large object over a slow line takes long.
type patientDialer struct{ patience time.Duration }

func (d *patientDialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: d.patience}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &patientConn{conn, d.patience}, nil
}

type patientConn struct {
	net.Conn
	patience time.Duration
}

// Read waits for `patience`, and longer while a request is being written: the transport reads the
// answer from the start of the request on.
func (c *patientConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.patience)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write also extends the deadline of a Read in progress.
func (c *patientConn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.patience)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
