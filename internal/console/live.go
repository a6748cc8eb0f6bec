package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
)

// Open pages follow what happens. A page with parts of class "live" holds a stream of server-sent
// events open; the stream says that something changed, never what:
//
//	a commit ──▶ Console.Wake(kind, workspaces) ──▶ live: counts it, closes the workspace's channel
//	                                                         │
//	the page ◀── "event: deliveries" ── follower.run ◀───────┘   and looks every 2 s by itself
//	    │
//	    └──▶ GET its own address again, and replaces the parts that follow that kind
//
// So a sign carries nothing that its reader would have to be allowed to see, many of them at once
// are one, and one that is lost costs two seconds. A change between the making of the page and the
// opening of its stream is not lost either: the address of the stream carries when the page was
// made, and catchUp tells it at once of what came since.
//
// A follower remembers by number what its page knows. Events have numbers in the log, so a change by
// another node is found by reading the log. Other kinds have no numbers: their signs are counted.

const (
	// liveLook is how often a page looks for what nobody woke it for, and asks whether its person
	// is still signed in.
	liveLook = 2 * time.Second
	// liveRest is the least time between two signs to the same page.
	liveRest = 250 * time.Millisecond
	// liveWrite is how long a browser may take for one sign.
	liveWrite = 10 * time.Second
	// livePages bounds the open pages of one person in one workspace.
	livePages = 20
	// liveRetry is when a page that was refused asks again.
	liveRetry = 10 * time.Second
	// liveSlack is how far the clocks of two nodes may be apart.
	liveSlack = 2 * time.Second
)

// Sign is a kind of change that pages follow. What changed is read again by the page itself: a sign
// carries no content.
type Sign string

// The signs.
const (
	SignEvents     Sign = "events"     // the log of events has grown
	SignDeliveries Sign = "deliveries" // something became of a delivery, or of a webhook by one
	SignMinutes    Sign = "minutes"    // the counts for the charts were stored
)

// live wakes the open pages: those of the workspaces in which something changed.
type live struct {
	mu    sync.Mutex                       // guards all below, the openPages too
	pages map[sheaf.WorkspaceID]*openPages // of workspaces that have an open page
	last  map[Sign]time.Time               // when a sign of this kind came last, in any workspace
}

// openPages are those of one workspace.
type openPages struct {
	woken chan struct{} // closed at the next sign, and then replaced
	counts
	by map[sheaf.UserID]int // how many each person has open
}

func newLive() *live {
	return &live{pages: map[sheaf.WorkspaceID]*openPages{}, last: map[Sign]time.Time{}}
}

// Wake tells the open pages of these workspaces that something of that kind changed there.
func (c *Console) Wake(s Sign, in sheaf.WorkspaceSet) {
	l := c.live
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last[s] = c.Now()
	if in.All {
		for _, p := range l.pages {
			p.wake(s)
		}
		return
	}
	for ws := range in.IDs {
		if p := l.pages[ws]; p != nil {
			p.wake(s)
		}
	}
}

// wake counts the sign, and wakes every page of the workspace.
func (p *openPages) wake(s Sign) {
	for i := range unnumbered {
		if unnumbered[i] == s {
			p.counts[i]++
		}
	}
	close(p.woken)
	p.woken = make(chan struct{})
}

// counts is how many signs there were of each kind in unnumbered.
type counts [len(unnumbered)]int64

// unnumbered are the kinds whose changes have no numbers of their own, as events have.
var unnumbered = [...]Sign{SignDeliveries, SignMinutes}

// watch returns a channel that is closed at the next sign, and how many signs there were so far.
// The caller has entered, so that the workspace has openPages.
func (l *live) watch(ws sheaf.WorkspaceID) (woken <-chan struct{}, now counts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.pages[ws]
	return p.woken, p.counts
}

// since reports whether something of that kind changed since then, or a little before, in any
// workspace: a page that was just made may look once too often.
func (l *live) since(s Sign, at time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last[s].After(at.Add(-liveSlack))
}

// enter counts an open page of a person; the function that it returns counts it out.
func (l *live) enter(ws sheaf.WorkspaceID, user sheaf.UserID) (leave func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.pages[ws]
	if p == nil {
		p = &openPages{woken: make(chan struct{}), by: map[sheaf.UserID]int{}}
		l.pages[ws] = p
	}
	if p.by[user] >= livePages {
		return nil, false
	}
	p.by[user]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if p.by[user]--; p.by[user] == 0 {
			delete(p.by, user)
		}
		if len(p.by) == 0 {
			delete(l.pages, ws)
		}
	}, true
}

