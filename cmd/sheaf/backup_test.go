package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/sheaftest/s3test"
)

// bucketEnv returns an environment with a new bucket.
func bucketEnv(t *testing.T) environment {
	t.Helper()
	bucket, e := s3test.Start(t), environment{}
	e["SHEAF_MEDIA_URL"] = bucket.URL()
	for _, line := range bucket.Env() {
		name, value, _ := strings.Cut(line, "=")
		e[name] = value
	}
	return e
}

// with returns the environment with further variables.
func (e environment) with(more ...string) environment {
	out := environment{}
	for name, value := range e {
		out[name] = value
	}
	for i := 0; i < len(more); i += 2 {
		out[more[i]] = more[i+1]
	}
	return out
}

// folderWithKey returns a new data folder with the master key of another.
func folderWithKey(t *testing.T, from string) string {
	t.Helper()
	to := t.TempDir()
	key, err := os.ReadFile(filepath.Join(from, masterKeyFile))
	if err == nil {
		err = os.WriteFile(filepath.Join(to, masterKeyFile), key, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// D104: while a server is running, from a folder to a bucket and back, with media and without.
func TestBackup_OnTheCommandLineWithMedia(t *testing.T) {
	t.Parallel()
	data, files := t.TempDir(), t.TempDir()
	s := start(t, "--data", data)
	api := environment{"SHEAF_SERVER": s.url, "SHEAF_API_KEY": s.stdout.wait(t, `(shf_\w+)`, s.ended), "HOME": t.TempDir()}
	notes := filepath.Join(files, "notes.txt")
	if err := os.WriteFile(notes, []byte("some words"), 0o600); err != nil {
		t.Fatal(err)
	}
	medium := decoded[map[string]any](t, sheafWith(t, api, "", "media", "upload", notes, "--json").succeeds(t))["id"].(string)
	whole, bare := filepath.Join(files, "whole"), filepath.Join(files, "bare")
	if got := sheafCommand(t, "backup", whole, "--data", data).succeeds(t); !strings.Contains(got, " and 1 media of 10 bytes are in ") {
		t.Errorf("got %q", got)
	}
	sheafCommand(t, "backup", bare, "--data", data, "--without-media").succeeds(t)

	// Into a bucket, with PostgreSQL, and back.
	env := bucketEnv(t)
	node := folderWithKey(t, data)
	database := env.with("SHEAF_DATABASE_URL", pgtest.URL(t))
	without := environment{"SHEAF_DATABASE_URL": database["SHEAF_DATABASE_URL"]}
	sheafWith(t, without, "", "restore", whole, "--data", node).fails(t, "bytes of 1 media", "--media-url", "--without-media")
	if got := sheafWith(t, database, "", "restore", whole, "--data", node).succeeds(t); !strings.Contains(got, "and 1 media were restored") {
		t.Errorf("got %q", got)
	}
	sheafWith(t, database, "", "doctor", "--data", node).succeeds(t)
	sheafWith(t, without, "", "backup", filepath.Join(files, "no"), "--data", node).fails(t, "--media-url", "--without-media")
	again := filepath.Join(files, "again")
	sheafWith(t, database, "", "backup", again, "--data", node).succeeds(t)
	home := folderWithKey(t, data)
	sheafCommand(t, "restore", again, "--data", home).succeeds(t)
	sheafCommand(t, "doctor", "--data", home).succeeds(t)
	restored := start(t, "--data", home)
	api["SHEAF_SERVER"] = restored.url
	if got := sheafWith(t, api, "", "media", "download", medium, "-").succeeds(t); got != "some words" {
		t.Errorf("the copy of the copy has %q", got)
	}

	// Only the rows: the doctor reports the missing bytes, and nothing after they are copied back.
	rows := folderWithKey(t, data)
	if got := sheafCommand(t, "restore", bare, "--data", rows).succeeds(t); !strings.Contains(got, "The bytes of media were not: copy them") {
		t.Errorf("got %q", got)
	}
	if r := sheafCommand(t, "doctor", "--data", rows); r.code != 1 || !strings.Contains(r.stdout, "has no bytes") {
		t.Errorf("got %+v", r)
	}
	r := sheafCommand(t, "backup", filepath.Join(files, "lacking"), "--data", rows, "--json")
	if report := decoded[map[string]any](t, r.stdout); r.code != 1 || report["media_lost"] != float64(1) || !strings.Contains(r.stderr, medium) {
		t.Errorf("got %+v", r)
	}
	if err := os.CopyFS(filepath.Join(rows, mediaFolder), os.DirFS(filepath.Join(data, mediaFolder))); err != nil {
		t.Fatal(err)
	}
	sheafCommand(t, "doctor", "--data", rows).succeeds(t)

	// A restore into a store that is not empty leaves nothing behind.
	sheafCommand(t, "restore", whole, "--data", rows).fails(t, "not empty")
}
