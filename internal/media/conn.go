package media

import (
	"context"
	"net"
	"time"
)

// patientDialer makes connections that end when nothing moves on them for a while. A bound on the
// whole of a request would be wrong: a large object over a slow line takes as long as it takes.
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

// Read waits for the time of patience, and longer as long as something is being written: an answer
// is awaited from the first byte of a request on.
func (c *patientConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.patience)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write sets the deadline of a read that is under way too.
func (c *patientConn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.patience)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
