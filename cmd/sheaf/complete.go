package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/config"
	"sheaf.dev/internal/icon"
	"sheaf.dev/internal/sheaf"
)

// Completion: the scripts of completion.go run complete-words to get the words that are possible at
// the cursor. It reads the words before the cursor as the parser would, and then prints commands,
// flags or values. The tag of an argument or a flag names its values: values:"a,b" lists them,
// complete:"kind" names a kind, which is a list of this program or the records of a server.

// suggestWithin bounds the time for reading names after a person has pressed the key. Tests set
// more, because their machine may be busy.
var suggestWithin = 2 * time.Second

// completeWords is the command that the shells run. It prints no errors, because a shell would
// write them into the person's line.
type completeWords struct {
	Line   *string  `help:"The line up to the cursor, as bash has it."`
	Breaks string   `help:"The characters at which bash takes words apart."`
	Words  []string `arg:"" optional:"" help:"The words after the program's name, the last being typed."`
}

// Run prints a line for each suggestion: the whole word, the number of its characters that bash
// treats as an earlier word, and a description.
func (c *completeWords) Run(ctx context.Context, p *program) error {
	if c.Line != nil {
		if c.Words = shellWords(*c.Line); len(c.Words) > 0 {
			c.Words = c.Words[1:]
		}
	}
	if len(c.Words) == 0 {
		c.Words = []string{""}
	}
	last := c.Words[len(c.Words)-1]
	taken := strings.LastIndexAny(last, strings.Trim(c.Breaks, " \t\n\"'")) + 1
	ctx, cancel := context.WithTimeout(ctx, suggestWithin)
	defer cancel()
	for _, s := range p.suggest(ctx, c.Words) {
		before := 0
		if strings.HasPrefix(s.Name, last[:taken]) {
			before = utf8.RuneCountInString(last[:taken])
		}
		if err := p.Print(fmt.Sprintf("%s\t%d\t%s\n", cli.OneLine(s.Name), before, cli.OneLine(s.ID))); err != nil {
			return err
		}
	}
	return nil
}

// shellWords splits a line into words as a shell does, without running anything. The last word may
// be empty, and its quotation may be unfinished.
func shellWords(line string) []string {
	var words []string
	var word strings.Builder
	var quote rune
	escaped, begun := false, false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, begun = true, true
		case r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, begun = r, true
		case r == ' ' || r == '\t':
			if begun {
				words = append(words, word.String())
				word.Reset()
			}
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	return append(words, word.String())
}

// cursor is the position in the grammar after some words.
type cursor struct {
	node       *kong.Node
	positional int               // the number of arguments of node so far
	flag       *kong.Flag        // the flag whose value comes next; nil for none
	flags      map[string]string // the flags so far, with their values
}

// suggest returns the words that may replace the last word.
func (p *program) suggest(ctx context.Context, words []string) (out []cli.Known) {
	last := words[len(words)-1]
	at := cursor{node: p.parser().Model.Node, flags: map[string]string{}}
	for _, w := range words[:len(words)-1] {
		at.advance(w)
	}
	name, value, assigned := strings.Cut(last, "=")
	switch {
	case at.flag != nil:
		return p.values(ctx, at, at.flag.Value, "", last)
	case assigned && strings.HasPrefix(last, "--"):
		if f := at.find(name); f != nil {
			return p.values(ctx, at, f.Value, name+"=", value)
		}
	case strings.HasPrefix(last, "-"):
		for _, group := range at.node.AllFlags(true) {
			for _, f := range group {
				if _, given := at.flags[f.Name]; given && !f.IsSlice() && !f.IsMap() {
					continue
				}
				if name := "--" + f.Name; strings.HasPrefix(name, last) {
					out = append(out, cli.Known{ID: f.Help, Name: name})
				}
			}
		}
		return out
	case at.positional < len(at.node.Positional):
		return p.values(ctx, at, at.node.Positional[at.positional], "", last)
	}
	for _, child := range at.node.Children {
		if child.Type == kong.CommandNode && !child.Hidden && strings.HasPrefix(child.Name, last) {
			out = append(out, cli.Known{ID: child.Help, Name: child.Name})
		}
	}
	return out
}

