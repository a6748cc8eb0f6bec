package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/pgtest"
)

type finding struct {
	Check       string
	WorkspaceID *string `json:"workspace_id"`
	Text        string
	Information bool
}

// One line for each violation, exit 1; as JSON one array and nothing else.
func TestDoctor_BesideAServer(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	start(t, "--data", data)
	if got := sheafCommand(t, "doctor", "--data", data).succeeds(t); got != "no violation was found\n" {
		t.Errorf("got %q", got)
	}
	if got := sheafCommand(t, "doctor", "--data", data, "--json").succeeds(t); got != "[]\n" {
		t.Errorf("got %q", got)
	}
	alter(t, data, "UPDATE workspaces SET projects = 7, documents = 1")
	r := sheafCommand(t, "doctor", "--data", data)
	if r.code != 1 || strings.Count(r.stdout, "\n") != 2 || !strings.Contains(r.stdout, "violation: count in workspace ") || r.stderr != "sheaf: violations found: 2\n" {
		t.Errorf("got %+v", r)
	}
	r = sheafCommand(t, "doctor", "--data", data, "--json")
	told := decoded[[]finding](t, r.stdout)
	if r.code != 1 || len(told) != 2 || told[0].Check != "count" || told[0].WorkspaceID == nil || told[0].Information {
		t.Errorf("ended with %d and told %+v", r.code, told)
	}
}

func TestDoctor_MoreThanThePlanIsNoFailure(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := start(t, "--data", data)
	s.stop(t)
	alter(t, data, "UPDATE workspaces SET plan = 'free'")
	got := sheafCommand(t, "doctor", "--data", data).succeeds(t)
	if !strings.HasPrefix(got, "information: beyond plan in workspace ") || !strings.HasSuffix(got, "no violation was found\n") {
		t.Errorf("got %q", got)
	}
}

// It makes and migrates nothing.
func TestDoctor_ChangesNothing(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "none")
	sheafCommand(t, "doctor", "--data", data).fails(t, "--data")
	if _, err := os.Stat(data); !os.IsNotExist(err) {
		t.Errorf("it left something behind: %v", err)
	}
	sheafCommand(t, "doctor", "--database-url", pgtest.URL(t)).fails(t, "run sheaf migrate")
}

func TestDoctor_NeedsTheMasterKeyForSecretsAlone(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	start(t, "--data", data).stop(t)
	r := sheafCommand(t, "doctor", "--data", data, "--master-key", "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if r.code != 1 || !strings.HasPrefix(r.stdout, "violation: master key: --master-key is another key") {
		t.Errorf("with another key: %+v", r)
	}
	if err := os.Remove(filepath.Join(data, masterKeyFile)); err != nil {
		t.Fatal(err)
	}
	if got := sheafCommand(t, "doctor", "--data", data).succeeds(t); !strings.Contains(got, "information: master key: ") {
		t.Errorf("without a key: %q", got)
	}
}

func TestServe_ChecksTheStoredDataOnATimer(t *testing.T) {
	t.Parallel()
	data, addr := t.TempDir(), freeAddress(t)
	s := start(t, "--data", data, "--metrics-addr", addr, "--doctor-every", "1s")
	shows := func(pattern string) {
		t.Helper()
		line := regexp.MustCompile("(?m)^" + pattern + "$")
		sheaftest.Eventually(t, "the metrics show "+pattern, func() bool { return line.MatchString(body(t, "http://"+addr+"/metrics")) })
	}
	shows(`sheaf_doctor_violations 0`)
	shows(`sheaf_doctor_last_run_timestamp_seconds [0-9.e+]+`)
	shows(`sheaf_doctor_duration_seconds [0-9.e-]+`)
	alter(t, data, "UPDATE workspaces SET projects = 7")
	shows(`sheaf_doctor_violations 1`)
	if log := s.stderr.String(); !strings.Contains(log, "found a violation in the stored data") {
		t.Errorf("the log lacks the violation: %s", log)
	}
}
