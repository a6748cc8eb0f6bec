// Package app holds the rules: what a caller may do, and what then happens. It has one file per
// noun. Every method that acts for a user takes a Caller, and reaches the store only through the
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
	"sheaf.dev/internal/fair"
	"sheaf.dev/internal/guard"
	"sheaf.dev/internal/media"
	"sheaf.dev/internal/seal"
	"sheaf.dev/internal/search"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// App applies the rules to one store. It is safe for concurrent use.
type App struct {
	store    *store.Store     // reached only through the gate: see authorize.go
	now      func() time.Time // UTC, truncated to milliseconds: what is stored is what is shown
	random   io.Reader        // for identifiers and secrets
	index    *search.Index    // nil: there is no search
	media    media.Store      // nil: files cannot be stored
	verified *media.Verifier  // verifies the bytes of media
	webhooks Webhooks
	address  string         // prefix of the links that people get: see Config.Address
	turns    *turns         // which request may continue which upload
	trials   *trials        // test events that wait for their endpoints
	sessions *knownSessions // sessions that were seen on this node
	cost     PasswordCost   // cost of hashing a new password
	cascades Cascades       // how much of a large deletion one transaction does

	maxMedium  int64         // see Config.MaxMedium
	removal    time.Duration // see Config.RemovalWait
	fixedPlans bool          // see Config.FixedPlans

	secondFactor bool            // see Config.RequireSecondFactor
	provider     *SignInProvider // nil: see Config.Provider
	passwordsOff bool            // see Config.PasswordsOff
	redeeming    *fair.Turns     // of addresses, for redeeming codes of the provider
	mails        bool            // see Config.Mails
	connecting   *Connecting     // nil: apps cannot be connected
	documents    *fair.Turns     // of people, for reading the documents of apps
	lines        lines           // queues for hashing passwords
	merges       *fair.Turns     // of workspaces, for merging proposals, and for making and comparing releases
	searches     *fair.Turns     // of workspaces, for readers who search a release
	disk         *disk.Watch
	maxRecords   func(sheaf.Plan) int   // never nil: see Config.MaxRecords
	quota        func(sheaf.Plan) int64 // never nil: see Config.Quota
}

// Config has the settings and dependencies of the rules.
type Config struct {
	Store  *store.Store
	Now    func() time.Time // the clock
	Random io.Reader        // for identifiers and secrets; cryptographically strong
	// Index searches the records. It may be nil if nothing is searched.
	Index *search.Index
	// Address is the prefix of the addresses of shares: how people reach the service, without a
	// trailing slash.
	Address string
	// Media stores the bytes of media. If it is nil, nothing can be uploaded.
	Media media.Store
	// Disk watches the free space. nil: it is never checked.
	Disk *disk.Watch
	// MaxMedium is the largest size in bytes of a medium that is uploaded in pieces. 0 means
	// sheaf.MaxMedium.
	MaxMedium int64
	// RemovalWait is how long an upload waits while the same bytes are being removed. 0 means
	// waitForRemoval. Tests set more, because their machine may be busy.
	RemovalWait time.Duration
	// Webhooks may be left out if no subscription is used.
	Webhooks Webhooks
	// PasswordCost is the cost of hashing new passwords. The zero value is the second choice of RFC
	// 9106. Tests with many people set less.
	PasswordCost PasswordCost
	// FixedPlans means that only the operator changes the plan of a workspace, and no owner.
	FixedPlans bool
	// RequireSecondFactor means that a person without a second factor must set one up at the next sign-in.
	RequireSecondFactor bool
	// Provider is where people can sign in instead of giving a password. nil: nowhere.
	Provider *SignInProvider
	// PasswordsOff means that only people whom the operator allows it sign in with a password.
	PasswordsOff bool
	// Mails means that invitations, resets of passwords and notices are mailed to people. Without it, none is stored.
	// It needs Webhooks.Box.
	Mails bool
	// Connecting has the settings of OAuth. If it is nil, apps cannot be connected. It needs Webhooks.Box and Guard.
	Connecting *Connecting
	// MaxRecords returns how many projects, folders and documents together a workspace of that plan
	// may have. If it returns 0 or is nil, there is no limit.
	MaxRecords func(sheaf.Plan) int
	// Quota returns how many bytes of texts, media, reported events and kept answers a workspace of
	// that plan may store. If it returns 0 or is nil, there is no limit.
	Quota func(sheaf.Plan) int64
}

// Webhooks has the dependencies of the rules about subscriptions.
type Webhooks struct {
	Box   *seal.Box    // seals secrets and headers before they are stored, second factors, and mails that wait
	Guard *guard.Guard // checks the addresses of endpoints
	// SignatureHeader is the header with the signature. No custom header may replace it.
	SignatureHeader string
	// Send makes one attempt at once and blocks until it has ended. It is used for test events.
	Send func(context.Context, sheaf.Outgoing) sheaf.Attempt
}

// New returns the rules for a store.
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
	return &App{maxMedium: c.MaxMedium, removal: cmp.Or(c.RemovalWait, waitForRemoval), fixedPlans: c.FixedPlans, secondFactor: c.RequireSecondFactor, provider: c.Provider, passwordsOff: c.PasswordsOff, redeeming: fair.New(providerTurns), mails: c.Mails, connecting: c.Connecting, documents: fair.New(documentTurns), lines: newLines(), merges: fair.New(mergeTurns), searches: fair.New(mergeTurns), turns: newTurns(), maxRecords: c.MaxRecords, quota: c.Quota, cost: c.PasswordCost, disk: c.Disk, store: c.Store, now: func() time.Time { return c.Now().UTC().Truncate(time.Millisecond) }, random: c.Random,
		index: c.Index, media: c.Media, verified: media.NewVerifier(c.Media, verifyWithin), webhooks: c.Webhooks, address: c.Address, cascades: standardCascades, trials: newTrials(), sessions: &knownSessions{user: map[string]sheaf.UserID{}}}
}

// SignatureHeader returns the name of the header with the first signature.
func (a *App) SignatureHeader() string { return a.webhooks.SignatureHeader }

func (a *App) newID() string { return sheaf.NewUUID(a.now(), a.random) }
