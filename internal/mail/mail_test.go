package mail_test

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"mime"
	"mime/quotedprintable"
	netmail "net/mail"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/mail"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/sheaftest/smtptest"
	"sheaf.dev/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }

// scene is a workspace with people, a failing webhook and a mail server.
type scene struct {
	*testing.T
	api    *apitest.API
	client *apitest.Client
	hook   *sheaftest.Receiver
	id     string // id of the webhook
	server *smtptest.Server
	log    sheaftest.Output

	workspace *apitest.Workspace
	people    map[string]sheaf.UserID // those who joined, by e-mail
}

// each runs the test on SQLite, and on two nodes with PostgreSQL.
func each(t *testing.T, play func(s *scene)) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) { play(on(t, a)) })
}

// on sets up the scene. Its clock stands still, because the pauses between attempts are minutes.
func on(t *testing.T, a *apitest.API) *scene {
	t.Helper()
	a.Clock.Freeze()
	ws := a.Workspace(sheaf.Business, func(in *app.NewWorkspace) { in.Name, in.OwnerEmail = "Häuser", "owner@example.com" })
	s := &scene{T: t, api: a, client: ws.Client(""), server: smtptest.Start(t, smtptest.Config{}),
		workspace: ws, people: map[string]sheaf.UserID{}}
	s.join(ws.ID, "admin@example.com", sheaf.Admin)
	s.join(ws.ID, "editor@example.com", sheaf.Editor)
	s.join(ws.ID, "member@example.com", sheaf.Member)
	hook, err := sheaftest.Receive(a.Webhooks.CA)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hook.Close)
	hook.Always(500, "")
	s.hook = hook
	s.subscribe()
	a.Deliver(sheaf.Schedule{})
	return s
}

// subscribe creates another webhook, which becomes the webhook of the scene.
func (s *scene) subscribe() {
	s.Helper()
	r := s.client.POST("/api/webhooks/subscriptions", map[string]any{"name": "Süd\r\nBcc: x", "url": s.hook.URL + "/secret-path", "events": []string{"project.created"}}).Want(s, 201)
	s.id = r.JSON["subscription"].(map[string]any)["id"].(string)
}

// join adds a member.
func (s *scene) join(ws sheaf.WorkspaceID, email string, role sheaf.Role) {
	s.Helper()
	u := sheaf.User{ID: sheaf.UserID(sheaf.NewUUID(s.api.Clock.Now(), rand.Reader)), Email: &email, Name: email, CreatedAt: s.api.Clock.Now()}
	err := s.api.Store.Write(s.Context(), func(tx *store.Tx) error {
		if err := tx.InsertUser(u); err != nil {
			return err
		}
		return tx.InsertMember(sheaf.Membership{Workspace: sheaf.Workspace{ID: ws}, User: u, Role: role, Since: u.CreatedAt})
	})
	if err != nil {
		s.Fatal(err)
	}
	s.people[email] = u.ID
}

// fail makes deliveries fail, one after the other.
func (s *scene) fail(times int) {
	s.Helper()
	path := "/api/webhooks/subscriptions/" + s.id
	for range times {
		before := s.client.GET(path).Want(s, 200).JSON["subscription"].(map[string]any)["failure_count"].(float64)
		s.client.POST("/api/v1/projects", map[string]any{"name": "p"}).Want(s, 201)
		sheaftest.Eventually(s, "the failure is counted", func() bool {
			return s.client.GET(path).Want(s, 200).JSON["subscription"].(map[string]any)["failure_count"].(float64) == before+1
		})
	}
}

// turn deactivates or activates the webhook.
func (s *scene) turn(active bool) {
	s.Helper()
	s.client.PATCH("/api/webhooks/subscriptions/"+s.id, map[string]any{"active": active}).Want(s, 200)
}

// mailer returns a Mailer that has just started.
func (s *scene) mailer() *mail.Mailer {
	return mail.New(mail.Config{Store: s.api.Store, Log: slog.New(slog.NewTextHandler(&s.log, nil)), Now: s.api.Clock.Now, Base: "https://sheaf.example.com", Box: s.api.Webhooks.Box, Random: rand.Reader,
		Server: mail.Server{Host: s.server.Host, Port: s.server.Port, From: "sheaf@example.com"}})
}

// round runs one round of a Mailer that has just started.
func (s *scene) round() error { return s.mailer().Round(context.Background()) }

// wantLetters checks the recipients of the letters, and returns the last letter.
func (s *scene) wantLetters(when string, want ...string) letter {
	s.Helper()
	var got []string
	letters := s.server.Letters()
	for _, l := range letters {
		slices.Sort(l.To)
		got = append(got, strings.Join(l.To, " "))
	}
	if !slices.Equal(got, want) {
		s.Fatalf("%s, letters went to %q, want %q\n%s", when, got, want, s.log.String())
	}
	if len(letters) == 0 {
		return letter{}
	}
	return read(s, letters[len(letters)-1].Body)
}

// letter is a mail as a mail program shows it.
type letter struct {
	netmail.Header
	text string
}

func read(t testing.TB, raw string) letter {
	t.Helper()
	m, err := netmail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil {
		t.Fatal(err)
	}
	return letter{m.Header, string(text)}
}

