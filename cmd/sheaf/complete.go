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

// Completion: the scripts of completion.go ask complete-words what may stand where the cursor is. It
// reads the words as the parser would, one after the other, and then answers with commands, flags or
// values. The tag of an argument or a flag says which values: values:"a,b" has them all, complete:"kind"
// names a kind, which is a list of this program or the records of a server.

// suggestWithin is how long somebody waits for names who has pressed a key.
// Tests, whose machine may be busy, have more.
var suggestWithin = 2 * time.Second

// completeWords is what the shells ask. It fails without a word: a shell would write that into
// somebody's line.
type completeWords struct {
	Line   *string  `help:"The line up to the cursor, as bash has it."`
	Breaks string   `help:"The characters at which bash takes words apart."`
	Words  []string `arg:"" optional:"" help:"The words after the program's name, the last being typed."`
}

// Run prints a line for each suggestion: the whole of it, how many characters of it bash has already
// taken for another word, and what it is.
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

// shellWords takes a line apart as a shell does, without running anything in it. The last word may
// be empty, and may lack the end of its quotation.
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

// cursor is where in the grammar the words lead.
type cursor struct {
	node       *kong.Node
	positional int               // how many arguments of node are there
	flag       *kong.Flag        // whose value comes next; nil: none
	given      map[string]string // the flags before, with their values
}

// suggest returns what may stand in place of the last word.
func (p *program) suggest(ctx context.Context, words []string) []cli.Known {
	last := words[len(words)-1]
	at := cursor{node: p.parser().Model.Node, given: map[string]string{}}
	for _, w := range words[:len(words)-1] {
		at.pass(w)
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
		return at.flags(last)
	case at.positional < len(at.node.Positional):
		return p.values(ctx, at, at.node.Positional[at.positional], "", last)
	}
	return at.commands(last)
}

// pass goes on by one word.
func (at *cursor) pass(word string) {
	if at.flag != nil {
		at.given[at.flag.Name] = word
		at.flag = nil
		return
	}
	if strings.HasPrefix(word, "-") && word != "-" && word != "--" {
		name, value, assigned := strings.Cut(word, "=")
		f := at.find(name)
		if f == nil {
			return
		}
		at.given[f.Name] = value
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

// find returns the flag that is written so, or nil.
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

// flags are those of the command that were not given yet, or can be given again.
func (at *cursor) flags(begin string) (out []cli.Known) {
	for _, group := range at.node.AllFlags(true) {
		for _, f := range group {
			if _, given := at.given[f.Name]; given && !f.IsSlice() && !f.IsMap() {
				continue
			}
			if name := "--" + f.Name; strings.HasPrefix(name, begin) {
				out = append(out, cli.Known{ID: f.Help, Name: name})
			}
		}
	}
	return out
}

func (at *cursor) commands(begin string) (out []cli.Known) {
	for _, child := range at.node.Children {
		if child.Type == kong.CommandNode && !child.Hidden && strings.HasPrefix(child.Name, begin) {
			out = append(out, cli.Known{ID: child.Help, Name: child.Name})
		}
	}
	return out
}

// values are what an argument or a flag may be. before is the part of the word that is no value; of
// several values with commas between them the last is completed.
func (p *program) values(ctx context.Context, at cursor, v *kong.Value, before, begin string) (out []cli.Known) {
	if i := strings.LastIndex(begin, ","); i >= 0 && (v.IsSlice() || v.Tag.Has("list")) {
		before, begin = before+begin[:i+1], begin[i+1:]
	}
	for _, k := range p.candidates(ctx, at, v, begin) {
		if len(k.Name) >= len(begin) && strings.EqualFold(k.Name[:len(begin)], begin) {
			out = append(out, cli.Known{ID: k.ID, Name: before + k.Name})
		}
	}
	return out
}

// candidates are all values that are known of.
func (p *program) candidates(ctx context.Context, at cursor, v *kong.Value, begin string) []cli.Known {
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
		return p.suggestWorkspaces(ctx, at.given)
	default:
		all, _ := p.Suggest(ctx, kind, begin, at.given["server"], at.given["api-key"])
		return unique(all)
	}
}

func plain(values []string) (out []cli.Known) {
	for _, v := range values {
		out = append(out, cli.Known{Name: v})
	}
	return out
}

// unique has each record by its name, and by its id where another has the same name.
func unique(all []cli.Known) []cli.Known {
	out := slices.Clone(all)
	for i, k := range all {
		if slices.ContainsFunc(all, func(other cli.Known) bool { return other.ID != k.ID && strings.EqualFold(other.Name, k.Name) }) {
			out[i] = cli.Known{ID: k.Name, Name: k.ID}
		}
	}
	return out
}

// suggestWorkspaces reads the names from the store that the flags before name.
func (p *program) suggestWorkspaces(ctx context.Context, given map[string]string) (out []cli.Known) {
	flags := storeFlags{config.Store{Config: flagGiven(given, "config"), Data: flagGiven(given, "data"), DatabaseURL: flagGiven(given, "database-url")}}
	_ = flags.operate(ctx, p, false, func(op app.Operator) error {
		all, err := op.Workspaces(ctx)
		for _, w := range all {
			out = append(out, cli.Known{ID: string(w.ID), Name: w.Name})
		}
		return err
	})
	return unique(out)
}

func flagGiven(given map[string]string, name string) *string {
	if v, ok := given[name]; ok {
		return &v
	}
	return nil
}
