// Package mail sends mails, if the operator has set up a mail server: to the owners and admins of a
// workspace that a webhook fails, to a member that they were asked to approve a proposal, and to people
// their invitations, the links for a forgotten password, and notices about their accounts. What is to be
// sent is stored in the transaction that causes it. So it is sent at least once, by one of the nodes,
// even after a restart. The package must send nothing else, and nothing may wait for it.
package mail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sheaf.dev/internal/seal"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

const (
	// every is the interval between checks for due mails.
	every = 5 * time.Second
	// batch is the number of mails sent per round.
	batch = 50
	// mostPeople is the largest number of recipients of one mail, because mail servers refuse more.
	// The longest-standing members of the workspace come first.
	mostPeople = 50
	// firstRest is the pause after a mail that could not be sent. It doubles each time, up to
	// longestRest.
	firstRest, longestRest = time.Minute, time.Hour
	// tooOld is the age at which a mail that could not be sent is dropped. The console shows the
	// failure anyway.
	tooOld = 24 * time.Hour
)

// Config has the settings and dependencies of a Mailer.
type Config struct {
	Store  *store.Store
	Log    *slog.Logger
	Now    func() time.Time
	Server Server
	Base   string    // address of the console, without a trailing slash
	Box    *seal.Box // opens what mails to people need
	Random io.Reader // for the tokens of links; cryptographically strong
}

// Mailer sends the mails.
type Mailer struct {
	Config
	mails *prometheus.CounterVec
}

// New returns a Mailer. It does nothing before Run.
func New(c Config) *Mailer {
	m := &Mailer{Config: c, mails: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sheaf_mails_total",
		Help: "Mails, by outcome."}, []string{"outcome"})}
	for _, outcome := range []string{sent, postponed, dropped} {
		m.mails.WithLabelValues(outcome)
	}
	return m
}

// Outcomes of a mail.
const (
	sent      = "sent"
	postponed = "postponed" // it will be retried
	dropped   = "dropped"   // it will not be retried: it is refused for good, or too old
)

// Register adds the count of mails to r. A nil Mailer (no mail server) adds nothing.
func (m *Mailer) Register(r prometheus.Registerer) {
	if m != nil {
		r.MustRegister(m.mails)
	}
}

