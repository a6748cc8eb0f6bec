package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/base64"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/config"
)

// readBundle returns the files of a bundle by name, without its top folder.
func readBundle(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for in := tar.NewReader(z); ; {
		head, err := in.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimPrefix(head.Name, "sheaf-support/")] = string(text)
	}
}

// secretSettings are values of all settings that are secret, each with a canary that must not be in a bundle.
var secretSettings = map[string]struct{ value, canary string }{
	"database-url":        {"postgres://u:canary%2Fdb@127.0.0.1:1/x?connect_timeout=1", "canary/db canary%2Fdb"},
	"database-direct-url": {"postgres://u@127.0.0.1:1/x?password=canarydirect", "canarydirect"},
	"redis-url":           {"redis://:canaryredis@127.0.0.1:1/0", "canaryredis"},
	"master-key":          {base64.StdEncoding.EncodeToString([]byte("canarycanarycanarycanarycanaryca")), base64.StdEncoding.EncodeToString([]byte("canarycanarycanarycanarycanaryca"))},
	"oidc-client-secret":  {"canaryoidc", "canaryoidc"},
	"smtp-url":            {"smtps://u:canarymail@mail.example?from=a@b.example", "canarymail"},
}

// wantNoCanary fails for each secret that a bundle contains.
func wantNoCanary(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		for setting, s := range secretSettings {
			for canary := range strings.FieldsSeq(s.canary + " canaryaws canarykey canarypage canarywrong") {
				if strings.Contains(text, canary) {
					t.Errorf("%s has the secret of %s: %s", name, setting, text)
				}
			}
		}
	}
}

// Whatever is secret among the settings has a canary here, so a new setting is tested too.
func TestSupportBundle_EverySecretHasACanary(t *testing.T) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[config.Serve]()) {
		if _, secret := f.Tag.Lookup("secret"); !secret {
			continue
		}
		if _, known := secretSettings[f.Tag.Get("name")]; !known {
			t.Errorf("--%s is secret: give it a canary", f.Tag.Get("name"))
		}
	}
}

// Beside a running server the bundle has its settings, its newest lines and its goroutines, and the doctor's report.
func TestSupportBundle_OfARunningServer(t *testing.T) {
	data := filepath.Join(t.TempDir(), strings.Repeat("a long path ", 10), "data") // longer than the path of a socket may be
	flags := []string{"--data", data, "--oidc-issuer", "https://id.example", "--oidc-client-id", "sheaf"}
	for _, name := range []string{"master-key", "oidc-client-secret", "smtp-url"} {
		flags = append(flags, "--"+name, secretSettings[name].value)
	}
	s := start(t, flags...)
	for _, path := range []string{"/api/v1/seen-by-the-log", "/canarymail", "/api/v1/shf_canarykey", "/canaryoidc"} {
		if answer, err := http.Get(s.url + path); err != nil {
			t.Fatal(err)
		} else {
			answer.Body.Close()
		}
	}
	file := filepath.Join(t.TempDir(), "b.tar.gz")
	said := sheafCommand(t, append([]string{"support-bundle", file}, flags...)...).succeeds(t)
	if !strings.Contains(said, file) || strings.Contains(said, "No running server") || mode(t, file) != 0o600 {
		t.Errorf("said %q", said)
	}
	files := readBundle(t, file)
	wantNoCanary(t, files)
	for name, want := range map[string]string{
		"README.txt":                    "server-*/",
		"settings.txt":                  "oidc-issuer",
		"versions.txt":                  "sheaf dev",
		"store.txt":                     "schema 1",
		"doctor.txt":                    "violations found: 0",
		"server-support/settings.txt":   "redacted",
		"server-support/versions.txt":   "goroutines ",
		"server-support/log.txt":        "seen-by-the-log",
		"server-support/goroutines.txt": "goroutine profile: total ",
	} {
		if !strings.Contains(files[name], want) || strings.Contains(files[name], "error: ") {
			t.Errorf("%s lacks %q, or has an error: %q", name, want, files[name])
		}
		delete(files, name)
	}
	if len(files) > 0 {
		t.Errorf("the bundle has more than the page says: %v", files)
	}
	sheafCommand(t, "support-bundle", file, "--data", data).fails(t, "exists: choose another name")
	s.stop(t)
	if left, _ := filepath.Glob(filepath.Join(data, "*.sock")); left != nil {
		t.Errorf("the server left %v", left)
	}
}

// If nothing works, the bundle says so in its parts. It is made all the same, and has no secret.
func TestSupportBundle_OfABrokenInstallation(t *testing.T) {
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "support-8080.sock"), nil, 0o600); err != nil { // of a killed server
		t.Fatal(err)
	}
	e := environment{"AWS_SECRET_ACCESS_KEY": "canaryaws", "AWS_ACCESS_KEY_ID": "canaryaws2", "SHEAF_PUBLIC_URL": "https://u:canarypage@sheaf.example", "SHEAF_MASTERKEY": "canarywrong", "SHEAF_RATE_LIMIT": "much"}
	for name, s := range secretSettings {
		e["SHEAF_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))] = s.value
	}
	file := filepath.Join(t.TempDir(), "b.tar.gz")
	said := sheafWith(t, e, "", "support-bundle", file, "--data", data)
	if said.code != 0 || !strings.Contains(said.stdout, "No running server") {
		t.Errorf("ended with %d: %s%s", said.code, said.stdout, said.stderr)
	}
	files := readBundle(t, file)
	wantNoCanary(t, files)
	wantNoCanary(t, map[string]string{"output": said.stdout + said.stderr})
	for name, want := range map[string]string{"settings.txt": `--rate-limit: "much"`, "store.txt": "error: ", "doctor.txt": "error: ", "versions.txt": "system "} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s lacks %q: %q", name, want, files[name])
		}
	}
	if !strings.Contains(files["settings.txt"], "SHEAF_MASTERKEY") || !slices.Contains(strings.Fields(files["store.txt"]), "PostgreSQL") {
		t.Errorf("the bundle hides what is wrong: %v", files)
	}
}
