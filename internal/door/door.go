// Package door decides who sends a request: it checks the key, the plan and the rate limit, and counts the
// use of the key. Edges that callers reach with a key, httpapi and mcp, admit every request through one
// Door, so that a key has one rate limit whichever edge it is used at.
//
//	edge ── Access ──▶ Admit: key ▶ use counted ▶ plan ▶ rate limit      in the order of the contract (D11)
//	                     │
//	                     ├─ nil    ▶ Caller, for the methods of app
//	                     └─ error  ▶ Refusal: what the client may read, and the headers that go with it
//
// It knows no route and no form of an answer: an edge writes the answer. What a caller may do, app decides.
package door

import (
	"context"
	"log/slog"
	"sync/atomic"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/ratewindow"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/tally"
)

// Config is what the door needs.
type Config struct {
	App *app.App
	Log *slog.Logger
	// RateLimit returns how many requests a minute a key of the plan may make; 0 means no limit.
	RateLimit func(sheaf.Plan) int
	// Limiter counts the requests; nil counts those of this process alone.
	Limiter Limiter
	// Tally counts the requests for the charts; nil counts none.
	Tally *tally.Tally
}

// Door checks the requests of all edges that take keys. It is safe for concurrent use.
type Door struct {
	Config
	usage   usage
	limited atomic.Uint64 // requests that the rate limit refused
}

// New returns the door to the rules.
func New(c Config) *Door {
	if c.Limiter == nil {
		c.Limiter = NewLimiter()
	}
	return &Door{Config: c, usage: usage{tally: c.Tally}}
}

// Run stores when keys were last used, until ctx ends, and once more at the end.
func (d *Door) Run(ctx context.Context) error { return d.usage.run(ctx, d.App, d.Log) }

// Limited returns how many requests the rate limit has refused since the start.
func (d *Door) Limited() uint64 { return d.limited.Load() }

// Access is one request to an edge, with its caller once Admit has returned nil.
type Access struct {
	*front.Exchange
	Credential sheaf.Credential
	Caller     app.Caller
	Limit      ratewindow.Decision // decision of the rate limit on this request

	// Resource is the address at which access tokens of grants work. If it is empty, the edge takes none.
	Resource string
	// Metadata is the address of the document that tells an app how to get an access token. It may be empty.
	Metadata string

	door   *Door
	secret string         // the key as it was sent
	tally  *tally.Counter // counter of the caller's workspace
}

// Access returns the access of a request that is not admitted yet.
func (d *Door) Access(x *front.Exchange) Access { return Access{Exchange: x, door: d} }

// Admit checks the key, the plan, the rate limit and what a grant is limited to, and sets the rate limit headers of the answer. An
// error is for Refusal.
func (a *Access) Admit() error {
	if err := a.authenticate(); err != nil {
		return err
	}
	a.tally = a.door.usage.note(&a.Caller, a.Started)
	if err := a.Credential.Plan.AllowAPI(); err != nil {
		return err
	}
	if err := a.limitRate(); err != nil {
		return err
	}
	return a.door.App.CheckWithin(a.Request.Context(), a.Credential)
}

// KeyHash returns the hash of the key that was sent.
func (a *Access) KeyHash() sheaf.KeyHash {
	hash, _ := sheaf.HashKey(a.secret)
	return hash
}