// Run sends due mails until ctx ends. At the start it logs a warning if the mail server cannot be
// used.
func (m *Mailer) Run(ctx context.Context) error {
	if err := m.Server.Check(ctx); err != nil && ctx.Err() == nil {
		m.Log.Warn("the mail server cannot be used: check --smtp-url", "error", err)
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

// round sends what is due. Of several nodes, one sends at a time. If nothing is due, it only reads.
func (m *Mailer) round(ctx context.Context) error {
	letters, due, err := m.due(ctx)
	if err != nil || len(letters)+len(due) == 0 {
		return err
	}
	return m.Store.Alone(ctx, "mail", m.Once)
}

// due returns a batch of due mails: those to people, and those about webhooks and proposals.
func (m *Mailer) due(ctx context.Context) (letters []store.Letter, due []store.Notice, err error) {
	err = m.Store.Read(ctx, func(r *store.Reader) (err error) {
		if letters, err = r.LettersDue(m.Now(), batch); err != nil {
			return err
		}
		due, err = r.NoticesDue(m.Now(), batch)
		return err
	})
	return letters, due, err
}

// Once sends one batch of due mails. It stops at the first error: if the mail server is
// unreachable, the remaining mails would fail too.
func (m *Mailer) Once(ctx context.Context) error {
	letters, due, err := m.due(ctx)
	for i := range letters {
		if err == nil {
			err = m.sendToPerson(ctx, letters[i])
		}
	}
	for i := range due {
		if err == nil {
			err = m.send(ctx, due[i])
		}
	}
	return err
}

// send sends one mail, and stores the outcome. After a crash in between, it is sent again.
func (m *Mailer) send(ctx context.Context, n store.Notice) error {
	l, err := m.write(ctx, n)
	if err != nil {
		return err
	}
	if l.text == nil || len(l.people) == 0 { // there is no longer a reason for it, or no recipient
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
		m.Log.Warn("the mail server refused the address of a member", "workspace_id", string(n.Workspace), "user_id", string(who), "error", why)
	}
	switch {
	case err == nil:
		m.mails.WithLabelValues(sent).Inc()
		return m.Store.Write(ctx, func(tx *store.Tx) error { return tx.RecordMail(n, m.Now(), l.off) })
	case permanent(err):
		return m.drop(ctx, n, err)
	}
	m.mails.WithLabelValues(postponed).Inc()
	return errors.Join(err, m.postpone(ctx, n))
}

// outgoing is a mail to send, with its recipients.
type outgoing struct {
	text      []byte // nil: there is no longer a reason to send it
	people    []sheaf.User
	off       bool      // the webhook was deactivated, not just failing
	notBefore time.Time // the workspace gets no mail before this time
}

// write returns the mail for a notice.
func (m *Mailer) write(ctx context.Context, n store.Notice) (l outgoing, err error) {
	about, fill := fmt.Sprint("subscription ", n.Subscription), m.aboutSubscription
	if n.Proposal != "" {
		about, fill = fmt.Sprint("proposal ", n.Proposal), m.aboutProposal
	}
	err = m.Store.Read(ctx, func(r *store.Reader) (err error) {
		if l.notBefore, err = r.NextLetter(n); err != nil {
			return err
		}
		if err = fill(r, n, &l); sheaf.KindOf(err) == sheaf.NotFound {
			err = nil // it was deleted
		}
		return err
	})
	if err != nil {
		return outgoing{}, fmt.Errorf("read what the mail about %s says: %w", about, err)
	}
	return l, nil
}

// aboutSubscription fills the mail about a subscription, if the subscription still fails.
func (m *Mailer) aboutSubscription(r *store.Reader, n store.Notice, l *outgoing) error {
	s, err := r.Subscription(n.Workspace, n.Subscription)
	if err != nil || !stillFails(&s) {
		return err
	}
	w, err := r.Workspace(n.Workspace)
	if err != nil {
		return err
	}
	if l.people, err = recipients(r, n.Workspace); err != nil {
		return err
	}
	l.text, l.off = m.letter(fmt.Sprintf("%s-%d", s.ID, n.Event), subject(&s, &w), m.text(&s, &w), l.people), !s.Active
	return nil
}

// stillFails reports whether the subscription still fails: it may have been repaired meanwhile.
func stillFails(s *sheaf.Subscription) bool {
	if !s.Active {
		return s.DeactivationReason != nil && *s.DeactivationReason == sheaf.ByFailures
	}
	return s.FailureCount >= sheaf.WarnFailures
}

// recipients returns the owners and admins of a workspace who have an e-mail address.
func recipients(r *store.Reader, ws sheaf.WorkspaceID) (people []sheaf.User, err error) {
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
	if n.Proposal != "" {
		m.Log.Warn("gave up a mail about a proposal", "workspace_id", string(n.Workspace), "proposal_id", string(n.Proposal), "user_id", string(n.User), "error", why)
	} else {
		m.Log.Warn("gave up a mail about a webhook that fails", "workspace_id", string(n.Workspace), "subscription_id", string(n.Subscription), "error", why)
	}
	return m.settle(ctx, n)
}

func (m *Mailer) settle(ctx context.Context, n store.Notice) error {
	return m.Store.Write(ctx, func(tx *store.Tx) error { return tx.SettleNotice(n) })
}

func (m *Mailer) postpone(ctx context.Context, n store.Notice) error {
	return m.Store.Write(ctx, func(tx *store.Tx) error { return tx.PostponeNotice(n, m.Now().Add(restAfter(n.Tries))) })
}

// restAfter returns the pause after a mail that could not be sent, and failed `tries` times before.
func restAfter(tries int64) time.Duration {
	if tries < 6 {
		return firstRest << tries
	}
	return longestRest
}
