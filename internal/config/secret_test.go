package config

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
)

func TestSecret_IsRedactedHoweverItIsWritten(t *testing.T) {
	values := map[string]any{
		"text":  Secret("hunter2"),
		"bytes": SecretBytes("hunter2"),
		"struct": Settings{
			StoreSettings: StoreSettings{DatabaseURL: "hunter2"}, RedisURL: "hunter2", MasterKey: SecretBytes("hunter2"),
		},
	}
	leaks := []string{"hunter2", "68756e74", "104 117", base64.StdEncoding.EncodeToString([]byte("hunter2"))}
	for name, value := range values {
		var out bytes.Buffer
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%c"} {
			fmt.Fprintf(&out, verb+"\n", value)
		}
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "value", value)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "value", value)
		if err := json.NewEncoder(&out).Encode(map[string]any{"value": value}); err != nil {
			t.Fatal(err)
		}
		for _, leak := range leaks {
			if strings.Contains(strings.ToLower(out.String()), strings.ToLower(leak)) {
				t.Errorf("%s: %q leaks in:\n%s", name, leak, out.String())
			}
		}
	}
	if got := Secret("hunter2").Reveal() + string(SecretBytes("hunter2").Reveal()); got != "hunter2hunter2" {
		t.Errorf("Reveal gives %q", got)
	}
	text, err := Secret("hunter2").MarshalText()
	if err != nil || string(text) != redacted || Secret("x").String() != redacted || Secret("x").GoString() != redacted {
		t.Errorf("MarshalText gives %q, %v", text, err)
	}
}

func TestDescribe_MasksThePasswordAndKeepsTheHost(t *testing.T) {
	for given, want := range map[string]string{
		"postgres://u:hunter2@h:5432/db?sslmode=disable":        "postgres://u:redacted@h:5432/db?sslmode=disable",
		"postgresql://u:hunter2@h1:5432,h2:5432/db":             "postgresql://u:redacted@h1:5432,h2:5432/db",
		"postgres://u@h/db?password=hunter2&application_name=x": "postgres://u@h/db?application_name=x&password=redacted",
		"postgres:///db?host=/run&PASSWORD=hunter2":             "postgres:///db?PASSWORD=redacted&host=%2Frun",
		"postgres://u:%23hunter2@h/db":                          "postgres://u:redacted@h/db",
		"postgres://u@h/db?a;password=hunter2":                  "postgres://u@h/db?redacted",
		"postgres://h/db":                                       "postgres://h/db",
	} {
		settings, err := parse(t, "--database-url", given).Load(environment())
		if err != nil {
			t.Errorf("%s: %v", given, err)
		}
		if got := described(t, settings, "database-url").Value; got != want {
			t.Errorf("%s is shown as %s, want %s", given, got, want)
		}
		if settings.DatabaseURL.Reveal() != given {
			t.Errorf("%s is kept as %s", given, settings.DatabaseURL.Reveal())
		}
	}
}

// A password with unescaped special characters makes a URL that means something else. No part of it
// is printed.
func TestDescribe_AWrongSecretIsNotShown(t *testing.T) {
	for _, args := range [][]string{
		{"--database-url", "postgres://u:12/hunter2@h/db"},
		{"--database-url", "postgres://u:12?hunter2@h/db"},
		{"--database-url", "postgres://u:12#hunter2@h/db"},
		{"--database-url", "postgres://u:hunter2/x@h/db"},
		{"--database-url", "postgres://u:%zzhunter2@h/db"},
		{"--database-url", "host=h password=hunter2"},
		{"--database-url", "postgres:hunter2"},
		{"--database-url", "postgres://h/db#hunter2"},
		{"--redis-url", "hunter2@h:6379"},
		{"--smtp-url", "smtp://u:12/hunter2@h?from=a@b"},
		{"--smtp-url", "smtps://u:p@h/hunter2?from=a@b"},
		{"--smtp-url", "smtps://u:p@h?from=a@b&password=hunter2"},
		{"--smtp-url", "imap://u:hunter2@h"},
		{"--smtp-url", "smtp://u:hunter2@h"},
		{"--master-key", "hunter2"},
		{"--master-key", "hunter2 hunter2"},
	} {
		settings, err := parse(t, args...).Load(environment())
		if len(problemsOf(t, err)) != 1 {
			t.Errorf("%q: got %v, want one problem", args, err)
			continue
		}
		got := described(t, settings, args[0][2:])
		if got.Value != redacted || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q is shown: %v; %v", args, got, err)
		}
	}
}

func TestLoad_SecretsComeFromFilesToo(t *testing.T) {
	keyFile := write(t, "key", testKey+"\n")
	urlFile := write(t, "url", "postgres://u:hunter2@h/db\r\n")
	redisFile := write(t, "redis", "redis://:hunter2@h")
	conf := write(t, "conf", "redis-url = redis://elsewhere\n")
	settings, err := parse(t, "--config", conf).Load(environment("SHEAF_MASTER_KEY_FILE="+keyFile,
		"SHEAF_DATABASE_URL_FILE="+urlFile, "SHEAF_REDIS_URL_FILE="+redisFile))
	if err != nil {
		t.Fatal(err)
	}
	if len(settings.MasterKey) != 32 || settings.DatabaseURL.Reveal() != "postgres://u:hunter2@h/db" {
		t.Errorf("got %d bytes and %q", len(settings.MasterKey), settings.DatabaseURL.Reveal())
	}
	for name, want := range map[string]Setting{
		"master-key":   {"master-key", redacted, "file from SHEAF_MASTER_KEY_FILE"},
		"database-url": {"database-url", "postgres://u:redacted@h/db", "file from SHEAF_DATABASE_URL_FILE"},
		"redis-url":    {"redis-url", "redis://:redacted@h", "file from SHEAF_REDIS_URL_FILE"},
	} {
		if got := described(t, settings, name); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	settings, err = parse(t, "--redis-url", "redis://flag").Load(environment("SHEAF_REDIS_URL_FILE=" + redisFile))
	if err != nil || settings.RedisURL.Reveal() != "redis://flag" {
		t.Errorf("the flag does not win: %q, %v", settings.RedisURL.Reveal(), err)
	}
}

func TestLoad_SecretFileLosesOneNewlineOnly(t *testing.T) {
	for content, want := range map[string]string{"x": "x", "x\n": "x", "x\r\n": "x", "x\n\n": "x\n", "x\r": "x\r", " x ": " x "} {
		l := &loader{}
		got, _, err := l.findInFile("SHEAF_X", "", write(t, "secret", content))
		if err != nil || got != want {
			t.Errorf("%q: got %q, %v", content, got, err)
		}
	}
}

func TestLoad_SecretFileProblems(t *testing.T) {
	empty, missing := write(t, "empty", "\n"), filepath.Join(t.TempDir(), "missing")
	for fault, env := range map[string]LookupEnv{
		"cannot be read (open " + missing: environment("SHEAF_MASTER_KEY_FILE=" + missing),
		"is empty":                        environment("SHEAF_MASTER_KEY_FILE=" + empty),
		"is given twice":                  environment("SHEAF_MASTER_KEY_FILE="+missing, "SHEAF_MASTER_KEY="+testKey),
	} {
		_, err := parse(t).Load(env)
		if got := problemsOf(t, err); len(got) != 1 || !strings.HasPrefix(got[0], "--master-key: "+fault) {
			t.Errorf("%s: got %q", fault, got)
		}
	}
	if _, err := parse(t).Load(environment("SHEAF_ADDR_FILE=" + missing)); err != nil {
		t.Errorf("a setting that is no secret is read from a file: %v", err)
	}
}
