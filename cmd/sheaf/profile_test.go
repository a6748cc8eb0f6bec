package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestProfile_KeepsAddressAndKey(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	home := r.env["HOME"]
	path := filepath.Join(home, ".config", "sheaf", "profile.json")
	plain := environment{"HOME": home}
	got := sheafWith(t, plain, r.env["SHEAF_API_KEY"]+"\n", "profile", "set", "--server", r.Server.URL+"/").succeeds(t)
	wantWords(t, got, r.Server.URL, "Acme", "business", path)
	if m := mode(t, path); m != 0o600 {
		t.Errorf("its mode is %v", m)
	}
	if m := mode(t, filepath.Dir(path)); m != 0o700 {
		t.Errorf("its folder's mode is %v", m)
	}
	sheafWith(t, plain, "", "projects", "create", "a").succeeds(t)
	wantWords(t, sheafWith(t, plain, "", "profile", "show").succeeds(t), "Acme", string(r.ID))

	// Its key is sent only to its server.
	sheafWith(t, plain, "", "projects", "list", "--server", "http://127.0.0.1:1").fails(t, "no API key for http://127.0.0.1:1", r.Server.URL)
	elsewhere := environment{"HOME": home, "SHEAF_SERVER": "http://127.0.0.1:1"}
	sheafWith(t, elsewhere, "", "projects", "list").fails(t, "no API key for")

	// A login that does not work is not stored.
	sheafWith(t, plain, "nonsense\n", "profile", "set").fails(t, "API key")
	sheafWith(t, plain, "", "profile", "set").fails(t, "no API key")
	sheafWith(t, plain, "", "profile", "show").succeeds(t)

	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	sheafWith(t, plain, "", "profile", "show").fails(t, "other users may read", "chmod 600")
	sheafWith(t, plain, "", "profile", "remove").succeeds(t)
	sheafWith(t, plain, "", "profile", "show").fails(t, "no API key")
	sheafWith(t, plain, "", "profile", "remove").succeeds(t)
}

func TestAPIKey_FromAFile(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(r.env["SHEAF_API_KEY"]+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.env["SHEAF_API_KEY_FILE"] = path
	sheafWith(t, r.env, "", "profile", "show").fails(t, "given twice")
	delete(r.env, "SHEAF_API_KEY")
	r.do(t, "profile", "show")
	r.env["SHEAF_API_KEY_FILE"] = path + "x"
	sheafWith(t, r.env, "", "profile", "show").fails(t, "cannot be read")
}

// XDG_CONFIG_HOME moves the profile. Without a home there is none, and flags work.
func TestProfile_IsNotNeeded(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	xdg := t.TempDir()
	moved := environment{"XDG_CONFIG_HOME": xdg}
	sheafWith(t, moved, "", "profile", "set", "--server", r.Server.URL, "--api-key", r.env["SHEAF_API_KEY"]).succeeds(t)
	if _, err := os.Stat(filepath.Join(xdg, "sheaf", "profile.json")); err != nil {
		t.Error(err)
	}
	sheafWith(t, nil, "", "profile", "show", "--server", r.Server.URL, "--api-key", r.env["SHEAF_API_KEY"]).succeeds(t)
	sheafWith(t, nil, "", "profile", "set", "--server", r.Server.URL, "--api-key", r.env["SHEAF_API_KEY"]).fails(t, "HOME")
}
