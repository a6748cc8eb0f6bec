package console

import (
	"sync"
	"time"

	"sheaf.dev/internal/app"
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
// So a sign contains nothing that its reader must be allowed to see, and several signs within a
// short time are sent as one. A page without changes does not read the store. App.WatchLogs finds
// events whose note was lost: it reads the logs of all open pages together. A change between the
// making of the page and the opening of its stream is not lost either: the stream's address says
// when the page was made, and follow announces at once what changed since.
//
// A follower remembers by number what its page knows. Events have numbers in the log, so a change
// by another node is found by reading the log. Other kinds have no numbers: their signs are
// counted.

const (
	// liveBeat is the interval of heartbeats on a silent stream.
	liveBeat = 30 * time.Second
	// liveCheck is the interval at which WatchSessions checks the sessions of all open pages, in
	// case the note of an end was lost. liveCheckRest is the least time between two such checks.
	liveCheck     = 30 * time.Second
	liveCheckRest = 500 * time.Millisecond
	// liveAgain is the pause before a page that could not read the log tries again.
	liveAgain = 2 * time.Second
	// liveRest is the least time between two signs to the same page.
	liveRest = 250 * time.Millisecond
	// liveWrite is how long a browser may take to receive one sign.
	liveWrite = 10 * time.Second
	// livePages bounds the open pages of one person in one workspace.
	livePages = 20
	// liveRetry is the pause before a page that was refused asks again.
	liveRetry = 10 * time.Second
	// liveSlack is how far the clocks of two nodes may be apart.
	liveSlack = 2 * time.Second
)

// Sign is a kind of change that pages follow. It carries no content: the page reads itself again.
type Sign string

// The signs.
const (
	SignEvents     Sign = "events"     // the log of events has grown
	SignDeliveries Sign = "deliveries" // a delivery changed its state, or a webhook did because of one
	SignMinutes    Sign = "minutes"    // the counts for the charts were stored
)

// signAnew tells a page to reload: the person's restriction has changed since the page was made.
const signAnew = "anew"

// live wakes the open pages of the workspaces in which something changed.
type live struct {
	check chan struct{} // has a value when a session or a membership has ended; capacity 1

	mu    sync.Mutex                       // guards all below, the openPages too
	pages map[sheaf.WorkspaceID]*openPages // of workspaces that have an open page
	last  map[Sign]time.Time               // when a sign of this kind came last, in any workspace
	open  map[*stream]struct{}
}

// openPages are the open pages of one workspace.
type openPages struct {
	woken chan struct{} // closed at the next sign, and then replaced
	counts
	by map[sheaf.UserID]int // the number of open pages of each person
}

// stream is the open event stream of a page.
type stream struct {
	visit app.Visit
	end   func() // closes the stream
}

func newLive() *live {
	return &live{check: make(chan struct{}, 1), pages: map[sheaf.WorkspaceID]*openPages{}, last: map[Sign]time.Time{}, open: map[*stream]struct{}{}}
}

// counts is the number of signs so far, for each kind in unnumbered.
type counts [len(unnumbered)]int64

// unnumbered are the kinds whose changes have no numbers of their own, unlike events.
var unnumbered = [...]Sign{SignDeliveries, SignMinutes}

// wake counts the sign, and wakes every page of the workspace. The caller holds live.mu.
func (p *openPages) wake(s Sign) {
	for i := range unnumbered {
		if unnumbered[i] == s {
			p.counts[i]++
		}
	}
	close(p.woken)
	p.woken = make(chan struct{})
}

// watch returns a channel that is closed at the next sign, and the number of signs so far. The
// caller has called addPage, so that the workspace has openPages.
func (l *live) watch(ws sheaf.WorkspaceID) (woken <-chan struct{}, now counts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.pages[ws]
	return p.woken, p.counts
}

// changedSince reports whether a sign of this kind came after `at`, or up to liveSlack before it,
// in any workspace. So a page that was just made may be woken once too often.
func (l *live) changedSince(s Sign, at time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last[s].After(at.Add(-liveSlack))
}

// addStream adds the stream of an open page, until remove is called.
func (l *live) addStream(s *stream) (remove func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[s] = struct{}{}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.open, s)
	}
}

// addPage counts an open page of a person, until remove is called. It returns false if the person
// has livePages open pages in the workspace.
func (l *live) addPage(ws sheaf.WorkspaceID, user sheaf.UserID) (remove func(), ok bool) {
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
