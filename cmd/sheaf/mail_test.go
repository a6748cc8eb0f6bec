package main

import (
	"path/filepath"
	"strings"
	"testing"

	"sheaf.dev/client"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/smtptest"
)

// The whole program sends a mail to an owner, with the address of the console. The SMTP password is
// not in it.
func TestServe_MailAboutAWebhook(t *testing.T) {
	t.Parallel()
	ca, err := sheaftest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	roots := filepath.Join(folder, "ca.pem")
	if err := ca.WriteFile(roots); err != nil {
		t.Fatal(err)
	}
	hook, err := sheaftest.Receive(ca)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hook.Close)
	hook.Always(500, "")
	post := smtptest.Start(t, smtptest.Config{CA: ca, User: "sheaf", Password: "hunter2"})
	data := filepath.Join(folder, "data")
	ws := decoded[workspaceRecord](t, sheafCommand(t, "workspace", "create", "--json", "--name", "Acme", "--plan", "business", "--owner-email", "owner@example.com", "--data", data).succeeds(t))
	k := decoded[keyRecord](t, sheafCommand(t, "key", "create", "--json", "--workspace", ws.ID, "--name", "k", "--scopes", "all", "--data", data).succeeds(t))
	s := start(t, "--data", data, "--webhook-ca-file", roots, "--webhook-allow-cidr", "127.0.0.0/8", "--webhook-retry-delays", "1ms,1ms,1ms",
		"--public-url", "https://docs.example.com", "--smtp-url", "smtp://sheaf:hunter2@127.0.0.1:"+post.Port+"?from=sheaf@example.com")
	c, err := client.New(client.Config{Server: s.url, Key: k.Key})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Subscriptions.Create(t.Context(), client.NewSubscription{Name: "Site", URL: hook.URL, Events: []string{"project.created"}}); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := c.Projects.Create(t.Context(), client.NewProject{Name: "p"}); err != nil {
			t.Fatal(err)
		}
	}
	sheaftest.Eventually(t, "a mail is sent", func() bool { return len(post.Letters()) == 1 })
	l := post.Letters()[0]
	if l.From != "sheaf@example.com" || len(l.To) != 1 || l.To[0] != "owner@example.com" || !strings.Contains(l.Body, "https://docs.example.com/w/"+ws.ID) {
		t.Errorf("got %+v", l)
	}
	s.stop(t)
	if log := s.stderr.String(); strings.Contains(log, "hunter2") || strings.Contains(log, "cannot be used") {
		t.Errorf("the log is %s", log)
	}
}

// A wrong address prevents the start. An address that does not answer is a warning.
func TestServe_MailThatCannotBeSent(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	sheafCommand(t, "serve", "--data", data, "--addr", "127.0.0.1:0", "--smtp-url", "smtp://sheaf:hunter2@127.0.0.1").fails(t, "--smtp-url", "from")
	post := smtptest.Start(t, smtptest.Config{})
	post.Away(true)
	s := start(t, "--data", data, "--smtp-url", "smtp://127.0.0.1:"+post.Port+"?from=sheaf@example.com")
	s.stderr.wait(t, `(the mail server cannot be used: check --smtp-url)`, s.ended)
}
