package main

import (
	"os/exec"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest"
)

func TestCompletion_InBash(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		sheaftest.Unable(t, "there is no bash")
	}
	script := sheafCommand(t, "completion", "bash").succeeds(t)
	for line, want := range map[string]string{
		"sheaf pro":                       "projects profile",
		"sheaf projects ":                 "list get create update move delete --help",
		"sheaf projects list --fo":        "--folder",
		"sheaf webhooks rotate":           "rotate-secret",
		"sheaf projects get projects --j": "--json",
		"sheaf im":                        "import import-markdown",
		"sheaf import --dr":               "--dry-run",
		"sheaf export --w":                "--workspace",
		"sheaf serve --data":              "--data --database-url",
	} {
		words := strings.Split(line, " ")
		run := script + `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sheaf; echo "${COMPREPLY[@]}"`
		out, err := exec.Command(bash, append([]string{"-c", run, "bash"}, words...)...).CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", line, got, err, want)
		}
	}
	if got := sheafCommand(t, "completion", "fish"); got.code != exitUsage {
		t.Errorf("another shell: %+v", got)
	}
}