// subject returns the decoded subject.
func (l letter) subject(t testing.TB) string {
	t.Helper()
	s, err := new(mime.WordDecoder).DecodeHeader(l.Get("Subject"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const both = "admin@example.com owner@example.com"

// D134: owners and admins get a mail that a webhook fails, and one that it is deactivated, each
// once; other members do not.
func TestMailer_TellsOwnersAndAdmins(t *testing.T) {
	each(t, func(s *scene) {
		s.fail(4)
		must(s, s.round())
		s.wantLetters("after four failures")
		s.fail(1)
		must(s, s.round())
		must(s, s.round())
		l := s.wantLetters("after five failures", both)
		if got := l.subject(s); got != `The webhook "Süd\r\nBcc: x" of Häuser fails` {
			s.Errorf("the subject is %q", got)
		}
		for _, part := range []string{"5 deliveries in a row", "the endpoint answered 500", "https://sheaf.example.com/w/", "/webhooks/" + s.id, "Häuser"} {
			if !strings.Contains(l.text, part) {
				s.Errorf("%q is not in\n%s", part, l.text)
			}
		}
		if strings.Contains(l.text, "secret-path") || l.Get("Bcc") != "" || l.Get("Auto-Submitted") != "auto-generated" || !strings.Contains(l.Get("Message-ID"), s.id) {
			s.Errorf("got %v\n%s", l.Header, l.text)
		}
		s.fail(5)
		must(s, s.round())
		if l := s.wantLetters("when it is turned off", both, both); !strings.Contains(l.text, "is turned off") || !strings.Contains(l.subject(s), "is turned off") {
			s.Errorf("got %s", l.text)
		}
	})
}

// D134: an endpoint that fails on and off causes at most one mail an hour, and none if it has
// recovered by then.
func TestMailer_OnceAnHour(t *testing.T) {
	each(t, func(s *scene) {
		s.fail(5)
		must(s, s.round())
		for range 2 {
			s.turn(false) // by a person, who needs no mail
			s.turn(true)
			s.fail(5)
			must(s, s.round())
		}
		s.wantLetters("within the hour", both)
		s.api.Clock.Advance(time.Hour)
		must(s, s.round())
		s.wantLetters("an hour later", both, both)
		s.turn(false)
		s.turn(true)
		s.fail(5)
		s.turn(false)
		s.turn(true)
		s.api.Clock.Advance(time.Hour)
		must(s, s.round())
		s.wantLetters("when it was mended before", both, both)
	})
}

// D134: the mail that a webhook was deactivated is also sent at most once an hour, even if the
// webhook is activated again at once. For all its webhooks together, a workspace gets four mails at
// once.
func TestMailer_TurnedOffIsBounded(t *testing.T) {
	each(t, func(s *scene) {
		s.fail(10)
		must(s, s.round())
		s.wantLetters("turned off at first", both)
		for range 2 {
			s.api.Clock.Advance(time.Minute) // for the rate limit
			s.turn(true)
			s.fail(10)
			must(s, s.round())
		}
		s.wantLetters("turned off again within the hour", both)
		s.api.Clock.Advance(time.Hour)
		must(s, s.round())
		s.wantLetters("an hour later", both, both)
		s.api.Clock.Advance(time.Hour)
		for range 5 {
			s.api.Clock.Advance(time.Minute)
			s.subscribe()
			s.fail(10)
		}
		must(s, s.round())
		s.wantLetters("of five others at once", both, both, both, both, both, both)
		s.api.Clock.Advance(15 * time.Minute)
		must(s, s.round())
		must(s, s.round())
		s.wantLetters("of the fifth a quarter of an hour later", both, both, both, both, both, both, both)
	})
}

// D134: while the mail server is unreachable nothing is lost, even over restarts. After a day the
// mail is dropped.
func TestMailer_TheServerIsAway(t *testing.T) {
	each(t, func(s *scene) {
		s.fail(5)
		s.server.Refuse("", 451)
		if err := s.round(); err == nil {
			s.Error("a letter that was not taken is no error")
		}
		s.server.Refuse("", 0)
		s.server.Away(true)
		s.api.Clock.Advance(time.Minute)
		if err := s.round(); err == nil || !strings.Contains(err.Error(), "too busy") {
			s.Errorf("no server: %v", err)
		}
		s.server.Away(false)
		must(s, s.round())
		s.wantLetters("while it rests")
		s.api.Clock.Advance(2 * time.Minute)
		must(s, s.round())
		s.wantLetters("when the server is back", both)
		s.fail(5)
		s.server.Away(true)
		s.api.Clock.Advance(25 * time.Hour)
		must(s, s.round())
		if !strings.Contains(s.log.String(), "gave up a mail") {
			s.Errorf("the log does not say that it was given up:\n%s", s.log.String())
		}
	})
}

// D134: a recipient whom the server refuses does not keep the mail from others.
func TestMailer_WhoIsRefused(t *testing.T) {
	each(t, func(s *scene) {
		s.fail(5)
		s.server.Refuse("owner@example.com", 450) // temporarily
		if err := s.round(); err == nil {
			s.Error("a recipient who was refused for now is no error")
		}
		s.wantLetters("for now")
		s.server.Refuse("owner@example.com", 550)
		s.api.Clock.Advance(time.Minute)
		must(s, s.round())
		s.wantLetters("for good", "admin@example.com")
		if log := s.log.String(); strings.Contains(log, "owner@") || !strings.Contains(log, "refused the address of a member") {
			s.Errorf("the log is\n%s", log)
		}
		s.server.Refuse("admin@example.com", 550)
		s.fail(5)
		must(s, s.round())
		s.api.Clock.Advance(2 * time.Hour)
		must(s, s.round())
		s.wantLetters("when nobody takes it", "admin@example.com")
	})
}

// D134: of several nodes, one sends the mail.
func TestMailer_OneOfSeveralNodes(t *testing.T) {
	t.Parallel()
	s := on(t, apitest.Nodes(t))
	s.fail(5)
	var g errgroup.Group
	for range 4 {
		g.Go(s.round)
	}
	must(s, g.Wait())
	must(s, s.round())
	s.wantLetters("by four", both)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
