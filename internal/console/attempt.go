package console

import (
	"time"

	"sheaf.dev/internal/sheaf"
)

// attemptView is an attempt whose phases are drawn as a bar.
type attemptView struct {
	sheaf.Attempt
	Phases []phase
	Body   string // of the answer
}

// OK reports whether the attempt succeeded. Templates have a value, and sheaf's method needs a
// pointer.
func (a attemptView) OK() bool { return a.Attempt.OK() }

// phase is a part of the bar, in thousandths of the longest attempt.
type phase struct {
	Name  string
	Class string
	From  int64
	Width int64
	Took  string
}

// viewAttempt draws an attempt on a scale of the duration `longest`.
func viewAttempt(a sheaf.Attempt, longest time.Duration) attemptView {
	out := attemptView{Attempt: a, Body: pretty([]byte(a.ResponseBody))}
	at := int64(0)
	for _, p := range []struct {
		name, class string
		took        time.Duration
	}{
		{"name", "dns", a.Timings.DNS}, {"connection", "connect", a.Timings.Connect}, {"TLS", "tls", a.Timings.TLS},
		{"waiting", "wait", a.Timings.FirstByte}, {"response", "body", a.Timings.Body},
	} {
		if p.took <= 0 {
			continue
		}
		width := max(int64(p.took)*1000/max(int64(longest), 1), 3)
		out.Phases = append(out.Phases, phase{p.name, p.class, at, width, millis(p.took)})
		at += width
	}
	return out
}
