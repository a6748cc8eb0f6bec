package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"sheaf.dev/internal/config"
	"sheaf.dev/internal/media"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/store/doctor"
)

type finding struct {
	Check       string
	WorkspaceID *string `json:"workspace_id"`
	Text        string
	Information bool
}

// There is one line for each violation, and the exit code is 1. As JSON there is one array and
// nothing else.
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
	report := decoded[[]finding](t, r.stdout)
	if r.code != 1 || len(report) != 2 || report[0].Check != "count" || report[0].WorkspaceID == nil || report[0].Information {
		t.Errorf("ended with %d and reported %+v", r.code, report)
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

// It creates and migrates nothing.
func TestDoctor_ChangesNothing(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "none")
	sheafCommand(t, "doctor", "--data", data).fails(t, "--data")
	if _, err := os.Stat(data); !os.IsNotExist(err) {
		t.Errorf("it left something behind: %v", err)
	}
	sheafCommand(t, "doctor", "--database-url", pgtest.URL(t)).fails(t, "run sheaf migrate")
}

func TestDoctor_NeedsTheMasterKeyForSecretsOnly(t *testing.T) {
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
	api := environment{"SHEAF_SERVER": s.url, "SHEAF_API_KEY": printedKey.FindString(s.stdout.String()), "HOME": t.TempDir()}
	sheafWith(t, api, "some words", "media", "upload", "-").succeeds(t)
	content := filepath.Join(data, mediaFolder, "content")
	if err := os.Rename(content, content+" is away"); err != nil {
		t.Fatal(err)
	}
	shows(`sheaf_doctor_violations 1`)
	if err := os.Rename(content+" is away", content); err != nil {
		t.Fatal(err)
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

// D104: the timer checks some files at a time and eventually all of them, and reports a violation
// until it is repaired.
func TestDoctorTimer_ChecksAllMediaInTurn(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	var keys []media.Key
	for _, w := range []*apitest.Workspace{a.Workspace(sheaf.Business), a.Workspace(sheaf.Pro)} {
		for i := range 7 {
			content := fmt.Appendf(nil, "file %d", i)
			w.Client("").POST("/api/v1/media", content, "Content-Type: text/plain").Want(t, 201)
			keys = append(keys, media.Key{Workspace: string(w.ID), SHA256: sha256.Sum256(content)})
		}
	}
	const each = 2
	round := mediaRound{store: a.Store, files: doctor.MediaFiles{Store: a.Media}, most: each, faulty: map[doctor.MediaPlace]bool{}}
	report := func() (found []string) {
		err := round.check(t.Context(), func(f doctor.Finding) { found = append(found, f.String()) })
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if found := report(); len(found) > 0 {
		t.Errorf("all is well, and found are %q", found)
	}
	for _, k := range []media.Key{keys[1], keys[9]} {
		if err := a.Media.Remove(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
	most := 0
	for range len(keys)/each + 1 {
		found := report()
		if len(found) < most {
			t.Errorf("found are %q, and %d were before", found, most)
		}
		most = len(found)
	}
	if most != 2 {
		t.Errorf("after a round %d are found", most)
	}
	if err := a.Media.Put(t.Context(), keys[1], 6, strings.NewReader("file 1")); err != nil {
		t.Fatal(err)
	}
	if found := report(); len(found) != 1 || !strings.Contains(found[0], keys[9].Workspace) {
		t.Errorf("one is mended, and found are %q", found)
	}
}

// D104: the scrub reads all media, and begins again with the first after the last. It reports a
// damaged medium until it is repaired, and readers get an error for it.
func TestMediaScrub_FindsDamagedMedia(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	dir := t.TempDir()
	a.Media.Store = media.Folder(dir)
	w := a.Workspace(sheaf.Business)
	at := w.Client("").POST("/api/v1/media?filename=a.txt", []byte("some words"), "Content-Type: text/plain").Want(t, 201).Text(t, "url")
	for i := range 3 {
		w.Client("").POST("/api/v1/media", fmt.Appendf(nil, "file %d", i), "Content-Type: text/plain").Want(t, 201)
	}
	var log bytes.Buffer
	s := newMediaScrub(&config.Settings{MediaScrubRate: 1 << 30}, a.Store, a.Media, a.App, slog.New(slog.NewTextHandler(&log, nil)))
	s.round.at = &doctor.MediaPlace{}
	metrics := prometheus.NewRegistry()
	s.register(metrics)
	figure := func(name string) (n float64) {
		all, err := metrics.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			if f.GetName() == name {
				n = f.GetMetric()[0].GetGauge().GetValue() + f.GetMetric()[0].GetCounter().GetValue()
			}
		}
		return n
	}
	check := func(want float64) {
		t.Helper()
		if err := s.check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := figure("sheaf_media_faulty"); got != want {
			t.Errorf("%v are faulty, want %v", got, want)
		}
	}
	check(0)
	if n := figure("sheaf_media_scrubbed_bytes_total"); n != float64(len("some words")+3*len("file 0")) {
		t.Errorf("%v bytes were read", n)
	}
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte("some words")))
	path := filepath.Join(dir, "content", string(w.ID), hash[:2], hash)
	if err := os.WriteFile(path, []byte("some weeds"), 0o600); err != nil {
		t.Fatal(err)
	}
	check(1)
	check(1)
	if !strings.Contains(log.String(), "a.txt) is damaged") {
		t.Errorf("the log has %s", &log)
	}
	w.Client("").GET(at).WantError(t, 503, "UNAVAILABLE", "a.txt", "damaged")
	if n := figure("sheaf_media_refused_reads_total"); n != 1 {
		t.Errorf("%v reads were refused", n)
	}
	w.Client("").POST("/api/v1/media", []byte("some words"), "Content-Type: text/plain").Want(t, 201)
	check(0)
	w.Client("").GET(at).Want(t, 200)
}

// D104: doctor --media reads the bytes.
func TestDoctor_ReadsTheBytesOfMedia(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := start(t, "--data", data)
	api := environment{"SHEAF_SERVER": s.url, "SHEAF_API_KEY": printedKey.FindString(s.stdout.String()), "HOME": t.TempDir()}
	sheafWith(t, api, "some words", "media", "upload", "-").succeeds(t)
	sheafCommand(t, "doctor", "--data", data, "--media").succeeds(t)
	files, err := filepath.Glob(filepath.Join(data, mediaFolder, "content", "*", "*", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("there are %q: %v", files, err)
	}
	if err := os.WriteFile(files[0], []byte("some weeds"), 0o600); err != nil {
		t.Fatal(err)
	}
	sheafCommand(t, "doctor", "--data", data).succeeds(t)
	if r := sheafCommand(t, "doctor", "--data", data, "--media"); r.code != 1 || !strings.Contains(r.stdout, "is damaged") {
		t.Errorf("got %+v", r)
	}
	sheafCommand(t, "doctor", "--database-url", pgtest.URL(t), "--media").fails(t, "sheaf migrate")
}
