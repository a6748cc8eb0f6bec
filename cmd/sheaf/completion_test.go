package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest"
)

// installed links the test binary as sheaf into a folder, and returns an environment in which
// shells find the program, its server and its store.
func installed(t *testing.T, r *remote, data string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "sheaf")); err != nil {
		t.Fatal(err)
	}
	env := []string{asProgram + "=1", "PATH=" + bin + ":" + os.Getenv("PATH"), "SHEAF_DATA=" + data, "TERM=dumb"}
	for name, value := range r.env {
		env = append(env, name+"="+value)
	}
	return env
}

// completions returns the suggestions for a line.
var completions = map[string][]string{
	"sheaf pro":                             {"projects", "proposals", "profile"},
	"sheaf projects ":                       {"list", "get", "create", "update", "move", "delete"},
	"sheaf projects list --fo":              {"--folder"},
	"sheaf webhooks rotate":                 {"rotate-secret"},
	"sheaf projects get projects --j":       {"--json"},
	"sheaf projects get --json projects --": {"--help", "--server", "--api-key"},
	"sheaf im":                              {"import", "import-markdown"},
	"sheaf import --dr":                     {"--dry-run"},
	"sheaf export --wo":                     {"--workspace"},
	"sheaf serve --data":                    {"--data", "--database-url", "--database-direct-url"},
	"sheaf workspace create --plan ":        {"free", "pro", "business"},
	"sheaf workspace set-plan x b":          {"business"},
	"sheaf completion ":                     {"bash", "zsh", "fish"},
	"sheaf search x --type pro":             {"project"},
	"sheaf webhooks create a b --events project.created,folder.d": {"project.created,folder.deleted"},
	"sheaf projects create x --icon book-o":                       {"book-open"},
	"sheaf projects get My":                                       {"My handbook"},
	"sheaf projects move x Pro":                                   {"Products"},
	"sheaf documents list --project no":                           {"Notes: 1"},
	"sheaf key list --workspace Ac":                               {"Acme"},
	"sheaf complete-w":                                            nil,
}

// The suggestions of the program, which each script uses. The names come from the server and from
// the store.
func TestCompleteWords_KnowCommandsFlagsAndValues(t *testing.T) {
	t.Parallel()
	r, data := withNames(t)
	r.env["SHEAF_DATA"] = data
	for line, want := range completions {
		words := append([]string{"complete-words", "--"}, strings.Split(line, " ")[1:]...)
		if got := firstFields(r.do(t, words...)); strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	// If the server does not answer, nothing is printed.
	r.env["SHEAF_SERVER"] = "http://127.0.0.1:1"
	if got := r.do(t, "complete-words", "--", "projects", "get", ""); got != "" {
		t.Errorf("without a server: %q", got)
	}
}

// withNames returns a server with some records, and a store with a workspace.
func withNames(t *testing.T) (r *remote, data string) {
	t.Helper()
	r = newRemote(t)
	r.id(t, "folders", "create", "Products")
	r.id(t, "projects", "create", "My handbook")
	r.id(t, "projects", "create", "Notes: 1")
	data = filepath.Join(t.TempDir(), "data")
	createWorkspace(t, []string{"--data", data}, "pro")
	return r, data
}

func firstFields(text string) (out []string) {
	for line := range strings.Lines(text) {
		first, _, _ := strings.Cut(line, "\t")
		out = append(out, first)
	}
	return out
}

func TestCompletion_InBash(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		sheaftest.Unable(t, "there is no bash")
	}
	r, data := withNames(t)
	env := installed(t, r, data)
	// Bash splits a line at colons and equals signs too.
	const press = `source <(sheaf completion bash)
COMP_LINE=$1; COMP_POINT=${#1}; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_sheaf; printf '%s\n' "${COMPREPLY[@]}"`
	for _, c := range []struct {
		line  string
		words []string
		want  string
	}{
		{"sheaf pro", []string{"sheaf", "pro"}, "projects\nproposals\nprofile"},
		{"sheaf projects get My", []string{"sheaf", "projects", "get", "My"}, `My\ handbook`},
		{`sheaf projects get My\ h`, []string{"sheaf", "projects", "get", `My\ h`}, `My\ handbook`},
		{`sheaf projects get "My h`, []string{"sheaf", "projects", "get", `"My h`}, `My handbook`},
		{"sheaf projects get Notes:", []string{"sheaf", "projects", "get", "Notes", ":"}, `\ 1`},
		{"sheaf key create --scopes projects:r", []string{"sheaf", "key", "create", "--scopes", "projects", ":", "r"}, "read"},
		{"sheaf key create --scopes=all,doc", []string{"sheaf", "key", "create", "--scopes", "=", "all,doc"}, "all\\,documents:read\nall\\,documents:write"},
		{"sheaf key list --workspace ", []string{"sheaf", "key", "list", "--workspace", ""}, "Acme"},
		{"sheaf backup ", []string{"sheaf", "backup", ""}, "write\nverify\nlist"},
		{"sheaf backup night", []string{"sheaf", "backup", "night"}, ""},
		{"sheaf restore ", []string{"sheaf", "restore", ""}, ""},
	} {
		shell := exec.Command(bash, append([]string{"-c", press, "bash", c.line}, c.words...)...)
		shell.Env = env
		out, err := shell.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != strings.TrimSpace(c.want) {
			t.Errorf("%q: %q, %v, want %q", c.line, got, err, c.want)
		}
	}
}

// A real fish completes a line.
func TestCompletion_InFish(t *testing.T) {
	t.Parallel()
	fish, err := exec.LookPath("fish")
	if err != nil {
		sheaftest.Unable(t, "there is no fish")
	}
	r, data := withNames(t)
	shell := exec.Command(fish, "--no-config", "-c", `sheaf completion fish | source
for line in 'sheaf pro' 'sheaf workspace create --plan ' 'sheaf projects get M'; complete --do-complete $line; end`)
	shell.Env = installed(t, r, data)
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got, want := strings.Join(firstFields(string(out)), "|"), "profile|projects|proposals|business|free|pro|My handbook"; strings.TrimSpace(strings.ReplaceAll(got, "\n", "")) != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A real zsh completes a line, on a terminal of its module zpty.
func TestCompletion_InZsh(t *testing.T) {
	t.Parallel()
	zsh, err := exec.LookPath("zsh")
	if err != nil {
		sheaftest.Unable(t, "there is no zsh")
	}
	r, data := withNames(t)
	shell := exec.Command(zsh, "-f", "-c", `zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; autoload -Uz compinit; compinit -u -D; source <(sheaf completion zsh); print READ''Y"
zpty -r shell said '*READY*'
zpty -w -n shell $'sheaf projects get My\t'
zpty -r shell said '*handbook*'
print -r -- "${said##*READY}"
zpty -d shell`)
	shell.Env = installed(t, r, data)
	out, err := shell.CombinedOutput()
	if err != nil || !strings.Contains(string(out), `My\ handbook`) {
		t.Errorf("%v: %q", err, out)
	}
}
