package main

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run prints a script that runs this program whenever the person presses the key. So the script is
// never out of date, and completes the names of records too.
func (c *completionCommand) Run(p *program) error {
	return p.Print(map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[c.Shell])
}

// The bash script passes the line up to the cursor, because bash splits words at colons and equals
// signs, which scopes and flags contain. A suggestion then begins after the last of these. A name
// with a space is quoted, unless the person has typed a quotation mark before it.
const bashCompletion = `# bash completion for sheaf. Use it with: source <(sheaf completion bash)
_sheaf() {
	local cur value taken
	cur=${COMP_WORDS[COMP_CWORD]}
	COMPREPLY=()
	while IFS=$'\t' read -r value taken _; do
		case $cur in
		[\"\']*) COMPREPLY+=("$value") ;;
		*) COMPREPLY+=("$(printf %q "${value:taken}")") ;;
		esac
	done < <("${COMP_WORDS[0]}" complete-words --line "${COMP_LINE:0:COMP_POINT}" --breaks "$COMP_WORDBREAKS" 2>/dev/null)
}
complete -o default -F _sheaf sheaf
`

const zshCompletion = `#compdef sheaf
# zsh completion for sheaf. Use it with: source <(sheaf completion zsh)
# or write it into a file _sheaf in a folder of $fpath.
_sheaf() {
	local -a values shown
	local value taken about
	while IFS=$'\t' read -r value taken about; do
		values+=("$value")
		shown+=("$value${about:+  -- $about}")
	done < <("${words[1]}" complete-words -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)
	if (( ${#values} )); then
		compadd -l -d shown -a values
	else
		_files
	fi
}
if [[ $funcstack[1] = _sheaf ]]; then
	_sheaf "$@"
else
	compdef _sheaf sheaf
fi
`

const fishCompletion = `# fish completion for sheaf. Use it with: sheaf completion fish | source
function __sheaf_complete
	set -l words (commandline -opc) (commandline -ct)
	set -l found ($words[1] complete-words -- $words[2..] 2>/dev/null)
	if test (count $found) -gt 0
		string replace -r '\t\d+\t' '\t' -- $found
	else
		__fish_complete_path (commandline -ct)
	end
end
complete -c sheaf -f -a '(__sheaf_complete)'
`
