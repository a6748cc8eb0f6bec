// Package app holds the rules: what a caller may do, and what then happens. It has one file a noun;
// every method that acts for somebody takes a Caller, and the ways from there to the store ask the
// gate (authorize.go). Each change decides and acts in one transaction of the store (work.go).
//
// It knows neither HTTP nor SQL.
package app

import (
	"cmp"
	"context"
	"io"
	"time"

	"sheaf.dev/internal/disk"
	"sheaf.dev/internal/guard"
	"sheaf.dev/internal/media"
	"sheaf.dev/internal/seal"
	"sheaf.dev/internal/search"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// App is the rules over one store. It is safe for concurrent use.
type App struct {
	store    *store.Store     // reached through the gate alone: see authorize.go
	now      func() time.Time // UTC, cut to milliseconds: what is stored is what is shown
	random   io.Reader        // for identifiers and secrets
	index    *search.Index    // nil: nobody searches
	media    media.Store      // nil: nobody keeps files
	verified *media.Verifier  // of media
	webhooks Webhooks
	address  string         // before the path of what people are sent: see Config.Address
	turns    *turns         // who goes on with which upload
	trials   *trials        // the test events that wait for their endpoints
	sessions *knownSessions // whose sessions were seen here
	cost     PasswordCost   // of hashing a new password
	cascades Cascades       // how much of a large deletion one transaction does

	maxMedium  int64         // see Config.MaxMedium
	removal    time.Duration // see Config.RemovalWait
	lines      lines         // where passwords wait to be hashed
	disk       *disk.Watch
	maxRecords func(sheaf.Plan) int   // never nil: see Config.MaxRecords
	quota      func(sheaf.Plan) int64 // never nil: see Config.Quota
}

// Config is what the rules need from outside.
type Config struct {
	Store  *store.Store
	Now    func() time.Time // the clock
	Random io.Reader        // for identifiers and secrets; cryptographically strong
	// Index finds what the store keeps; it may be left out where nobody searches.
	Index *search.Index
	// Address is what the addresses of shares begin with: how people reach the service, without a slash
	// at its end.
	Address string
	// Media keeps the bytes of media; where it is left out, none can be uploaded.
	Media media.Store
	// Disk knows how much room there is; nil: any amount.
	Disk *disk.Watch
	// MaxMedium is how many bytes a medium may have that is uploaded piece by piece; 0 is
	// sheaf.MaxMedium.
	MaxMedium int64
	// RemovalWait is how long an upload waits for the end of a removal of the same bytes; 0 is
	// waitForRemoval. Tests have more: the machine that they run on may be busy.
	RemovalWait time.Duration
	// Webhooks may be left out where no subscription is touched.
	Webhooks Webhooks
	// PasswordCost is for new passwords; the zero value is the second choice of RFC 9106. Tests of
	// many people take less.
	PasswordCost PasswordCost
	// MaxRecords is how many projects, folders and documents a workspace of that plan may have
	// together; 0 is any number, and so is nil.
	MaxRecords func(sheaf.Plan) int
	// Quota is how many bytes of texts, media, reported events and kept answers a workspace of that plan may store; 0 is any number, and so is nil.
	Quota func(sheaf.Plan) int64
}

// Webhooks is what the rules about subscriptions need from outside.
type Webhooks struct {
	Box   *seal.Box    // seals secrets and headers before they are stored
	Guard *guard.Guard // judges the addresses of endpoints
	// SignatureHeader is the header that carries the signature, which no custom header may replace.
	SignatureHeader string
	// Send makes one attempt now, and returns when it has ended: it serves test events.
	Send func(context.Context, sheaf.Outgoing) sheaf.Attempt
}

// New returns the rules over a store.
func New(c Config) *App {
	if c.PasswordCost == (PasswordCost{}) {
		c.PasswordCost = standardCost
	}
	if c.MaxRecords == nil {
		c.MaxRecords = func(sheaf.Plan) int { return 0 }
	}
	if c.Quota == nil {
		c.Quota = func(sheaf.Plan) int64 { return 0 }
	}
	if c.MaxMedium == 0 {
		c.MaxMedium = sheaf.MaxMedium
	}
	return &App{maxMedium: c.MaxMedium, removal: cmp.Or(c.RemovalWait, waitForRemoval), lines: newLines(), turns: newTurns(), maxRecords: c.MaxRecords, quota: c.Quota, cost: c.PasswordCost, disk: c.Disk, store: c.Store, now: func() time.Time { return c.Now().UTC().Truncate(time.Millisecond) }, random: c.Random,
		index: c.Index, media: c.Media, verified: media.NewVerifier(c.Media, verifyWithin), webhooks: c.Webhooks, address: c.Address, cascades: standardCascades, trials: newTrials(), sessions: &knownSessions{user: map[string]sheaf.UserID{}}}
}

// SignatureHeader is the name of the header that carries the first signature.
func (a *App) SignatureHeader() string { return a.webhooks.SignatureHeader }

func (a *App) newID() string { return sheaf.NewUUID(a.now(), a.random) }
