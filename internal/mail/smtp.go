package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/smtp"
	"net/textproto"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
)

// within bounds one session with the mail server, including the name look-up.
const within = 30 * time.Second

// Server is a mail server.
type Server struct {
	Host, Port string
	TLS        bool // TLS from the first byte; otherwise STARTTLS if the server offers it
	// Empty: the server needs no sign-in. Without TLS they are sent only to this machine.
	User, Password string
	From           string         // sender address
	Roots          *x509.CertPool // nil: the system's
}

// Check connects and signs in to the server, without sending a mail.
func (s *Server) Check(ctx context.Context) error {
	return s.talk(ctx, func(c *smtp.Client) error { return nil })
}

// Send sends one letter, and returns the recipients that the server refused. If the server
// refused all recipients, or the letter, Send returns an error.
func (s *Server) Send(ctx context.Context, people []sheaf.User, letter []byte) (refused map[sheaf.UserID]error, err error) {
	refused = map[sheaf.UserID]error{}
	err = s.talk(ctx, func(c *smtp.Client) error {
		if err := c.Mail(s.From); err != nil {
			return fmt.Errorf("from %s: %w", s.From, err)
		}
		var last error
		for i := range people {
			if last = c.Rcpt(*people[i].Email); last == nil {
				continue
			}
			if !permanent(last) {
				return fmt.Errorf("a recipient: %w", last)
			}
			refused[people[i].ID] = last
		}
		if len(refused) == len(people) {
			return fmt.Errorf("every recipient was refused: %w", last)
		}
		return hand(c, letter)
	})
	return refused, err
}

// hand transfers the letter. If it returns nil, the server has accepted it.
func hand(c *smtp.Client, letter []byte) error {
	w, err := c.Data()
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	if _, err := w.Write(letter); err != nil {
		return fmt.Errorf("data: %w", err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("data: %w", err)
	}
	return nil
}

// talk opens a session, calls act, and ends the session.
func (s *Server) talk(ctx context.Context, act func(*smtp.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	conn, err := s.dial(ctx)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", net.JoinHostPort(s.Host, s.Port), err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })() // net/smtp does not use contexts
	c, err := smtp.NewClient(conn, s.Host)
	if err != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	defer c.Close()
	if err := s.greet(c); err != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	if err := act(c); err != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	_ = c.Quit() // whatever it answers, it has accepted the letter
	return nil
}

func (s *Server) dial(ctx context.Context) (net.Conn, error) {
	addr := net.JoinHostPort(s.Host, s.Port)
	if s.TLS {
		return (&tls.Dialer{Config: s.tls()}).DialContext(ctx, "tcp", addr)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
}

func (s *Server) tls() *tls.Config {
	return &tls.Config{ServerName: s.Host, RootCAs: s.Roots, MinVersion: tls.VersionTLS12}
}

// greet introduces us, and uses TLS and sign-in as far as needed.
func (s *Server) greet(c *smtp.Client) error {
	if _, domain, _ := strings.Cut(s.From, "@"); domain != "" {
		if err := c.Hello(domain); err != nil {
			return fmt.Errorf("hello: %w", err)
		}
	}
	if offered, _ := c.Extension("STARTTLS"); offered && !s.TLS {
		if err := c.StartTLS(s.tls()); err != nil {
			return fmt.Errorf("STARTTLS: %w", err)
		}
	}
	if s.User == "" {
		return nil
	}
	// Plain authentication refuses to send the password without TLS, except to this machine itself.
	if err := c.Auth(smtp.PlainAuth("", s.User, s.Password, s.Host)); err != nil {
		return &notNow{fmt.Errorf("sign in: %w", err)}
	}
	return nil
}

// notNow is an error that the operator can fix, whatever its code says.
type notNow struct{ error }

func (e *notNow) Unwrap() error { return e.error }

// permanent reports whether the server has refused for good.
func permanent(err error) bool {
	var mends *notNow
	var said *textproto.Error
	return !errors.As(err, &mends) && errors.As(err, &said) && said.Code >= 500
}
