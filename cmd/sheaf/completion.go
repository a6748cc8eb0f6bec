package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash" help:"bash."`
}

// Run prints a script that is made of the commands themselves, so that it knows them all.
func (c *completionCommand) Run(p *program) error {
	var paths, words strings.Builder
	describe(p.parser().Model.Node, "", &paths, &words)
	return p.Print(fmt.Sprintf(bashCompletion, paths.String(), words.String()))
}

// describe writes the patterns of the commands, and what may follow each.
func describe(n *kong.Node, path string, paths, words *strings.Builder) {
	var next []string
	for _, child := range n.Children {
		if child.Type != kong.CommandNode || child.Hidden {
			continue
		}
		next = append(next, child.Name)
		fmt.Fprintf(paths, "\t\t'%s %s') path=\"$path $word\" ;;\n", path, child.Name)
		describe(child, path+" "+child.Name, paths, words)
	}
	for _, group := range n.AllFlags(true) {
		for _, f := range group {
			next = append(next, "--"+f.Name)
		}
	}
	fmt.Fprintf(words, "\t'%s') words='%s' ;;\n", path, strings.Join(next, " "))
}

const bashCompletion = `# bash completion for sheaf. Use it with: source <(sheaf completion bash)
_sheaf() {
	local cur=${COMP_WORDS[COMP_CWORD]} path='' words='' word
	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		case "$path $word" in
%s		esac
	done
	case "$path" in
%s	esac
	COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _sheaf sheaf
`
