package deliver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// ErrorClass is the reason of a failed attempt in one word. The words are part of the API; the
// sentences beside them are not.
type ErrorClass string

const (
	// ErrorTimeout: the attempt had not ended at its deadline, in whatever phase.
	ErrorTimeout ErrorClass = "timeout"
	// ErrorBlockedAddress: the guard refused the address, and nothing was sent.
	ErrorBlockedAddress ErrorClass = "blocked_address"
	// ErrorTLS: no trusted TLS connection could be made.
	ErrorTLS ErrorClass = "tls"
	// ErrorConnection: the name, the connection or the answer was broken.
	ErrorConnection ErrorClass = "connection"
	// ErrorStatus: the endpoint answered, but not with 2xx.
	ErrorStatus ErrorClass = "status"
	// ErrorCanceled: the caller stopped the attempt. It says nothing about the endpoint and must not be
	// counted.
	ErrorCanceled ErrorClass = "canceled"
)

// Sentences for people. They are constant on purpose: errors of net and crypto name resolvers, ports
// and addresses of the internal network.
const (
	textCanceled   = "the attempt was stopped before it had ended"
	textOurs       = "the service could not open a connection just now: it tries again"
	textBlocked    = "the endpoint's address is not allowed: use a public one, or let the operator allow it with --webhook-allow-cidr"
	textInvalidURL = "the endpoint's URL is not valid"
	textNotSent    = "the request could not be sent"
	textPanicked   = "the service failed while it made the attempt: the operator finds the reason in its log"
	// A name that does not resolve and one that resolves to an internal address get the same text.
	// Otherwise a tenant could list internal names.
	textName        = "the endpoint's host name could not be resolved to an address that deliveries may reach: use a public name, or let the operator allow its address with --webhook-allow-cidr"
	textRefused     = "the endpoint refused the connection"
	textUnreachable = "no connection to the endpoint could be made"
	textBroken      = "the endpoint closed the connection before its answer was complete"
	textMalformed   = "the endpoint's answer is not valid HTTP, or its headers are larger than 32 KB"
	textHandshake   = "the TLS handshake with the endpoint failed"
	textNotTLS      = "the endpoint does not speak TLS on this port"
	textAuthority   = "the certificate is not trusted: it is signed by an unknown authority; use a public one, or let the operator trust it with --webhook-ca-file"
	textExpired     = "the certificate is not trusted: it has expired or is not valid yet"
	textHostname    = "the certificate is not trusted: it is for another host name"
	textCertificate = "the certificate is not trusted"
)

// outcome returns the class and the sentence for an attempt with this status (0: no answer) and this
// error of the request or of the answer's body.
func (c *Client) outcome(a *attempt, status int, err error) (ErrorClass, string) {
	switch {
	case status != 0 && (status < 200 || status > 299):
		text := "the endpoint answered " + strconv.Itoa(status)
		if status >= 300 && status <= 399 {
			text += "; redirects are not followed"
		}
		return ErrorStatus, text
	case err == nil:
		return "", ""
	case errors.Is(err, errStarved):
		return ErrorCanceled, textOurs
	case c.cfg.Blocked(err) && a.named(), isUnresolved(err) && !a.late(err) && a.caller.Err() == nil:
		return ErrorConnection, textName
	case c.cfg.Blocked(err):
		return ErrorBlockedAddress, textBlocked
	case errors.Is(a.caller.Err(), context.Canceled) || errors.Is(err, context.Canceled):
		return ErrorCanceled, textCanceled
	case a.late(err):
		return ErrorTimeout, timeoutText(status, a.deadline.Sub(a.started))
	}
	return a.classify(err)
}

// isUnresolved reports whether resolving the name failed.
func isUnresolved(err error) bool {
	_, ok := errors.AsType[*net.DNSError](err)
	return ok
}

// classify returns the class of an error that was not caused by the caller, the deadline or the
// guard.
func (a *attempt) classify(err error) (ErrorClass, string) {
	if handshake, ok := errors.AsType[*handshakeError](err); ok {
		return classifyHandshake(handshake.err)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		switch {
		case isAlert(op):
			return ErrorTLS, textHandshake // TLS 1.3 refuses a missing client certificate only after the handshake
		case op.Op == "dial":
			if errors.Is(err, syscall.ECONNREFUSED) {
				return ErrorConnection, textRefused
			}
			if isStarved(err) {
				return ErrorCanceled, textOurs
			}
			return ErrorConnection, textUnreachable
		}
	}
	switch {
	case errors.Is(err, errInvalidURL):
		return ErrorConnection, textInvalidURL
	case errors.Is(err, errInvalidStatus):
		return ErrorConnection, textMalformed
	case isBroken(err):
		return ErrorConnection, textBroken
	case a.answered():
		return ErrorConnection, textMalformed
	case a.conn != nil:
		return ErrorConnection, textBroken
	}
	return ErrorConnection, textNotSent
}

// isStarved reports whether this machine is out of file descriptors, ports or memory: the endpoint is
// not to blame.
func isStarved(err error) bool {
	return slices.ContainsFunc([]error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL},
		func(ours error) bool { return errors.Is(err, ours) })
}

// classifyHandshake is classify for a failed TLS handshake. It tests the most specific errors first.
func classifyHandshake(err error) (ErrorClass, string) {
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return ErrorTLS, textExpired
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return ErrorTLS, textAuthority
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return ErrorTLS, textHostname
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return ErrorTLS, textCertificate
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return ErrorTLS, textNotTLS
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && isAlert(op) {
		return ErrorTLS, textHandshake
	}
	if isBroken(err) {
		return ErrorConnection, textBroken
	}
	return ErrorTLS, textHandshake
}

// isAlert reports whether crypto/tls received or sent an alert; it does not export the alert's type.
func isAlert(op *net.OpError) bool { return op.Op == "remote error" || op.Op == "local error" }

// isBroken reports whether the connection ended, as opposed to carrying invalid data.
func isBroken(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe)
}

// timeoutText returns the sentence for an attempt that reached its deadline. A status other than 0
// means that the answer had begun.
func timeoutText(status int, limit time.Duration) string {
	n, unit := limit.Round(time.Millisecond).Milliseconds(), "ms"
	if n%1000 == 0 {
		n, unit = n/1000, "s"
	}
	if status != 0 {
		return fmt.Sprintf("the endpoint's answer did not end within %d %s", n, unit)
	}
	return fmt.Sprintf("the endpoint did not answer within %d %s", n, unit)
}
