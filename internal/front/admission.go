package front

import (
	"net/http"
	"time"

	"sheaf.dev/internal/fair"
)

// What requests may hold of the process at once. docs/decisions/0010-what-requests-may-hold.md says
// why so much.
//
// A request in work holds a place, one of all and, once its workspace is known, one of the
// workspace's share:
//
//	enter ──► EnterWorkspace ──► work ──────► write the answer ──► leave
//	                              │  ▲                             (all is given back)
//	                        pause │  │ resume
//	                              ▼  │
//	                  waits for the client, for an endpoint, or for its turn at costly work
//
// Time that a request spends on the network is not work: slow clients hold bytes, of a bounded sum,
// and no places. A request that finds no place is refused at once, because its client would give up
// before it is served.
const (
	// MaxWorking bounds the requests in work, those that wait for the store included;
	// WorkspaceWorking is what one workspace may have of them.
	MaxWorking       = 2048
	WorkspaceWorking = MaxWorking / 2
)

// Refusal is the error of what there is no room for. Nothing was done.
type Refusal struct {
	// Status is 503, or 429 where it is the caller's own doing and a bound that the documentation
	// names.
	Status     int
	RetryAfter time.Duration
	Text       string // for a program
}

// Error returns the text.
func (r *Refusal) Error() string { return r.Text }

// refuse counts and returns a refusal. Those who are refused together are asked to come again one
// after the other.
func (f *Front) refuse() *Refusal {
	n := f.refused.Add(1)
	return &Refusal{Status: http.StatusServiceUnavailable, RetryAfter: time.Duration(1+n%3) * time.Second,
		Text: "the service has more requests than it can serve at the moment, nothing was done: repeat the request after the seconds that Retry-After names"}
}

// enter takes a place for the request, or refuses it.
func (x *Exchange) enter() *Refusal {
	x.working = true
	if x.front.working.Add(1) > MaxWorking {
		return x.front.refuse()
	}
	return nil
}

// EnterWorkspace counts the request among those of the workspace until it ends. It returns a
// *Refusal when the workspace has its share of requests in work. What the request holds from now on
// is of the workspace's share. A second call for the same workspace does nothing.
func (x *Exchange) EnterWorkspace(ws string) error {
	if x.inShare {
		if x.workspace == ws {
			return nil
		}
		x.front.shares.add(x.workspace, -1)
	}
	x.workspace, x.inShare = ws, true
	if x.front.shares.add(ws, 1) > WorkspaceWorking {
		return x.front.refuse()
	}
	return nil
}

// AwaitTurn blocks until the request's workspace has one of the turns, at that cost; done ends the
// turn. Waiting is not work. While it waits, the request holds `bytes` of its answer, which count as in
// HoldAnswer. AwaitTurn returns a *Refusal if the workspace gets no turn in time, or the client has left.
func (x *Exchange) AwaitTurn(turns *fair.Turns, cost int64, bytes int) (done func(), err error) {
	if err := x.HoldAnswer(bytes); err != nil {
		return nil, err
	}
	x.Outside(func() { done, err = turns.Take(x.Request.Context(), x.workspace, cost) })
	if err != nil { // the turn did not come in time, or the client has gone
		err = x.front.refuse()
	}
	return done, err
}

// Outside calls wait, which waits for something else, such as an endpoint: that is not work. The
// caller bounds by other means how many requests do so at once.
func (x *Exchange) Outside(wait func()) {
	if x.working {
		x.pause()
		defer x.resume()
	}
	wait()
}

// pause gives the request's places back while it waits, and resume takes them again: it has begun,
// so that nothing refuses it then.
func (x *Exchange) pause() {
	if x.working {
		x.count(-1)
	}
	x.working = false
}

func (x *Exchange) resume() {
	x.working = true
	x.count(1)
}

// count adds n to the requests in work, of all and of the workspace.
func (x *Exchange) count(n int64) {
	if x.inShare {
		x.front.shares.add(x.workspace, n)
	}
	x.front.working.Add(n)
}

// leave gives back all that the request holds.
func (x *Exchange) leave() {
	x.pause()
	if x.streaming != nil {
		x.streaming(nil)
	}
	x.body.release()
	x.answer.release()
	x.inShare = false
}
