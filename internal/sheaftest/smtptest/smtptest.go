// Package smtptest provides a real mail server on loopback, with TLS and authentication, which
// keeps the mails that it receives.
package smtptest

import (
	"bytes"
	"crypto/tls"
	"io"
	"log"
	"maps"
	"mime/quotedprintable"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"sheaf.dev/internal/sheaftest"
)

// Letter is a mail that a server accepted.
type Letter struct {
	From string
	To   []string
	Body string
}

// Config is the configuration of a server. The zero value accepts every mail, without TLS and
// authentication.
type Config struct {
	CA             *sheaftest.CA // the authority of its certificate; nil: no TLS
	Implicit       bool          // TLS from the first byte, instead of STARTTLS
	User, Password string        // empty: no authentication
}

// Server is a running mail server. It is safe for concurrent use.
type Server struct {
	Host, Port string

	config Config
	smtp   *smtp.Server
	done   sync.WaitGroup

	mu      sync.Mutex // guards what follows
	away    bool
	quoting int
	letters []Letter
	refused map[string]*smtp.SMTPError // by recipient; "" is every letter
}

// Start returns a running server, which ends with the test.
func Start(t testing.TB, c Config) *Server {
	t.Helper()
	s := &Server{config: c, refused: map[string]*smtp.SMTPError{}}
	s.smtp = smtp.NewServer(s)
	s.smtp.Domain, s.smtp.AllowInsecureAuth = "mail.test", false
	s.smtp.ErrorLog = log.New(io.Discard, "", 0)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen for mail: %v", err)
	}
	s.Host, s.Port, _ = net.SplitHostPort(l.Addr().String())
	if c.CA != nil {
		cert, err := c.CA.Issue(sheaftest.CertOptions{Hosts: []string{"127.0.0.1", "localhost"}})
		if err != nil {
			t.Fatalf("issue a certificate: %v", err)
		}
		s.smtp.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}}
		if c.Implicit {
			l = tls.NewListener(l, s.smtp.TLSConfig)
		}
	}
	s.done.Go(func() { _ = s.smtp.Serve(l) })
	t.Cleanup(s.stop)
	return s
}

func (s *Server) stop() {
	s.smtp.Close()
	s.done.Wait()
}

// Away makes the server refuse all sessions, as if it were overloaded, or accept them again.
func (s *Server) Away(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

// Letters returns the mails so far.
func (s *Server) Letters() []Letter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.letters)
}

// Refuse makes the server answer with the code to mails for the recipient, or for "" to every mail.
// The code 0 accepts them again.
func (s *Server) Refuse(recipient string, code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = maps.Clone(s.refused)
	delete(s.refused, recipient)
	if code != 0 {
		s.refused[recipient] = &smtp.SMTPError{Code: code, EnhancedCode: smtp.NoEnhancedCode, Message: "not here"}
	}
}

// RefuseQuoting makes the server answer with the code to every mail, and repeat the lines with a link in the answer. The
// code 0 accepts mails again.
func (s *Server) RefuseQuoting(code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quoting = code
}

// quote returns the error of RefuseQuoting for a mail.
func (s *Server) quote(body []byte) error {
	s.mu.Lock()
	code := s.quoting
	s.mu.Unlock()
	if code == 0 {
		return nil
	}
	text, err := io.ReadAll(quotedprintable.NewReader(bytes.NewReader(body)))
	if err != nil {
		return err
	}
	said := "no links, please:"
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "://") {
			said += " " + strings.TrimSpace(line)
		}
	}
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.NoEnhancedCode, Message: said}
}

// refusal returns the error for a recipient; nil if mails are accepted.
func (s *Server) refusal(recipient string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.refused[recipient]; e != nil {
		return e
	}
	return nil
}

// NewSession begins a conversation.
func (s *Server) NewSession(*smtp.Conn) (smtp.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return nil, &smtp.SMTPError{Code: 421, EnhancedCode: smtp.NoEnhancedCode, Message: "too busy"}
	}
	return &session{server: s, known: s.config.User == ""}, nil
}

// session is one conversation.
type session struct {
	server *Server
	known  bool
	letter Letter
}

// AuthMechanisms returns the mechanisms of authentication.
func (c *session) AuthMechanisms() []string {
	if c.server.config.User == "" {
		return nil
	}
	return []string{sasl.Plain}
}

// Auth checks the user and the password.
func (c *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if want := c.server.config; user != want.User || password != want.Password {
			return smtp.ErrAuthFailed
		}
		c.known = true
		return nil
	}), nil
}

// Mail begins a mail.
func (c *session) Mail(from string, _ *smtp.MailOptions) error {
	if !c.known {
		return smtp.ErrAuthRequired
	}
	c.letter = Letter{From: from}
	return nil
}

// Rcpt adds a recipient.
func (c *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if err := c.server.refusal(to); err != nil {
		return err
	}
	c.letter.To = append(c.letter.To, to)
	return nil
}

// Data receives the mail.
func (c *session) Data(r io.Reader) error {
	body, err := io.ReadAll(r)
	if err == nil {
		err = c.server.refusal("")
	}
	if err == nil {
		err = c.server.quote(body)
	}
	if err != nil {
		return err
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.letter.Body = string(body)
	c.server.letters = append(c.server.letters, c.letter)
	return nil
}

// Reset discards the mail.
func (c *session) Reset() { c.letter = Letter{} }

// Logout ends the conversation.
func (*session) Logout() error { return nil }
