// Package mail tells the owners and admins of a workspace by mail that a webhook fails, where the operator
// has named a server of mail. What is to be told the store keeps, since the transaction that counted the
// failure: so it is told at least once, by one of the nodes, also after a restart. It must not send
// anything that was not decided there, and keeps nobody waiting.
package mail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

const (
	// every is how often it looks for what is due.
	every = 5 * time.Second
	// batch bounds one round.
	batch = 50
	// mostPeople bounds the recipients of one mail: mail servers refuse more. The longest-standing
	// members of the workspace come first.
	mostPeople = 50
	// firstRest and longestRest bound the pause after a mail that could not be sent; it doubles.
	firstRest, longestRest = time.Minute, time.Hour
	// tooOld is the age at which what could not be told is told no more: the console shows it.
	tooOld = 24 * time.Hour
)

// Config is what the mails need.
type Config struct {
	Store  *store.Store
	Log    *slog.Logger
	Now    func() time.Time
	Server Server
	Base   string // the address of the console, without a slash at its end
}

// Mailer sends the mails.
type Mailer struct {
	Config
	mails *prometheus.CounterVec
}

// New returns a Mailer. Nothing happens before Run.
func New(c Config) *Mailer {
	m := &Mailer{Config: c, mails: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sheaf_mails_total",
		Help: "Mails about webhooks that fail, by what came of them."}, []string{"outcome"})}
	for _, outcome := range []string{sent, postponed, dropped} {
		m.mails.WithLabelValues(outcome)
	}
	return m
}

// What comes of a mail.
const (
	sent      = "sent"
	postponed = "postponed" // it is tried again
	dropped   = "dropped"   // it is not: nobody takes it, or it is too old
)

// Register adds the count of mails to r. Without a server of mail there is none.
func (m *Mailer) Register(r prometheus.Registerer) {
	if m != nil {
		r.MustRegister(m.mails)
	}
}

// Run says once whether the server of mail can be used, and sends what is due until ctx ends.
func (m *Mailer) Run(ctx context.Context) error {
	if err := m.Server.Check(ctx); err != nil && ctx.Err() == nil {
		m.Log.Warn("the server of mail cannot be used: look at --smtp-url", "error", err)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := m.round(ctx); err != nil && ctx.Err() == nil {
			m.Log.Warn("could not send mail", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// round sends what is due, of several nodes one at a time. While nothing is due it only looks.
func (m *Mailer) round(ctx context.Context) error {
	due, err := m.due(ctx)
	if err != nil || len(due) == 0 {
		return err
	}
	return m.Store.Alone(ctx, "mail", m.Once)
}

// due returns a batch of what is to be sent now.
func (m *Mailer) due(ctx context.Context) (due []store.Notice, err error) {
	err = m.Store.Read(ctx, func(r *store.Reader) (err error) {
		due, err = r.NoticesDue(m.Now(), batch)
		return err
	})
	return due, err
}

// Once sends one batch of due mails. It stops at the first error: if the mail server is unreachable, the
// remaining mails would fail too.
func (m *Mailer) Once(ctx context.Context) error {
	due, err := m.due(ctx)
	for i := range due {
		if err == nil {
			err = m.tell(ctx, due[i])
		}
	}
	return err
}

// tell sends one mail, and keeps what came of it. A crash in between sends it again.
func (m *Mailer) tell(ctx context.Context, n store.Notice) error {
	l, err := m.write(ctx, n)
	if err != nil {
		return err
	}
	if l.text == nil || len(l.people) == 0 { // it is well again, or there is nobody to tell
		return m.settle(ctx, n)
	}
	if m.Now().Sub(n.At) > tooOld {
		return m.drop(ctx, n, errors.New("it could not be sent for a day"))
	}
	if l.notBefore.After(m.Now()) {
		return m.Store.Write(ctx, func(tx *store.Tx) error { return tx.DelayNotice(n, l.notBefore) })
	}
	refused, err := m.Server.Send(ctx, l.people, l.text)
	for who, why := range refused {
		m.Log.Warn("the server of mail takes nothing for a member", "workspace_id", string(n.Workspace), "user_id", string(who), "error", why)
	}
	switch {
	case err == nil:
		m.mails.WithLabelValues(sent).Inc()
		return m.Store.Write(ctx, func(tx *store.Tx) error { return tx.ToldNotice(n, m.Now(), l.off) })
	case permanent(err):
		return m.drop(ctx, n, err)
	}
	m.mails.WithLabelValues(postponed).Inc()
	return errors.Join(err, m.postpone(ctx, n))
}

// told is what a mail says, and to whom.
type told struct {
	text      []byte // nil: there is nothing to tell any more
	people    []sheaf.User
	off       bool      // that the webhook was turned off, and not that it fails
	notBefore time.Time // the workspace gets no mail earlier
}

// write returns the mail of a notice.
func (m *Mailer) write(ctx context.Context, n store.Notice) (l told, err error) {
	err = m.Store.Read(ctx, func(r *store.Reader) error {
		s, err := r.UncountedSubscription(n.Workspace, n.Subscription)
		if sheaf.KindOf(err) == sheaf.NotFound || err == nil && !ails(&s) {
			return nil
		}
		if err != nil {
			return err
		}
		w, err := r.Workspace(n.Workspace)
		if err != nil {
			return err
		}
		if l.notBefore, err = r.NextLetter(n.Workspace); err != nil {
			return err
		}
		if l.people, err = toTell(r, n.Workspace); err != nil {
			return err
		}
		l.text, l.off = m.letter(&s, &w, n, l.people), !s.Active
		return nil
	})
	if err != nil {
		return told{}, fmt.Errorf("read what is to be told of subscription %s: %w", n.Subscription, err)
	}
	return l, nil
}

// ails reports whether there still is something to tell: somebody may have mended it meanwhile.
func ails(s *sheaf.Subscription) bool {
	if !s.Active {
		return s.DeactivationReason != nil && *s.DeactivationReason == sheaf.ByFailures
	}
	return s.FailureCount >= sheaf.WarnFailures
}

// toTell returns the owners and admins of a workspace who have an address.
func toTell(r *store.Reader, ws sheaf.WorkspaceID) (people []sheaf.User, err error) {
	members, err := r.Members(ws)
	for i := range members {
		m := &members[i]
		if (m.Role == sheaf.Owner || m.Role == sheaf.Admin) && m.User.Email != nil && len(people) < mostPeople {
			people = append(people, m.User)
		}
	}
	return people, err
}

// drop gives up a notice without sending a mail.
func (m *Mailer) drop(ctx context.Context, n store.Notice, why error) error {
	m.mails.WithLabelValues(dropped).Inc()
	m.Log.Warn("gave up a mail about a webhook that fails", "workspace_id", string(n.Workspace), "subscription_id", string(n.Subscription), "error", why)
	return m.settle(ctx, n)
}

func (m *Mailer) settle(ctx context.Context, n store.Notice) error {
	return m.Store.Write(ctx, func(tx *store.Tx) error { return tx.SettleNotice(n) })
}

func (m *Mailer) postpone(ctx context.Context, n store.Notice) error {
	rest := longestRest
	if n.Tries < 6 {
		rest = firstRest << n.Tries
	}
	return m.Store.Write(ctx, func(tx *store.Tx) error { return tx.PostponeNotice(n, m.Now().Add(rest)) })
}
