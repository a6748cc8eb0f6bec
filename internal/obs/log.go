// Package obs is how the program is observed: its log and, on a listener of
// their own, its metrics. It decides nothing.
package obs

import (
	"context"
	"io"
	"log/slog"
)

// NewLog returns a log that writes lines of text, or of JSON, from that level
// upwards. Lines below a warning may wait for others, holdBack at most; flush
// writes what waits, and comes before the end of the program.
func NewLog(w io.Writer, json bool, level slog.Level) (log *slog.Logger, flush func()) {
	out := newLines(w)
	options := &slog.HandlerOptions{Level: level}
	h := &handler{out: out, requests: appendText, Handler: slog.NewTextHandler(out, options)}
	if json {
		h.requests, h.Handler = appendJSON, slog.NewJSONHandler(out, options)
	}
	return slog.New(h), out.Flush
}

// handler is slog's own, and knows a shorter way for the line of a request.
type handler struct {
	slog.Handler
	out      *lines
	requests func(b []byte, r *Request) []byte // nil: what was bound before has to stand in the line too
}

// Handle lets no warning wait: what comes next may be the end.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	err := h.Handler.Handle(ctx, r)
	if r.Level >= slog.LevelWarn {
		h.out.Flush()
	}
	return err
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{Handler: h.Handler.WithAttrs(attrs), out: h.out}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{Handler: h.Handler.WithGroup(name), out: h.out}
}
