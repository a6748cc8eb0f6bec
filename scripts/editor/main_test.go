package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mostBytes bounds the script as a browser loads it, compressed.
const mostBytes = 200 << 10

func TestScript_IsMadeFromTheSources(t *testing.T) {
	made, err := build()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range made {
		got, err := os.ReadFile(filepath.Join(static, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the sources make: run `go run .` in scripts/editor", name)
		}
	}
	var compressed bytes.Buffer
	w, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(made[scriptFile]); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := compressed.Len(); n > mostBytes {
		t.Errorf("the script has %d bytes compressed, and at most %d are allowed", n, mostBytes)
	}
}

func TestLock_NamesNoRegistry(t *testing.T) {
	lock, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(lock), "resolved") || strings.Contains(string(lock), "://registry") {
		t.Error("package-lock.json names a registry: write it with npm install --package-lock-only --omit-lockfile-registry-resolved")
	}
}
