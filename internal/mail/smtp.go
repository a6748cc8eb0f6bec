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

// within bounds one conversation with the server of mail, from its name to its end.
const within = 30 * time.Second

// Server is a server of mail.
type Server struct {
	Host, Port     string
	TLS            bool           // from the first byte; else as soon as the server offers it
	User, Password string         // empty: it asks for none. Without TLS they are told to this machine alone
	From           string         // the address that mails are from
	Roots          *x509.CertPool // nil: those of the system
}

// Check talks to the server as far as a mail would begin.
func (s *Server) Check(ctx context.Context) error {
	return s.talk(ctx, func(c *smtp.Client) error { return nil })
}

// Send gives the server one letter for some people. It returns whom the server takes nothing for, and an
// error when that is everybody, or when it does not take the letter.
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
			return fmt.Errorf("nobody takes it: %w", last)
		}
		return hand(c, letter)
	})
	return refused, err
}

// hand gives the letter to the server, which has it when this returns nil.
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

// talk opens a conversation, lets act say what it has to, and ends it.
func (s *Server) talk(ctx context.Context, act func(*smtp.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	conn, err := s.dial(ctx)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", net.JoinHostPort(s.Host, s.Port), err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })() // net/smtp knows no context
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
	_ = c.Quit() // whatever it says to that, it has taken the letter
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

// greet takes what the server offers: TLS, and who we are.
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
	// Plain authentication refuses to tell the password without TLS, but to this machine itself.
	if err := c.Auth(smtp.PlainAuth("", s.User, s.Password, s.Host)); err != nil {
		return &notNow{fmt.Errorf("sign in: %w", err)}
	}
	return nil
}

// notNow is an error that the operator can mend, whatever its code says.
type notNow struct{ error }

func (e *notNow) Unwrap() error { return e.error }

// permanent reports whether the server has said that it will never take it.
func permanent(err error) bool {
	var mends *notNow
	var said *textproto.Error
	return !errors.As(err, &mends) && errors.As(err, &said) && said.Code >= 500
}
