package console

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
)

// Open pages follow what happens. A page with parts of class "live" holds a stream of server-sent
// events open; the stream says that something changed, never what:
//
//	a commit ──▶ Console.Wake(kind, workspaces) ──▶ live: counts it, closes the workspace's channel
//	                                                         │
//	the page ◀── "event: deliveries" ── follower.run ◀───────┘
//	    │
//	    └──▶ GET its own address again, and replaces the parts that follow that kind
//
// So a sign carries nothing that its reader would have to be allowed to see, and many of them at once
// are one. A page that nobody wakes asks the store nothing. Events whose note was lost are found by
// App.WatchLogs, which looks at the logs of all open pages together. A change between the making of the
// page and the opening of its stream is not lost either: the address of the stream carries when the page
// was made, and catchUp announces at once what came since.
//
// A follower remembers by number what its page knows. Events have numbers in the log, so a change by
// another node is found by reading the log. Other kinds have no numbers: their signs are counted.

const (
	// liveBeat is how often a silent stream shows that it lives.
	liveBeat = 30 * time.Second
	// liveCheck is how often WatchSessions asks whether the people of all open pages are still signed in,
	// though no note told of an end. liveCheckRest is the least time between two such questions.
	liveCheck     = 30 * time.Second
	liveCheckRest = 500 * time.Millisecond
	// liveAgain is when a page that could not read the log tries again.
	liveAgain = 2 * time.Second
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
	check chan struct{} // has a value when a session or a membership has ended; capacity 1

	mu    sync.Mutex                       // guards all below, the openPages too
	pages map[sheaf.WorkspaceID]*openPages // of workspaces that have an open page
	last  map[Sign]time.Time               // when a sign of this kind came last, in any workspace
	open  map[*follower]struct{}
}

// openPages are those of one workspace.
type openPages struct {
	woken chan struct{} // closed at the next sign, and then replaced
	counts
	by map[sheaf.UserID]int // how many each person has open
}

func newLive() *live {
	return &live{check: make(chan struct{}, 1), pages: map[sheaf.WorkspaceID]*openPages{}, last: map[Sign]time.Time{}, open: map[*follower]struct{}{}}
}

// Followed returns the workspaces that have an open page.
func (c *Console) Followed() []sheaf.WorkspaceID {
	c.live.mu.Lock()
	defer c.live.mu.Unlock()
	return slices.Collect(maps.Keys(c.live.pages))
}

// CheckSessions makes WatchSessions ask soon, because a session or a membership has ended.
func (c *Console) CheckSessions() {
	select {
	case c.live.check <- struct{}{}:
	default:
	}
}

// WatchSessions closes the streams of pages whose person was signed out, or is no member any more,
// until ctx ends.
func (c *Console) WatchSessions(ctx context.Context) error {
	every, rest := time.NewTicker(liveCheck), time.NewTicker(liveCheckRest)
	defer every.Stop()
	defer rest.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
		case <-c.live.check:
		}
		c.checkSessions(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-rest.C:
		}
	}
}

// checkSessions asks once for the sessions of all open pages.
func (c *Console) checkSessions(ctx context.Context) {
	l := c.live
	l.mu.Lock()
	open := map[app.Visit][]*follower{}
	for f := range l.open {
		open[f.visit] = append(open[f.visit], f)
	}
	l.mu.Unlock()
	if len(open) == 0 {
		return
	}
	ended, err := c.app.EndedVisits(ctx, slices.Collect(maps.Keys(open)))
	if err != nil && ctx.Err() == nil && sheaf.KindOf(err) != sheaf.Unavailable {
		c.Log.Error("could not ask whether the people of open pages are signed in", "error", err)
	}
	for _, v := range ended {
		for _, f := range open[v] {
			f.end()
		}
	}
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

// follow adds the stream of an open page, until leave is called.
func (l *live) follow(f *follower) (leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[f] = struct{}{}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.open, f)
	}
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
	ctx, end := context.WithCancel(v.r.Context())
	defer end()
	f := &follower{v: v, at: at, visit: app.NewVisit(v.token, v.caller.Workspace), end: end, control: http.NewResponseController(v)}
	defer c.live.follow(f)()
	_, f.told = c.live.watch(v.caller.Workspace)
	f.catchUp()
	// The server's own deadlines are for requests that end.
	_ = f.control.SetReadDeadline(time.Time{})
	f.run(ctx)
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
	visit   app.Visit
	end     context.CancelFunc // ends the stream
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
	beat := time.NewTicker(liveBeat)
	defer beat.Stop()
	if f.send("retry: 2000\n\n") != nil {
		return
	}
	for {
		woken, now := f.v.console.live.watch(f.v.caller.Workspace)
		err := f.tell(ctx, now)
		if err != nil && sheaf.KindOf(err) != sheaf.Unavailable || !f.sleep(ctx, woken, beat.C, err != nil) {
			return
		}
	}
}

// sleep returns when something may have changed, or after liveAgain if the log could not be read.
// Meanwhile it sends heartbeats. It returns false if the stream is to end; the page of a server that
// stops comes back to the next one.
func (f *follower) sleep(ctx context.Context, woken <-chan struct{}, beat <-chan time.Time, failed bool) bool {
	var again <-chan time.Time
	if failed {
		again = time.After(liveAgain)
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-f.v.Stopping():
			return false
		case <-again:
			return true
		case <-woken:
			// Further changes within liveRest are one sign with this one.
			woken, again = nil, time.After(liveRest)
		case <-beat:
			if f.send(": still here\n\n") != nil {
				return false
			}
		}
	}
}

// tell sends what has changed since the last time. If it returns an error other than Unavailable, the
// stream ends.
func (f *follower) tell(ctx context.Context, now counts) error {
	var b strings.Builder
	for i, s := range unnumbered {
		if now[i] != f.told[i] {
			fmt.Fprintf(&b, "event: %s\ndata: {}\n\n", s)
		}
	}
	f.told = now
	last, err := f.v.console.app.FollowEvents(ctx, f.v.caller, sheaf.EventFilter{})
	if err == nil && last > f.at {
		f.at = last
		fmt.Fprintf(&b, "event: %s\ndata: {}\n\n", SignEvents)
	}
	if b.Len() > 0 && (err == nil || sheaf.KindOf(err) == sheaf.Unavailable) {
		if err := f.send(b.String()); err != nil {
			return err
		}
	}
	return err
}

// send writes to the browser, which has liveWrite for it.
func (f *follower) send(s string) error {
	_ = f.control.SetWriteDeadline(f.v.console.Now().Add(liveWrite))
	if _, err := f.v.Write([]byte(s)); err != nil {
		return err
	}
	return f.control.Flush()
}
