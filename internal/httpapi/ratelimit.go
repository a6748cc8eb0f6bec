package httpapi

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"sheaf.dev/internal/ratewindow"
	"sheaf.dev/internal/sheaf"
)

// Limiter admits requests by key within a sliding window of a minute: in one
// process, or over several nodes. It never fails; when it cannot ask the other
// nodes, it decides alone.
type Limiter interface {
	Admit(ctx context.Context, key string, limit int, now time.Time) ratewindow.Decision
}

type local struct{ window *ratewindow.Window }

// NewLimiter returns one that counts in this process alone.
func NewLimiter() Limiter { return local{ratewindow.New()} }

func (l local) Admit(_ context.Context, key string, limit int, now time.Time) ratewindow.Decision {
	return l.window.Admit(key, limit, now)
}

// admit asks the sliding window, and puts its state into the answer's headers.
func (x *exchange) admit() error {
	limit := x.server.RateLimit(x.credential.Plan)
	x.limit = x.server.Limiter.Admit(x.request.Context(), string(x.credential.Key.ID), limit, x.started)
	if limit == 0 {
		return nil
	}
	h := x.Header()
	n := strconv.Itoa(limit)
	values := [4]string{n, strconv.Itoa(x.limit.Remaining), strconv.Itoa(x.limit.Reset), n + ";w=60"}
	h["Ratelimit-Limit"], h["Ratelimit-Remaining"] = values[:1:1], values[1:2:2]
	h["Ratelimit-Reset"], h["Ratelimit-Policy"] = values[2:3:3], values[3:]
	if x.limit.Admitted {
		return nil
	}
	x.tally.RateLimited()
	x.server.limited.Add(1)
	wait := x.limit.RetryAfter
	return &sheaf.Error{Kind: sheaf.RateLimited, Code: sheaf.CodeRateLimited, RetryAfter: time.Duration(wait) * time.Second,
		Text: fmt.Sprintf("rate limit exceeded: this key may make %d requests a minute; retry after %d seconds", limit, wait)}
}
