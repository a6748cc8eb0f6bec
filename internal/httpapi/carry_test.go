package httpapi_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"os"
	"regexp"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/doctor"
)

// What the last program of schema 8 answered about everything in its backup, this one answers after it has restored
// and migrated that, byte for byte but for the fields that came since: ids, times, order, totals, versions. The backup
// was made with a frozen clock by a scenario that leaves deliveries in every state; nothing in either file was written
// by hand.
func TestCarryOver_AnswersAreAsBefore(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) store.Options{
		"SQLite":     func(t *testing.T) store.Options { return store.Options{Folder: t.TempDir()} },
		"PostgreSQL": func(t *testing.T) store.Options { return store.Options{DatabaseURL: pgtest.URL(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := open(t)
			restore(t, o, "../store/testdata/schema8.backup")
			a := apitest.Open(t, o)
			now := time.Date(2026, 3, 1, 12, 2, 0, 0, time.UTC)
			a.Clock.Set(now)
			x := doctor.Examination{Now: now, Retention: 720 * time.Hour}
			if err := doctor.Examine(context.Background(), a.Store, x, func(f doctor.Finding) {
				if !f.Information {
					t.Errorf("doctor: %s", f)
				}
			}); err != nil {
				t.Error(err)
			}
			asked := 0
			for _, ws := range answersOfBefore(t) {
				c := a.Client(ws.Secret)
				for _, q := range ws.Answers {
					var sent any
					var headers []string
					if q.Body != "" {
						sent = q.Body
					}
					if q.Key != "" {
						headers = append(headers, "Idempotency-Key: "+q.Key)
					}
					r := c.Do(q.Method, q.Path, sent, headers...)
					body, tag := asBefore(r)
					if body != string(r.Body) { // and so its hash in the ETag differs
						q.ETag = sinceThen.ReplaceAllString(q.ETag, "")
					}
					if asked++; r.Err != nil || r.Status != q.Status || body != q.Answer || tag != q.ETag {
						t.Errorf("%s %s: %v\ngot  %d %s %s\nwant %d %s %s", q.Method, q.Path, r.Err, r.Status, r.Header.Get("ETag"), r.Body, q.Status, q.ETag, q.Answer)
					}
				}
			}
			if asked < 300 {
				t.Errorf("only %d questions were asked", asked)
			}
		})
	}
}

// added are the fields that came since, as they are of what was stored before, and sinceThen is the hash of an ETag.
var (
	added = regexp.MustCompile(`"external_id":null,(?:"url":null,"metadata":null,)?|"branding_count":0,|"version":1,"content_bytes":0,"content_sha256":"` + sheaf.EmptySHA256 + `",|,"content":""|,"storage":\{"used":0,"quota":null\}|,"filter":null`)

	sinceThen = regexp.MustCompile(`[0-9a-f]{20}`)
)

// asBefore returns an answer without the fields that came since; the hash in its ETag, where it had some, is left out.
func asBefore(r *apitest.Response) (body, tag string) {
	body, tag = added.ReplaceAllString(string(r.Body), ""), r.Header.Get("ETag")
	if body != string(r.Body) {
		tag = sinceThen.ReplaceAllString(tag, "")
	}
	return body, tag
}

// restore fills an empty store with a backup and brings it to this program's schema, as sheaf restore does.
func restore(t *testing.T, o store.Options, path string) {
	t.Helper()
	ctx := context.Background()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	head, err := store.CheckBackup(f)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	if err := store.PrepareRestore(ctx, o, head.Schema); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Restore(ctx, f)
	if closed := s.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	if err := store.Migrate(ctx, o); err != nil {
		t.Fatal(err)
	}
}

// before is a workspace of the backup, and what its key was answered.
type before struct {
	Secret  string `json:"secret"`
	Answers []struct {
		Method, Path, Body string
		Key                string `json:"idempotency_key"`
		Status             int
		ETag, Answer       string
	} `json:"answers"`
}

func answersOfBefore(t *testing.T) (out []before) {
	t.Helper()
	f, err := os.Open("../store/testdata/schema8.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}
