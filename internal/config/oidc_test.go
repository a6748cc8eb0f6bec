package config

import (
	"strings"
	"testing"
)

// D190: an issuer is kept exactly as it is written, and needs HTTPS unless it is on this machine.
func TestIssuer_RightAndWrong(t *testing.T) {
	for _, value := range []string{"https://id.example.com", "https://id.example.com/", "https://ID.example.com/realms/main", "http://127.0.0.1:5556/dex", "http://localhost:9998/", "http://[::1]:1"} {
		s, err := parse(t, "--oidc-issuer", value, "--oidc-client-id", "x").Load(environment())
		if err != nil || s.OIDC.Issuer != value || s.OIDC.Name != "single sign-on" || s.OIDC.TrustEmail || !s.PasswordSignIn {
			t.Errorf("%s: %+v, %v", value, s.OIDC, err)
		}
	}
	for _, value := range []string{"id.example.com", "http://id.example.com", "https://", "https://u:hunter2@id.example.com", "https://id.example.com/?x", "https://id.example.com#x", "ftp://id.example.com",
		"https://login.microsoftonline.com/{tenantid}/v2.0"} {
		_, err := parse(t, "--oidc-issuer", value, "--oidc-client-id", "x").Load(environment())
		if got := problemsOf(t, err); len(got) != 1 || !strings.HasPrefix(got[0], "--oidc-issuer: ") || strings.Contains(got[0], "hunter2") {
			t.Errorf("%s: %q", value, got)
		}
	}
	for _, value := range []string{" ", strings.Repeat("x", 61), "a\x00b"} {
		_, err := parse(t, "--oidc-name", value).Load(environment())
		if got := problemsOf(t, err); len(got) != 1 || !strings.HasPrefix(got[0], "--oidc-name: ") {
			t.Errorf("%q: %q", value, got)
		}
	}
}

// D190: the client's secret comes from a flag, a variable, or a file that a flag or a variable names. It is never shown.
func TestOIDC_TheSecret(t *testing.T) {
	file := write(t, "secret", "hunter2\n")
	base := []string{"--oidc-issuer", "https://id.example.com", "--oidc-client-id", "x"}
	for name, c := range map[string]struct {
		flags []string
		env   []string
	}{
		"flag":             {flags: []string{"--oidc-client-secret", "hunter2"}},
		"file":             {flags: []string{"--oidc-client-secret-file", file}},
		"variable":         {env: []string{"SHEAF_OIDC_CLIENT_SECRET=hunter2"}},
		"file of variable": {env: []string{"SHEAF_OIDC_CLIENT_SECRET_FILE=" + file}},
	} {
		s, err := parse(t, append(base, c.flags...)...).Load(environment(c.env...))
		if err != nil || s.OIDC.ClientSecret != "hunter2" {
			t.Errorf("%s: %q, %v", name, string(s.OIDC.ClientSecret), err)
		}
		for _, d := range s.Describe() {
			if strings.Contains(d.Value, "hunter2") {
				t.Errorf("%s: %s is shown", name, d.Name)
			}
		}
	}
	for name, c := range map[string]struct {
		flags []string
		want  string
	}{
		"twice":           {append(base, "--oidc-client-secret", "hunter2", "--oidc-client-secret-file", file), "--oidc-client-secret-file: is given besides"},
		"no file":         {append(base, "--oidc-client-secret-file", "/nonexistent"), "--oidc-client-secret-file: cannot be read"},
		"an empty file":   {append(base, "--oidc-client-secret-file", write(t, "empty", "\n")), "--oidc-client-secret-file: is empty"},
		"no client":       {[]string{"--oidc-issuer", "https://id.example.com"}, "--oidc-issuer: is given alone; give --oidc-client-id too"},
		"no issuer":       {[]string{"--oidc-client-id", "x"}, "--oidc-client-id: is given alone; give --oidc-issuer too"},
		"nobody signs in": {[]string{"--password-sign-in=false"}, "--password-sign-in: is off, so nobody could sign in; give --oidc-issuer too"},
		"only a secret":   {[]string{"--oidc-client-secret", "hunter2"}, "--oidc-client-secret: is given alone"},
		"a folder":        {append(base, "--oidc-client-secret-file", t.TempDir()), "--oidc-client-secret-file: cannot be read"},
	} {
		_, err := parse(t, c.flags...).Load(environment())
		if got := problemsOf(t, err); len(got) != 1 || !strings.HasPrefix(got[0], c.want) || strings.Contains(got[0], "hunter2") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if s, err := parse(t, append(base, "--password-sign-in=false")...).Load(environment()); err != nil || s.PasswordSignIn {
		t.Errorf("passwords off: %v", err)
	}
}
