package console

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
)

// hold counts a page, which may wait long for its reader. What was changed must be told, so that is
// never refused.
func (v *visit) hold(status, n int) error {
	changed := v.r.Method == http.MethodPost && status < http.StatusBadRequest
	if changed || v.r.Method == http.MethodHead {
		return nil
	}
	return crowded(v.HoldAnswer(n))
}

// crowded says to a person what a refusal says to a program.
func crowded(err error) error {
	var refusal *front.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	return &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: refusal.RetryAfter,
		Text: fmt.Sprintf("the service has more to do than it can at the moment, and nothing was changed. Try again in %v", max(refusal.RetryAfter, time.Second))}
}