// follow tells an open page, by server-sent events, when to read itself again.
func (c *Console) follow(v *visit) error {
	leave, ok := c.live.enter(v.caller.Workspace, v.caller.User)
	if !ok {
		v.WriteHeader(http.StatusNoContent) // the page goes on without, and does not come back
		return nil
	}
	defer leave()
	leaveStreams, err := v.EnterStream("")
	if err != nil {
		return tooManyStreams(err)
	}
	defer leaveStreams()
	at, err := c.app.FollowEvents(v.r.Context(), v.caller, sheaf.EventFilter{})
	if err != nil {
		return err
	}
	v.Header().Set("Content-Type", "text/event-stream")
	v.Header().Set("X-Accel-Buffering", "no")
	v.WriteHeader(http.StatusOK)
	if v.r.Method == http.MethodHead {
		return nil
	}
	f := &follower{v: v, at: at, control: http.NewResponseController(v)}
	_, f.told = c.live.watch(v.caller.Workspace)
	f.catchUp()
	// The server's own deadlines are for requests that end.
	_ = f.control.SetReadDeadline(time.Time{})
	f.run(v.r.Context())
	return nil
}

// tooManyStreams is the refusal of a stream as an error of ours.
func tooManyStreams(err error) error {
	var refusal *front.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	kind := sheaf.Unavailable
	if refusal.Status == http.StatusTooManyRequests {
		kind = sheaf.RateLimited
	}
	return &sheaf.Error{Kind: kind, RetryAfter: refusal.RetryAfter, Text: refusal.Text}
}

// comeAgain tells the stream of an open page to ask later: a browser that gets any status but 200
// never does.
func (v *visit) comeAgain() {
	v.Header().Set("Content-Type", "text/event-stream")
	v.WriteHeader(http.StatusOK)
	fmt.Fprintf(v, "retry: %d\n\n", liveRetry.Milliseconds())
}

// follower is one open page.
type follower struct {
	v       *visit
	at      int64  // the number of the last event that was announced to the page
	told    counts // the signs that were sent to the page
	control *http.ResponseController
}

// catchUp makes the first look tell of what changed between the making of the page, whose time its
// address carries, and now.
func (f *follower) catchUp() {
	made, err := strconv.ParseInt(f.v.r.URL.Query().Get("since"), 10, 64)
	if err != nil {
		return
	}
	at := time.UnixMilli(made)
	for i, s := range unnumbered {
		if f.v.console.live.since(s, at) {
			f.told[i] = -1
		}
	}
	if f.v.console.live.since(SignEvents, at) {
		f.at = -1
	}
}

// run tells the page of what changes until it is closed, its person is signed out, or the server
// stops.
func (f *follower) run(ctx context.Context) {
	look := time.NewTicker(liveLook)
	defer look.Stop()
	rest := time.NewTimer(0)
	defer rest.Stop()
	if f.send("retry: 2000\n\n") != nil {
		return
	}
	for {
		woken, now := f.v.console.live.watch(f.v.caller.Workspace)
		if !f.tell(ctx, now) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-f.v.Stopping(): // the page comes back to the next server
			return
		case <-woken:
			rest.Reset(liveRest)
			<-rest.C
		case <-look.C:
			if !f.allowed(ctx) || f.send(": still here\n\n") != nil {
				return
			}
		}
	}
}

// allowed reports whether the person is still signed in, and a member.
func (f *follower) allowed(ctx context.Context) bool {
	s, err := f.v.console.app.Session(ctx, f.v.token)
	if err != nil {
		return sheaf.KindOf(err) == sheaf.Unavailable
	}
	_, _, err = s.Caller(f.v.caller.Workspace)
	return err == nil
}

// tell sends what has changed since the last time; false ends the stream.
func (f *follower) tell(ctx context.Context, now counts) bool {
	var b strings.Builder
	for i, s := range unnumbered {
		if now[i] != f.told[i] {
			fmt.Fprintf(&b, "event: %s\ndata: {}\n\n", s)
		}
	}
	f.told = now
	last, err := f.v.console.app.FollowEvents(ctx, f.v.caller, sheaf.EventFilter{})
	switch {
	case err != nil:
		return sheaf.KindOf(err) == sheaf.Unavailable && ctx.Err() == nil
	case last > f.at:
		f.at = last
		fmt.Fprintf(&b, "event: %s\ndata: {}\n\n", SignEvents)
	}
	return b.Len() == 0 || f.send(b.String()) == nil
}

// send writes to the browser, which has liveWrite for it.
func (f *follower) send(s string) error {
	_ = f.control.SetWriteDeadline(f.v.console.Now().Add(liveWrite))
	if _, err := f.v.Write([]byte(s)); err != nil {
		return err
	}
	return f.control.Flush()
}
