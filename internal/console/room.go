package console

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"sheaf.dev/internal/sheaf"
)

// Room bounds what requests hold of the process. Whoever mounts the console and
// counts that passes it a ResponseWriter that is a Room; any other lets
// everything pass. What is refused is Unavailable or RateLimited.
type Room interface {
	// EnterWorkspace counts the request in its workspace until it is answered.
	EnterWorkspace(ws sheaf.WorkspaceID) error
	// HoldAnswer counts the bytes of an answer until it is taken.
	HoldAnswer(n int) error
	// EnterStream counts a stream of the workspace until leave is called.
	EnterStream() (leave func(), err error)
	// Outside does what waits for somebody else, which is not counted meanwhile.
	Outside(wait func())
}

// enterWorkspace counts the visit in the workspace of its caller.
func (v *visit) enterWorkspace() error {
	if room, ok := v.ResponseWriter.(Room); ok {
		return crowded(room.EnterWorkspace(v.caller.Workspace))
	}
	return nil
}

// hold counts a page, which may wait long for its reader. What was changed must
// be told, so that is never refused.
func (v *visit) hold(status, n int) error {
	room, ok := v.ResponseWriter.(Room)
	changed := v.r.Method == http.MethodPost && status < http.StatusBadRequest
	if !ok || changed || v.r.Method == http.MethodHead {
		return nil
	}
	return crowded(room.HoldAnswer(n))
}

// enterStream counts the stream of an open page.
func (v *visit) enterStream() (leave func(), err error) {
	if room, ok := v.ResponseWriter.(Room); ok {
		return room.EnterStream()
	}
	return func() {}, nil
}

// outside waits for somebody else.
func (v *visit) outside(wait func()) {
	if room, ok := v.ResponseWriter.(Room); ok {
		room.Outside(wait)
		return
	}
	wait()
}

// crowded says to a person what the refusal says to a program.
func crowded(err error) error {
	var refusal *sheaf.Error
	if !errors.As(err, &refusal) {
		return err
	}
	out := *refusal
	out.Text = fmt.Sprintf("the service has more to do than it can at the moment, and nothing was changed. Try again in %v", max(out.RetryAfter, time.Second))
	return &out
}
