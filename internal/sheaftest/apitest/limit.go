package apitest

import (
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Together calls send n times, all at once, and returns the answers.
func Together(n int, send func(i int) *Response) []*Response {
	out := make([]*Response, n)
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-begin
			out[i] = send(i)
		})
	}
	close(begin)
	wg.Wait()
	return out
}

// Statuses counts the answers by status.
func Statuses(rs []*Response) map[int]int {
	out := map[int]int{}
	for _, r := range rs {
		out[r.Status]++
	}
	return out
}

// WantLimit checks the rate limit headers, which every answer has.
func (r *Response) WantLimit(t testing.TB, limit, remaining int) {
	t.Helper()
	h := r.Header
	if h.Get("RateLimit-Limit") != strconv.Itoa(limit) || h.Get("RateLimit-Remaining") != strconv.Itoa(remaining) ||
		h.Get("RateLimit-Policy") != fmt.Sprintf("%d;w=60", limit) ||
		h.Get("RateLimit") != fmt.Sprintf(`"default";r=%d;t=%s`, remaining, h.Get("RateLimit-Reset")) || (h.Get("RateLimit-Reset") == "0") != (remaining > 0) {
		t.Fatalf("limit %q, remaining %q, reset %q, policy %q, together %q; want %d of %d", h.Get("RateLimit-Limit"), h.Get("RateLimit-Remaining"),
			h.Get("RateLimit-Reset"), h.Get("RateLimit-Policy"), h.Get("RateLimit"), remaining, limit)
	}
}

// WantLimited checks a 429 of the rate limit, and returns its Retry-After.
func (r *Response) WantLimited(t testing.TB, limit int) time.Duration {
	t.Helper()
	after := r.Header.Get("Retry-After")
	r.WantError(t, 429, "RATE_LIMITED", " "+after+" seconds", strconv.Itoa(limit))
	r.WantLimit(t, limit, 0)
	n, err := strconv.Atoi(after)
	if err != nil || n < 1 || r.Header.Get("RateLimit-Reset") != after {
		t.Fatalf("Retry-After %q, RateLimit-Reset %q", after, r.Header.Get("RateLimit-Reset"))
	}
	return time.Duration(n) * time.Second
}
