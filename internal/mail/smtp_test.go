package mail_test

import (
	"strings"
	"testing"

	"sheaf.dev/internal/mail"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/smtptest"
)

// A letter is sent over TLS if the server has it, and to the recipients that it knows. No error
// contains the password.
func TestServer_TLSAndSignIn(t *testing.T) {
	t.Parallel()
	ca, err := sheaftest.NewCA()
	must(t, err)
	email := "a@example.com"
	people := []sheaf.User{{ID: "1", Email: &email}}
	for _, implicit := range []bool{true, false} {
		server := smtptest.Start(t, smtptest.Config{CA: ca, Implicit: implicit, User: "sheaf", Password: "hunter2"})
		good := mail.Server{Host: server.Host, Port: server.Port, TLS: implicit, User: "sheaf", Password: "hunter2", From: "sheaf@example.com", Roots: ca.Pool()}
		must(t, good.Check(t.Context()))
		_, err := good.Send(t.Context(), people, []byte("Subject: a\r\n\r\nb\r\n.\r\nc\r\n"))
		must(t, err)
		if got := server.Letters(); len(got) != 1 || got[0].Body != "Subject: a\r\n\r\nb\r\n.\r\nc\r\n" || got[0].From != "sheaf@example.com" {
			t.Errorf("implicit %t: got %+v", implicit, got)
		}
		for name, change := range map[string]func(*mail.Server){
			"another password":   func(s *mail.Server) { s.Password = "hunter3" },
			"nobody":             func(s *mail.Server) { s.User = "" },
			"who is not trusted": func(s *mail.Server) { s.Roots = nil },
			"the other way":      func(s *mail.Server) { s.TLS = true; s.Port = "1" },
		} {
			bad := good
			change(&bad)
			_, err := bad.Send(t.Context(), people, []byte("\r\n"))
			if err == nil || strings.Contains(err.Error(), "hunter") {
				t.Errorf("implicit %t, %s: %v", implicit, name, err)
			}
		}
		if n := len(server.Letters()); n != 1 {
			t.Errorf("implicit %t: %d letters", implicit, n)
		}
	}
	plain := smtptest.Start(t, smtptest.Config{User: "sheaf", Password: "hunter2"})
	s := mail.Server{Host: plain.Host, Port: plain.Port, User: "sheaf", Password: "hunter2", From: "sheaf@example.com"}
	if err := s.Check(t.Context()); err == nil || strings.Contains(err.Error(), "hunter") {
		t.Errorf("without TLS: %v", err)
	}
}
