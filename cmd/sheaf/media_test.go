package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMedia_OnTheCommandLine(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	document := r.id(t, "documents", "create", "Start")
	path := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(path, []byte("some words"), 0o600); err != nil {
		t.Fatal(err)
	}
	made := r.json(t, "media", "upload", path, "--document", document)
	id, _ := made["id"].(string)
	if made["filename"] != "notes.txt" || made["document_id"] != document || made["bytes"] != float64(10) {
		t.Errorf("made %v", made)
	}
	wantWords(t, r.do(t, "media", "list", "--document", document), id, "notes.txt")
	wantWords(t, r.do(t, "media", "get", id), "media:"+id, "application/octet-stream")
	if got := r.do(t, "media", "download", id, "-"); got != "some words" {
		t.Errorf("downloaded %q", got)
	}
	out := filepath.Join(t.TempDir(), "out")
	r.do(t, "media", "download", id, out)
	if b, err := os.ReadFile(out); err != nil || string(b) != "some words" {
		t.Errorf("downloaded %q: %v", b, err)
	}
	sheafWith(t, r.env, "", "media", "download", id, out).fails(t, "file exists")
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, make([]byte, 10<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	sheafWith(t, r.env, "", "media", "upload", large).fails(t, "larger than 10 MB")
	r.do(t, "media", "delete", id)
	sheafWith(t, r.env, "", "media", "download", id, filepath.Join(t.TempDir(), "gone")).fails(t, "not found")
}
