// Package obs is how the program is observed: its log and, on a listener of
// their own, its metrics. It decides nothing.
package obs

import (
	"io"
	"log/slog"
)

// NewLog returns a log that writes lines of text, or of JSON, from that level
// upwards.
func NewLog(w io.Writer, json bool, level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if json {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
