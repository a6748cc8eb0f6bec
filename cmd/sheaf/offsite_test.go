package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"filippo.io/age"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/sheaftest/s3test"
)

// backupBucket returns a server, the environment with which the program reaches it, a private key's file and its public key.
func backupBucket(t *testing.T) (server *s3test.Server, e environment, identity, recipient string) {
	t.Helper()
	server, e = s3test.Start(t), environment{}
	for _, line := range server.Env() {
		name, value, _ := strings.Cut(line, "=")
		e["BACKUP_"+name] = value
	}
	e["AWS_ACCESS_KEY_ID"], e["AWS_SECRET_ACCESS_KEY"] = "of another bucket", "canary" // not used for backups
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	identity = filepath.Join(t.TempDir(), "key.txt")
	if err := os.WriteFile(identity, []byte("# a comment\n"+key.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return server, e, identity, key.Recipient().String()
}

// metric returns the value of a metric without labels.
func metric(t *testing.T, addr, name string) float64 {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(body(t, "http://"+addr+"/metrics"))
	if found == nil {
		t.Fatalf("there is no metric %s", name)
	}
	v, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// D209: while its bucket is down, a server answers as always and its metric rises. When the bucket is back, it makes its backup,
// which is verified and restored into the other engine, with its media.
func TestServe_MakesBackupsIntoABucket(t *testing.T) {
	t.Parallel()
	server, e, identity, recipient := backupBucket(t)
	server.Stop()
	data, addr := t.TempDir(), freeAddress(t)
	bucket := server.URL() + "/a/prefix"
	s := startWith(t, e, "--data", data, "--metrics-addr", addr, "--backup-to", bucket, "--backup-recipient", recipient)
	sheaftest.Eventually(t, "the failure is counted", func() bool { return metric(t, addr, "sheaf_backup_failures_total") >= 1 })
	before := metric(t, addr, "sheaf_backup_age_seconds")
	key := s.stdout.wait(t, `(shf_\w+)`, s.ended)
	request, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/api/v1/media?filename=a.txt", strings.NewReader("some words"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/octet-stream")
	if answer, err := http.DefaultClient.Do(request); err != nil || answer.StatusCode != 201 {
		t.Fatalf("an upload while the bucket is down: %v, %v", answer, err)
	} else {
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
	sheaftest.Eventually(t, "the age rises", func() bool { return metric(t, addr, "sheaf_backup_age_seconds") > before })
	server.Restart()
	sheaftest.Eventually(t, "the backup is made", func() bool { return strings.Contains(s.stderr.String(), `msg="made a backup"`) })
	if got := metric(t, addr, "sheaf_backup_bytes"); !(got > 100) || metric(t, addr, "sheaf_backup_interval_seconds") != 86400 {
		t.Errorf("the backup has %v bytes", got)
	}
	s.stop(t)

	// A second start finds a backup that is young enough.
	again := startWith(t, e, "--data", data, "--metrics-addr", addr, "--backup-to", bucket, "--backup-recipient", recipient)
	sheaftest.Eventually(t, "the newest backup is known", func() bool { return metric(t, addr, "sheaf_backup_age_seconds") > 0 })
	again.stop(t)
	var listed []map[string]any
	if err := json.Unmarshal([]byte(sheafWith(t, e, "", "backup", "list", bucket, "--json").succeeds(t)), &listed); err != nil || len(listed) != 1 || listed[0]["state"] != "whole" || listed[0]["media"] != float64(1) {
		t.Fatalf("listed %v: %v", listed, err)
	}
	stamp := listed[0]["backup"].(string)
	if got := sheafWith(t, e, "", "backup", "verify", bucket, "--identity", identity).succeeds(t); !strings.Contains(got, stamp+" is sound") || !strings.Contains(got, "1 media were read") {
		t.Errorf("verified: %q", got)
	}

	// Into PostgreSQL, with the media in another bucket.
	node := folderWithKey(t, data)
	there := e.with("SHEAF_DATABASE_URL", pgtest.URL(t), "SHEAF_MEDIA_URL", server.URL()+"/media")
	for _, line := range server.Env() {
		name, value, _ := strings.Cut(line, "=")
		there[name] = value
	}
	sheafWith(t, there, "", "restore", bucket+"@2001-01-01", "--data", node, "--identity", identity).fails(t, "no such backup")
	if got := sheafWith(t, there, "", "restore", bucket+"@"+stamp, "--data", node, "--identity", identity).succeeds(t); !strings.Contains(got, "1 media were restored") {
		t.Errorf("restored: %q", got)
	}
	sheafWith(t, there, "", "doctor", "--data", node, "--media").succeeds(t)
}

// D209: what is wrong with a command is said, and nothing is left.
func TestBackup_IntoABucketByHand(t *testing.T) {
	t.Parallel()
	server, e, identity, recipient := backupBucket(t)
	data := t.TempDir()
	start(t, "--data", data).stop(t)
	bucket := server.URL()
	sheafWith(t, e, "", "backup", bucket, "--data", data).fails(t, "--backup-recipient")
	sheafWith(t, e, "", "backup", bucket, "--data", data, "--backup-recipient", "age1x").fails(t, "is not a public key of age")
	sheafWith(t, e, "", "backup", "verify", bucket, "--identity", identity).fails(t, "no such backup")
	var made []string
	for range 2 {
		report := decoded[map[string]any](t, sheafWith(t, e, "", "backup", bucket, "--data", data, "--backup-recipient", recipient, "--json").succeeds(t))
		made = append(made, report["backup"].(string))
	}
	home := folderWithKey(t, data)
	sheafWith(t, e, "", "restore", bucket, "--data", home).fails(t, "--identity")
	sheafWith(t, e, "", "restore", bucket, "--data", home, "--identity", filepath.Join(home, masterKeyFile)).fails(t, "no private key of age")
	sheafWith(t, e, "", "restore", bucket+"@yesterday", "--data", home, "--identity", identity).fails(t, "@yesterday is no time")

	// The newer one is damaged: it is refused with its place, and the older one can still be restored.
	piece := filepath.Join(server.Objects(), "backups", made[1], "rows-0001.age")
	content, err := os.ReadFile(piece)
	if err == nil {
		content[len(content)/2] ^= 1
		err = os.WriteFile(piece, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	sheafWith(t, e, "", "backup", "verify", bucket, "--identity", identity).fails(t, "backups/"+made[1]+"/rows-0001.age has other bytes", "sound up to byte")
	sheafWith(t, e, "", "restore", bucket, "--data", home, "--identity", identity).fails(t, "rows-0001.age", "choose an older one")
	if left, _ := os.ReadDir(home); len(left) != 1 {
		t.Errorf("a refused restore left %v", left)
	}
	sheafWith(t, e, "", "restore", bucket+"@"+made[0], "--data", home, "--identity", identity).succeeds(t)
	sheafWith(t, e, "", "doctor", "--data", home).succeeds(t)
}

// D209: with several nodes, one makes the backup.
func TestBackupTimer_OneNodeAtATime(t *testing.T) {
	t.Parallel()
	server, e, _, recipient := backupBucket(t)
	e["SHEAF_DATABASE_URL"] = pgtest.URL(t)
	flags := []string{"--backup-to", server.URL(), "--backup-recipient", recipient, "--metrics-addr"}
	data := t.TempDir()
	first := startWith(t, e, append([]string{"--data", data}, append(flags, freeAddress(t))...)...)
	addr := freeAddress(t)
	second := startWith(t, e, append([]string{"--data", folderWithKey(t, data)}, append(flags, addr)...)...)
	made := func() int {
		return strings.Count(first.stderr.String()+second.stderr.String(), `msg="made a backup"`)
	}
	sheaftest.Eventually(t, "a backup is made", func() bool { return made() > 0 })
	first.stop(t)
	second.stop(t)
	third := startWith(t, e, append([]string{"--data", data}, append(flags, addr)...)...)
	sheaftest.Eventually(t, "the third node knows the backup", func() bool { return metric(t, addr, "sheaf_backup_age_seconds") > 0 })
	third.stop(t)
	if n := made() + strings.Count(third.stderr.String(), `msg="made a backup"`); n != 1 {
		t.Errorf("%d backups were made", n)
	}
}
