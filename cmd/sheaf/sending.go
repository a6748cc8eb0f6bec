package main

import (
	"crypto/rand"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"time"

	_ "golang.org/x/crypto/x509roots/fallback" // roots for a machine that has none

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/config"
	"sheaf.dev/internal/deliver"
	"sheaf.dev/internal/disk"
	"sheaf.dev/internal/guard"
	"sheaf.dev/internal/mail"
	"sheaf.dev/internal/seal"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/sweep"
	"sheaf.dev/internal/tally"
)

// webhooks has what sends requests to endpoints, for deliveries and for the test endpoint.
type webhooks struct {
	box     *seal.Box
	guard   *guard.Guard
	roots   *x509.CertPool
	courier *deliver.Courier
	memory  int64 // bytes that the process may use
}

// webhooks returns the sender, with the guard, the certificate authorities and the timeouts of the
// settings.
func (p *program) webhooks(s *config.Settings, masterKey []byte, memory int64) (*webhooks, error) {
	box, err := seal.New(masterKey, p.Random)
	if err != nil {
		return nil, err
	}
	roots, err := config.Roots(s.WebhookCAs)
	if err != nil {
		return nil, err
	}
	g := guard.New(s.WebhookAllowCIDR)
	client := deliver.NewClient(deliver.ClientConfig{
		Timeout: s.WebhookTimeout, Control: g.Control, Blocked: func(err error) bool { return errors.Is(err, guard.ErrBlocked) },
		Special: g.Special, Allowed: g.Allowed, RootCAs: roots, PerHost: deliver.IdlePerHost, Idle: deliver.BudgetFor(memory).Places / 4, UserAgent: "Sheaf-Webhooks/" + version,
	})
	return &webhooks{box: box, guard: g, roots: roots, memory: memory,
		courier: &deliver.Courier{Client: client, Signer: deliver.Signer{Header: s.SignatureHeader}, Now: p.Now}}, nil
}

func (w *webhooks) rules(s *config.Settings) app.Webhooks {
	return app.Webhooks{Box: w.box, Guard: w.guard, SignatureHeader: s.SignatureHeader, Send: w.courier.Send}
}

// deliverer returns the worker that sends the store's deliveries. Commits wake it.
func (p *program) deliverer(s *config.Settings, st *store.Store, w *webhooks, counts *tally.Tally, room *disk.Watch, log *slog.Logger) *deliver.Deliverer {
	d := deliver.New(deliver.Config{Store: st, Box: w.box, Courier: w.courier, Tally: counts, Log: log, Now: p.Now, NewToken: rand.Text,
		Schedule: sheaf.Schedule(s.WebhookRetryDelays), Timeout: s.WebhookTimeout, Budget: deliver.BudgetFor(w.memory),
		ClockSlack: deliver.ClockSlack, Pause: func() bool { return room.Level() == disk.Full }, Alone: s.DatabaseURL == ""})
	st.OnCommit(d.Notice)
	if _, err := net.InterfaceAddrs(); err != nil {
		log.Warn("could not read this machine's own addresses, so deliveries may reach them; a sandbox must allow AF_NETLINK", "error", err)
	}
	return d
}

// mailer returns the worker that sends mails, or nil if no mail server is set.
func (p *program) mailer(s *config.Settings, st *store.Store, w *webhooks, base string, log *slog.Logger) (*mail.Mailer, error) {
	if s.SMTP == nil {
		return nil, nil
	}
	roots, err := config.Roots(s.WebhookCAs)
	if err != nil {
		return nil, err
	}
	return mail.New(mail.Config{Store: st, Log: log, Now: p.Now, Base: base, Box: w.box, Random: p.Random, Server: mail.Server{Host: s.SMTP.Host, Port: s.SMTP.Port, TLS: s.SMTP.TLS,
		User: s.SMTP.User, Password: s.SMTP.Password.Reveal(), From: s.SMTP.From, Roots: roots}}), nil
}

// sweeper returns the worker for periodic clean-up.
func (p *program) sweeper(s *config.Settings, st *store.Store, a *app.App, log *slog.Logger) *sweep.Sweeper {
	began := p.Now()
	return sweep.New(sweep.Config{Store: st, Log: log, Now: p.Now, Retention: s.Retention, TrashRetention: s.TrashRetention,
		VersionRetention: s.VersionRetention, ProposalRetention: s.ProposalRetention, AuditRetention: s.AuditRetention, MostTrash: mostTrash(s.MaxRecords), PurgeTrash: a.Operator().PurgeTrash, RemoveWorkspaces: a.Operator().RemoveWorkspaces,
		FinishReleases: a.Operator().FinishReleases, SettleMedia: a.Operator().SettleMedia, StrayMedia: a.Operator().RemoveStrayBytes,
		Elapsed: func() time.Duration { return p.Now().Sub(began) }}) // by the monotonic clock
}
