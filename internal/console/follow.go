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
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
)

// Followed returns the workspaces that have an open page.
func (c *Console) Followed() []sheaf.WorkspaceID {
	c.live.mu.Lock()
	defer c.live.mu.Unlock()
	return slices.Collect(maps.Keys(c.live.pages))
}

// CheckSessions makes WatchSessions check soon, because a session or a membership has ended.
func (c *Console) CheckSessions() {
	select {
	case c.live.check <- struct{}{}:
	default:
	}
}

// WatchSessions runs until ctx ends. It closes the streams of pages whose person was signed out, or
// is no longer a member.
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

// checkSessions checks the sessions of all open pages once, and closes the streams of those that
// have ended.
func (c *Console) checkSessions(ctx context.Context) {
	l := c.live
	l.mu.Lock()
	open := map[app.Visit][]*stream{}
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

// Wake wakes the open pages of these workspaces: something of kind s changed there.
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

// follower is one open page.
type follower struct {
	v         *visit
	at        int64  // the number of the last event that was announced to the page
	announced counts // the signs that were sent to the page
	control   *http.ResponseController
}

// follow answers GET /w/{workspace}/live: a stream of server-sent events that tells an open page
// when to read itself again.
func (c *Console) follow(v *visit) error {
	removePage, ok := c.live.addPage(v.caller.Workspace, v.caller.User)
	if !ok {
		v.WriteHeader(http.StatusNoContent) // the page stays as it is, and does not ask again
		return nil
	}
	defer removePage()
	closed, err := v.OpenStream("")
	var refusal *front.Refusal
	if errors.As(err, &refusal) {
		kind := sheaf.Unavailable
		if refusal.Status == http.StatusTooManyRequests {
			kind = sheaf.RateLimited
		}
		return &sheaf.Error{Kind: kind, RetryAfter: refusal.RetryAfter, Text: refusal.Text}
	}
	if err != nil {
		return err
	}
	defer closed()
	at, err := c.app.FollowEvents(v.r.Context(), v.caller, sheaf.EventFilter{})
	if err != nil {
		return err
	}
	since, known := time.Time{}, false // when the page was made, from the address of its stream
	if made, err := strconv.ParseInt(v.r.URL.Query().Get("since"), 10, 64); err == nil {
		since, known = time.UnixMilli(made), true
	}
	grown := false
	if known {
		if grown, err = v.eventsSince(since); err != nil {
			return err
		}
	}
	v.Header().Set("Content-Type", "text/event-stream")
	v.Header().Set("X-Accel-Buffering", "no")
	v.WriteHeader(http.StatusOK)
	if v.r.Method == http.MethodHead {
		return nil
	}
	ctx, end := context.WithCancel(v.r.Context())
	defer end()
	f := &follower{v: v, at: at, control: http.NewResponseController(v)}
	defer c.live.addStream(&stream{visit: app.NewVisit(v.token, v.caller.Workspace, v.caller.Restriction()), end: end})()
	_, f.announced = c.live.watch(v.caller.Workspace)
	// Announce at once what changed since the page was made.
	for i, s := range unnumbered {
		if known && c.live.changedSince(s, since) {
			f.announced[i] = -1
		}
	}
	if grown {
		f.at = -1
	}
	// The server's own deadlines are for requests that end.
	_ = f.control.SetReadDeadline(time.Time{})
	if known && v.r.URL.Query().Get("within") != markOf(v.caller.Restriction()) {
		_ = f.send("event: " + signAnew + "\ndata: {}\n\n")
	}
	f.run(ctx)
	if ctx.Err() != nil && v.r.Context().Err() == nil {
		_ = f.send("retry: 100\n\n") // the person's rights have changed: the page asks again at once
	}
	return nil
}

// eventsSince reports whether the person may see events from after `made`, when the page was made. For
// a restricted person it reads the restriction's log, because a sign would reveal that something
// happened outside.
func (v *visit) eventsSince(made time.Time) (bool, error) {
	if v.seesAll() {
		return v.console.live.changedSince(SignEvents, made), nil
	}
	from := made.Add(-liveSlack)
	page, err := v.console.app.Events(v.r.Context(), v.caller, sheaf.EventFilter{Since: &from, Paging: sheaf.Paging{Limit: 1}})
	return len(page.Items) > 0, err
}

// retryLater tells the stream of an open page to ask again after liveRetry. The status is 200,
// because after any other status a browser never asks again.
func (v *visit) retryLater() {
	v.Header().Set("Content-Type", "text/event-stream")
	v.WriteHeader(http.StatusOK)
	fmt.Fprintf(v, "retry: %d\n\n", liveRetry.Milliseconds())
}

// run announces changes to the page until it is closed, its person is signed out, or the server
// stops.
func (f *follower) run(ctx context.Context) {
	beat := time.NewTicker(liveBeat)
	defer beat.Stop()
	if f.send("retry: 2000\n\n") != nil {
		return
	}
	for {
		woken, now := f.v.console.live.watch(f.v.caller.Workspace)
		err := f.announce(ctx, now)
		if err != nil && sheaf.KindOf(err) != sheaf.Unavailable || !f.sleep(ctx, woken, beat.C, err != nil) {
			return
		}
	}
}

// sleep blocks until something may have changed, or for liveAgain if the log could not be read.
// Meanwhile it sends heartbeats. It returns false if the stream must end; if the server stops, the
// page reconnects to the next one.
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
			// Changes within liveRest are announced together.
			woken, again = nil, time.After(liveRest)
		case <-beat:
			if f.send(": still here\n\n") != nil {
				return false
			}
		}
	}
}

// announce sends the kinds that have changed since the last call. If it returns an error other than
// Unavailable, the stream ends.
func (f *follower) announce(ctx context.Context, now counts) error {
	var b strings.Builder
	for i, s := range unnumbered {
		if now[i] != f.announced[i] && f.v.seesAll() {
			fmt.Fprintf(&b, "event: %s\ndata: {}\n\n", s)
		}
	}
	f.announced = now
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

// send writes to the browser, which must receive it within liveWrite.
func (f *follower) send(s string) error {
	_ = f.control.SetWriteDeadline(f.v.console.Now().Add(liveWrite))
	if _, err := f.v.Write([]byte(s)); err != nil {
		return err
	}
	return f.control.Flush()
}
