package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sheaf.dev/client"
)

// moment reads an optional time.
func moment(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, fmt.Errorf("%s %q is not an RFC 3339 time such as 2026-11-15T10:00:00Z: correct it", flag, text)
	}
	return t, nil
}

// pairs formats metadata as NAME=TEXT, separated by spaces.
func pairs(metadata map[string]string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(metadata)) {
		out = append(out, name+"="+metadata[name])
	}
	return strings.Join(out, " ")
}

// merge returns a change of metadata, in which an empty text removes its name. Without metadata it
// is no change.
func merge(metadata map[string]string) (out client.Opt[map[string]*string]) {
	if len(metadata) == 0 {
		return out
	}
	values := map[string]*string{}
	for name, text := range metadata {
		if values[name] = nil; text != "" {
			values[name] = &text
		}
	}
	return client.Set(values)
}
