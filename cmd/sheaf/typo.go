package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/config"
)

// explain prints one line with the typing error, the probable word, and the usage of the command.
// If the command is incomplete, it prints the possible subcommands instead.
func (p *program) explain(parser *kong.Kong, err error) int {
	var parse *kong.ParseError
	if !errors.As(err, &parse) {
		fmt.Fprintln(p.Stderr, "sheaf: "+cli.OneLine(err.Error()))
		return exitUsage
	}
	node := parse.Context.Selected()
	if node == nil {
		node = parser.Model.Node
	}
	if !node.Leaf() && parse.Context.Error == nil {
		parser.Stdout = p.Stderr
		_ = parse.Context.PrintUsage(false)
		return exitUsage
	}
	path, usage := "sheaf "+strings.TrimSpace(node.Path()), "sheaf "+strings.TrimSpace(node.Summary())
	fmt.Fprintf(p.Stderr, "sheaf: %s Usage: %s; %s --help says more\n", mistake(node, cli.OneLine(err.Error())), strings.TrimSpace(usage), strings.TrimSpace(path))
	return exitUsage
}

// mistake returns what is wrong, and the command or flag with the nearest spelling.
func mistake(n *kong.Node, wrong string) string {
	wrong, _, _ = strings.Cut(wrong, ", did you mean")
	var known []string
	what, word := "", ""
	if rest, ok := strings.CutPrefix(wrong, "unexpected argument "); ok && !n.Leaf() {
		what, word = "unknown command ", rest
		for _, child := range n.Children {
			if !child.Hidden {
				known = append(known, child.Name)
			}
		}
	} else if rest, ok := strings.CutPrefix(wrong, "unknown flag "); ok {
		what, word = "unknown flag ", rest
		for _, group := range n.AllFlags(true) {
			for _, f := range group {
				known = append(known, "--"+f.Name)
			}
		}
	}
	if meant := config.Nearest(word, known); meant != "" {
		return what + word + ": did you mean " + meant + "?"
	}
	if what != "" {
		wrong = what + word
	}
	return strings.TrimRight(wrong, ".") + "."
}
