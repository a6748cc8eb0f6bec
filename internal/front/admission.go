package front

import (
	"net/http"
	"time"

	"sheaf.dev/internal/fair"
)

// Bounds on what requests may hold of the process at once. docs/decisions/0010-what-requests-may-hold.md
// has the figures and their reasons.
//
// A request in work holds one of MaxWorking places and, once its workspace is known, one of the
// workspace's WorkspaceWorking:
//
//	admit ──► AdmitWorkspace ──► work ──────► write the answer ──► release
//	                              │  ▲                             (gives back everything)
//	                        pause │  │ resume
//	                              ▼  │
//	                  waits for the client, for an endpoint, or for its turn at costly work
//
// Waiting for the network is not work: slow clients hold a bounded sum of bytes, but no places. If
// there is no place, a request is refused at once, because its client would give up before it is
// served.
const (
	// MaxWorking bounds the requests in work, including those that wait for the store.
	// WorkspaceWorking bounds those of one workspace.
	MaxWorking       = 2048
	WorkspaceWorking = MaxWorking / 2
)

// Refusal is the error for a request that exceeds a bound. Nothing was done.
type Refusal struct {
	// Status is 503, or 429 if the caller itself exceeds a documented bound.
	Status     int
	RetryAfter time.Duration
	Text       string // for an API client
}

// Error implements error.
func (r *Refusal) Error() string { return r.Text }

// refuse counts and returns a refusal. Its RetryAfter varies, so that clients that are refused together
// do not come back together.
func (f *Front) refuse() *Refusal {
	n := f.refused.Add(1)
	return &Refusal{Status: http.StatusServiceUnavailable, RetryAfter: time.Duration(1+n%3) * time.Second,
		Text: "the service is overloaded at the moment, and nothing was done: repeat the request after the seconds in Retry-After"}
}

// admit takes a place for the request, or refuses it.
func (x *Exchange) admit() *Refusal {
	x.working = true
	if x.front.working.Add(1) > MaxWorking {
		return x.front.refuse()
	}
	return nil
}

// AdmitWorkspace counts the request as one of the workspace's until it ends. It returns a *Refusal if
// the workspace already has WorkspaceWorking requests in work. Bytes that the request reserves from
// now on count for the workspace. A second call for the same workspace does nothing.
func (x *Exchange) AdmitWorkspace(ws string) error {
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

// AwaitTurn blocks until the request's workspace gets a turn, and charges the workspace `cost` for it.
// The caller ends the turn with done. While it waits, the request holds no place, but `bytes` of its
// answer, counted as by HoldAnswer. AwaitTurn returns a *Refusal if no turn comes in time or the client
// disconnects.
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

// Outside calls wait without holding a place. wait blocks on something outside the process, such as an
// endpoint. The caller must bound the number of such requests itself.
func (x *Exchange) Outside(wait func()) {
	if x.working {
		x.pause()
		defer x.resume()
	}
	wait()
}

// pause releases the request's places while it waits, and resume takes them again. resume never refuses,
// because the request has already begun.
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
