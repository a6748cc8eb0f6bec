// Package obs is how the program is observed: its log and, on a listener of their own, its metrics.
// It decides nothing.
package obs

import (
	"bytes"
	"context"
	"io"
	"log/slog"
)

// NewLog returns a log that writes lines of text, or of JSON, from that level upwards. Lines below
// a warning may wait for others, holdBack at most.
func NewLog(out *Lines, json bool, level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	form := func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, options) }
	h := &handler{out: out, requests: appendText}
	if json {
		h.requests = appendJSON
		form = func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, options) }
	}
	h.Handler = form(out)
	out.droppedLine = func(lines int64) []byte {
		var b bytes.Buffer
		slog.New(form(&b)).Error("dropped lines of the log: nobody read it", "lines", lines)
		return b.Bytes()
	}
	return slog.New(h)
}

// handler is slog's own, and knows a shorter way for the line of a request.
type handler struct {
	slog.Handler
	out *Lines
	// requests encodes the line of a request. It is nil in a logger made by With, whose attributes
	// and groups have to stand in the line too: slog then writes it.
	requests func(b []byte, r *Request) []byte
}

// Handle lets no warning wait for other lines: what comes next may be the end.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	err := h.Handler.Handle(ctx, r)
	if r.Level >= slog.LevelWarn {
		h.out.flush(warnWithin)
	}
	return err
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{Handler: h.Handler.WithAttrs(attrs), out: h.out}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{Handler: h.Handler.WithGroup(name), out: h.out}
}
