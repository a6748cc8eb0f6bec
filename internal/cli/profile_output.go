package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"sheaf.dev/client"
	"sheaf.dev/internal/sheaf"
)

// one prints the record as the server sent it with --json, otherwise what text returns.
func (o Output) one(p *Program, raw []byte, text func() string) error {
	return o.show(p, func() []byte { return raw }, text)
}

// ask makes one call and prints its record.
func ask[T any](c *apiCommand, ctx context.Context, p *Program, call func(context.Context, *client.Client) (T, error), text func(T) string) error {
	return c.call(ctx, p, func(ctx context.Context, api *client.Client) error {
		v, err := call(ctx, api)
		if err != nil {
			return err
		}
		return c.one(p, rawOf(&v), func() string { return text(v) })
	})
}

// askAll reads at most `limit` records (0: all) from an iterator, and prints them as one JSON array
// or a table.
func askAll[T any](c *apiCommand, ctx context.Context, p *Program, limit int, seq func(context.Context, *client.Client) iter.Seq2[T, error], head string, row func(T) []any) error {
	return c.call(ctx, p, func(ctx context.Context, api *client.Client) error {
		items, err := gather(seq(ctx, api), limit)
		if err != nil {
			return err
		}
		if c.JSON {
			parts := make([]string, len(items))
			for i := range items {
				parts[i] = string(rawOf(&items[i]))
			}
			return p.Print("[" + strings.Join(parts, ",") + "]\n")
		}
		return p.Print(Table(head, func(add func(...any)) {
			for _, v := range items {
				add(row(v)...)
			}
		}))
	})
}

func gather[T any](seq iter.Seq2[T, error], limit int) ([]T, error) {
	var out []T
	for v, err := range seq {
		if err != nil {
			return nil, err
		}
		if out = append(out, v); len(out) == limit {
			break
		}
	}
	return out, nil
}

// rawOf returns the record as the server sent it.
func rawOf(v any) []byte {
	if r, ok := v.(interface{ Raw() json.RawMessage }); ok && len(r.Raw()) > 0 {
		return r.Raw()
	}
	return asJSON(v)
}

func asJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // values of our own
	return bytes.TrimSpace(b.Bytes())
}

// deleteRecord makes a deletion and prints it. It reads the id after the call, which replaces a
// name by its id.
func (c *apiCommand) deleteRecord(ctx context.Context, p *Program, noun string, id *string, act func(context.Context, *client.Client) error) error {
	return c.call(ctx, p, func(ctx context.Context, api *client.Client) error {
		if err := act(ctx, api); err != nil {
			return err
		}
		return c.one(p, asJSON(map[string]any{"id": *id, "deleted": true}), func() string { return fmt.Sprintf("deleted %s %s\n", noun, OneLine(*id)) })
	})
}

// facts returns names and values as aligned lines. It leaves out empty values.
func facts(pairs ...string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", pairs[i], OneLine(pairs[i+1]))
		}
	}
	w.Flush()
	return b.String()
}

// or returns *s, or `none` if s is nil.
func or(s *string, none string) string {
	if s == nil {
		return none
	}
	return *s
}

func code(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}

// stamp formats a time in UTC, to the second.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

func stampOr(t *time.Time, none string) string {
	if t == nil {
		return none
	}
	return stamp(*t)
}

// change turns a flag into a field of a change: nil is no change, and an empty text is null.
func change(flag *string) client.Opt[string] {
	switch {
	case flag == nil:
		return client.Opt[string]{}
	case *flag == "":
		return client.Null[string]()
	}
	return client.Set(*flag)
}

func changeTo[T any](flag *T) client.Opt[T] {
	if flag == nil {
		return client.Opt[T]{}
	}
	return client.Set(*flag)
}

// isRoot reports whether the id is a word for the root level, or for no project.
func isRoot(id string) bool { return id == "root" || id == "none" || id == client.None }

// place returns the value of a filter: the id, or None for the root level.
func place(id string) string {
	if isRoot(id) {
		return client.None
	}
	return id
}

// target returns the id to move a record to; empty for the root level.
func target(id string) string {
	if isRoot(id) {
		return ""
	}
	return id
}

// pages are the flags of a list.
type pages struct {
	Limit int  `placeholder:"N" help:"Show at most N; all without it."`
	Desc  bool `help:"Reverse the order."`
}

// paging returns the page size and the order. A page is not larger than the limit.
func (f pages) paging() client.Paging {
	p := client.Paging{Desc: f.Desc}
	if f.Limit > 0 && f.Limit < 100 {
		p.Limit = f.Limit
	}
	return p
}

// moment reads a time, or a duration before now.
func (p *Program) moment(flag, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return p.Now().Add(-d), nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, sheaf.Invalidf("%s: %q is not a time: write 2026-11-15T10:00:00Z, or how long ago, for example 2h", flag, sheaf.Clip(s))
	}
	return t, nil
}