// advance moves the cursor past one word.
func (at *cursor) advance(word string) {
	if at.flag != nil {
		at.flags[at.flag.Name] = word
		at.flag = nil
		return
	}
	if strings.HasPrefix(word, "-") && word != "-" && word != "--" {
		name, value, assigned := strings.Cut(word, "=")
		f := at.find(name)
		if f == nil {
			return
		}
		at.flags[f.Name] = value
		if !assigned && !f.IsBool() && !f.IsCounter() {
			at.flag = f
		}
		return
	}
	for _, child := range at.node.Children {
		if child.Type == kong.CommandNode && child.Name == word && len(at.node.Positional) == 0 {
			at.node, at.positional = child, 0
			return
		}
	}
	if n := len(at.node.Positional); at.positional < n && !at.node.Positional[at.positional].IsCumulative() {
		at.positional++
	}
}

// find returns the flag with this spelling, such as --name or -n; nil if there is none.
func (at *cursor) find(written string) *kong.Flag {
	for _, group := range at.node.AllFlags(false) {
		for _, f := range group {
			if written == "--"+f.Name || f.Short != 0 && written == "-"+string(f.Short) {
				return f
			}
		}
	}
	return nil
}

// values returns the values of an argument or a flag that begin with `prefix`. `before` is the part
// of the word before the value. Of a list with commas, the last value is completed.
func (p *program) values(ctx context.Context, at cursor, v *kong.Value, before, prefix string) (out []cli.Known) {
	if i := strings.LastIndex(prefix, ","); i >= 0 && (v.IsSlice() || v.Tag.Has("list")) {
		before, prefix = before+prefix[:i+1], prefix[i+1:]
	}
	for _, k := range p.candidates(ctx, at, v, prefix) {
		if len(k.Name) >= len(prefix) && strings.EqualFold(k.Name[:len(prefix)], prefix) {
			out = append(out, cli.Known{ID: k.ID, Name: before + k.Name})
		}
	}
	return out
}

// candidates returns the known values of an argument or a flag. A server is asked only for records
// that match `prefix`.
func (p *program) candidates(ctx context.Context, at cursor, v *kong.Value, prefix string) []cli.Known {
	if v.Tag.Has("values") {
		return plain(strings.Split(v.Tag.Get("values"), ","))
	}
	if v.Enum != "" {
		return plain(v.EnumSlice())
	}
	switch kind := v.Tag.Get("complete"); kind {
	case "":
		return nil
	case "scopes":
		return plain(append([]string{"all"}, sheaf.AllScopes.Strings()...))
	case "events":
		var types []string
		for _, t := range sheaf.EventTypes {
			types = append(types, string(t))
		}
		return plain(types)
	case "icons":
		var out []cli.Known
		for _, i := range icon.All() {
			out = append(out, cli.Known{ID: i.Name, Name: i.ID})
		}
		return out
	case "workspaces":
		return p.suggestWorkspaces(ctx, at.flags)
	default:
		all, _ := p.Suggest(ctx, kind, prefix, at.flags)
		return unique(all)
	}
}

func plain(values []string) (out []cli.Known) {
	for _, v := range values {
		out = append(out, cli.Known{Name: v})
	}
	return out
}

// unique names each record by its name, or by its id if another record has the same name.
func unique(all []cli.Known) []cli.Known {
	out := slices.Clone(all)
	for i, k := range all {
		if slices.ContainsFunc(all, func(other cli.Known) bool { return other.ID != k.ID && strings.EqualFold(other.Name, k.Name) }) {
			out[i] = cli.Known{ID: k.Name, Name: k.ID}
		}
	}
	return out
}

// suggestWorkspaces reads the names of workspaces from the store that the flags name.
func (p *program) suggestWorkspaces(ctx context.Context, flags map[string]string) (out []cli.Known) {
	value := func(name string) *string {
		if v, ok := flags[name]; ok {
			return &v
		}
		return nil
	}
	opened := storeFlags{config.Store{Config: value("config"), Data: value("data"), DatabaseURL: value("database-url")}}
	_ = opened.operate(ctx, p, false, func(op app.Operator) error {
		all, err := op.Workspaces(ctx)
		for _, w := range all {
			out = append(out, cli.Known{ID: string(w.ID), Name: w.Name})
		}
		return err
	})
	return unique(out)
}
