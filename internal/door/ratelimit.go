package door

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"sheaf.dev/internal/ratewindow"
	"sheaf.dev/internal/sheaf"
)

// Limiter admits requests by key, and by the group of keys, within a sliding window of a minute: in one
// process or over several nodes. It never fails. If it cannot reach the other nodes, it decides alone.
type Limiter interface {
	Admit(ctx context.Context, key string, limit int, in ratewindow.Group, now time.Time) ratewindow.Decision
	// AdmitMore takes `more` further slots for an admitted request that costs several: all or none.
	AdmitMore(ctx context.Context, key string, limit, more int, in ratewindow.Group, now time.Time) ratewindow.Decision
}

type local struct{ window *ratewindow.Window }

// NewLimiter returns one that counts in this process alone.
func NewLimiter() Limiter { return local{ratewindow.New()} }

func (l local) Admit(_ context.Context, key string, limit int, in ratewindow.Group, now time.Time) ratewindow.Decision {
	return l.window.AdmitIn(key, limit, in, now)
}

func (l local) AdmitMore(_ context.Context, key string, limit, more int, in ratewindow.Group, now time.Time) ratewindow.Decision {
	return l.window.AdmitMore(key, limit, more, in, now)
}

// Charge charges a request that costs `cost` and has paid for one. If it costs more than a minute allows,
// it could never succeed, and is Invalid.
func (a *Access) Charge(cost int) error {
	limit, workspace := a.limits()
	if cost <= 1 || limit == 0 {
		return nil
	}
	if most := min(limit, workspace.Ceiling); cost > most {
		return sheaf.Invalidf("this request counts as %d requests, but only %d are allowed per minute: send less at once", cost, most)
	}
	a.Limit = a.door.Limiter.AdmitMore(a.Request.Context(), string(a.Credential.Key.ID), limit, cost-1, workspace, a.Started)
	return a.checkLimit(limit, workspace, cost)
}

// limits returns the requests a minute of the key, and of all keys of its workspace together.
func (a *Access) limits() (int, ratewindow.Group) {
	plan := a.Credential.Plan
	limit := a.door.RateLimit(plan)
	return limit, ratewindow.Group{Name: string(a.Credential.Workspace), Ceiling: limit * plan.MaxKeys()}
}

// checkLimit sets the rate limit headers of the answer. If a request of that cost was refused, it returns the
// error.
func (a *Access) checkLimit(limit int, workspace ratewindow.Group, cost int) error {
	if limit == 0 {
		return nil
	}
	h := a.Header()
	n := strconv.Itoa(limit)
	remaining, reset := strconv.Itoa(a.Limit.Remaining), strconv.Itoa(a.Limit.Reset)
	// The fifth is the same in the form of the IETF's present draft.
	values := [5]string{n, remaining, reset, n + ";w=60", `"default";r=` + remaining + ";t=" + reset}
	h["Ratelimit-Limit"], h["Ratelimit-Remaining"] = values[:1:1], values[1:2:2]
	h["Ratelimit-Reset"], h["Ratelimit-Policy"] = values[2:3:3], values[3:4:4]
	h["Ratelimit"] = values[4:]
	if a.Limit.Admitted {
		return nil
	}
	a.tally.RateLimited()
	a.door.limited.Add(1)
	wait := a.Limit.RetryAfter
	text := fmt.Sprintf("rate limit exceeded: this key may make %d requests a minute; retry after %d seconds", limit, wait)
	plan := a.Credential.Plan
	if a.Limit.Shared {
		text = fmt.Sprintf("rate limit exceeded: all keys of this workspace together may make %d requests a minute, %d for each of the %d that its plan allows; retry after %d seconds",
			workspace.Ceiling, limit, plan.MaxKeys(), wait)
	}
	if cost > 1 {
		text += fmt.Sprintf(", since this one counts as %d", cost)
	}
	return &sheaf.Error{Kind: sheaf.RateLimited, Code: sheaf.CodeRateLimited, RetryAfter: time.Duration(wait) * time.Second, Text: text}
}
