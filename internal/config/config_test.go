package config

import (
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

var testKey = base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))

// parse runs kong over args, as cmd does.
func parse(t *testing.T, args ...string) Serve {
	t.Helper()
	var cli struct {
		Serve struct{ Serve } `cmd:""`
	}
	parser, err := kong.New(&cli, kong.Exit(func(int) { t.Fatal("kong exits") }))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(append([]string{"serve"}, args...)); err != nil {
		t.Fatalf("parse %q: %v", args, err)
	}
	return cli.Serve.Serve
}

func environment(pairs ...string) LookupEnv {
	return func(name string) (string, bool) {
		for _, pair := range pairs {
			if key, value, _ := strings.Cut(pair, "="); key == name {
				return value, true
			}
		}
		return "", false
	}
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func described(t *testing.T, s *Settings, name string) Setting {
	t.Helper()
	for _, d := range s.Describe() {
		if d.Name == name {
			return d
		}
	}
	t.Fatalf("%s is not described", name)
	return Setting{}
}

func problemsOf(t *testing.T, err error) []string {
	t.Helper()
	var problems Problems
	if err != nil && !errors.As(err, &problems) {
		t.Fatalf("the error is a %T, want Problems: %v", err, err)
	}
	return problems
}

func TestDescribe_CoversEveryFlag(t *testing.T) {
	settings, err := Serve{}.Load(environment())
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	var names []string
	for _, d := range settings.Describe() {
		fmt.Fprintf(&got, "%s = %s (%s)\n", d.Name, d.Value, d.Source)
		names = append(names, d.Name)
	}
	const golden = "testdata/defaults.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("the defaults changed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(flagsOf(t), slices.Sorted(slices.Values(names))); diff != "" {
		t.Errorf("flags and settings differ (-flags +settings):\n%s", diff)
	}
}

// The page for operators has every setting, as the tags declare it. -update writes it.
func TestSettings_AreAllOnThePage(t *testing.T) {
	const page, begin, end = "../../docs/operations.md", "<!-- settings -->\n", "<!-- /settings -->"
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), begin)
	was, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the settings", page)
	}
	var want strings.Builder
	want.WriteString("| Flag | Default | What it is |\n|---|---|---|\n")
	settings, _ := Serve{}.Load(environment())
	for _, d := range settings.Describe() {
		s := statements[d.Name]
		def := ""
		if s.Default != "" {
			def = "`" + s.Default + "`"
		}
		fmt.Fprintf(&want, "| `--%s` | %s | %s |\n", s.Name, def, s.Help)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+want.String()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want.String(), was); diff != "" {
		t.Errorf("the page differs (-want +page); go test ./internal/config -update writes it:\n%s", diff)
	}
}

// flagsOf returns the names of the flags that kong finds, sorted.
func flagsOf(t *testing.T) []string {
	t.Helper()
	parser, err := kong.New(&struct{ Serve }{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range parser.Model.Flags {
		if f.Name != "help" {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Every setting has a different value in each of the three sources.
func TestLoad_FlagOverEnvironmentOverFileOverDefault(t *testing.T) {
	cert, key := keyPair(t)
	otherCert, otherKey := keyPair(t)
	folder := t.TempDir()
	otherTestKey := base64.StdEncoding.EncodeToString([]byte("abcdef0123456789abcdef0123456789"))
	values := map[string][3]string{ // by flag, by environment, by file
		"addr":                    {"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"},
		"data":                    {folder, folder + "/2", folder + "/3"},
		"database-url":            {"postgres://1/x", "postgres://2/x", "postgres://3/x"},
		"database-direct-url":     {"postgres://4/x", "postgres://5/x", "postgres://6/x"},
		"media-url":               {"s3://1", "s3://2/media", "s3://3"},
		"media-max":               {"1KB", "2GB", "3GB"},
		"media-scrub-rate":        {"64KB", "8MB", "0"},
		"disk-reserve":            {"1KB", "2GB", "3GB"},
		"redis-url":               {"redis://1", "redis://2", "redis://3"},
		"master-key":              {testKey, otherTestKey, testKey},
		"public-url":              {"https://1", "https://2", "https://3"},
		"first-run":               {"file", "none", "file"},
		"rate-limit":              {"pro=1,business=1", "pro=2,business=2", "pro=3,business=3"},
		"max-records":             {"free=1,pro=1,business=1", "free=2,pro=2,business=2", "free=3,pro=3,business=3"},
		"quota":                   {"pro=1,business=1", "pro=2KB,business=2MB", "pro=3GB,business=3TB"},
		"version-retention":       {"1h", "2h", "3h"},
		"proposal-retention":      {"1h", "2h", "3h"},
		"audit-retention":         {"1h", "2h", "3h"},
		"webhook-retry-delays":    {"1s,1s,1s", "2s,2s,2s", "3s,3s,3s"},
		"webhook-timeout":         {"1s", "2s", "3s"},
		"webhook-allow-cidr":      {"10.0.0.0/8", "10.2.0.0/16", "10.3.0.0/16,10.4.0.0/16"},
		"webhook-ca-file":         {cert, otherCert, cert},
		"smtp-url":                {"smtps://1?from=a@b.example", "smtp://2?from=a@b.example", "smtps://a%40b.example@3"},
		"signature-header":        {"X-1", "X-2", "X-3"},
		"retention":               {"1h", "2h", "3h"},
		"trash-retention":         {"1h", "2h", "3h"},
		"doctor-every":            {"1h", "off", "3h"},
		"backup-to":               {"s3://1", "s3://2/backups", "s3://3"},
		"backup-every":            {"1h", "2h", "3h"},
		"backup-keep":             {"count=1,age=1h", "count=2,age=2d", "age=3d"},
		"backup-recipient":        {"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p", "age1lggyhqrw2nlhcxprm67z43rta597azn8gknawjehu9d9dl0jq3yqqvfafg", "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p,age1lggyhqrw2nlhcxprm67z43rta597azn8gknawjehu9d9dl0jq3yqqvfafg"},
		"metrics-addr":            {":1", ":2", ":3"},
		"tls-cert":                {cert, otherCert, cert},
		"tls-key":                 {key, otherKey, key},
		"trusted-proxy":           {"10.0.0.0/8", "10.2.0.0/16", "10.3.0.0/16,10.4.0.0/16"},
		"connections-per-address": {"1", "1000000", "auto"},
		"cors-origins":            {"https://a.example", "*", "https://b.example,http://localhost:5173"},
		"image-hosts":             {"a.example", "b.example:8443", "c.example,d.example"},
		"log-format":              {"json", "text", "json"},
		"log-level":               {"debug", "warn", "error"},
	}
	var args, pairs []string
	var file strings.Builder
	for name, v := range values {
		args = append(args, "--"+name, v[0])
		pairs = append(pairs, "SHEAF_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))+"="+v[1])
		fmt.Fprintf(&file, "%s = %s\n", name, v[2])
	}
	path := write(t, "sheaf.conf", file.String())
	for i, run := range []struct {
		load   func() (*Settings, error)
		source string
	}{
		{func() (*Settings, error) {
			return parse(t, append(args, "--config", path)...).Load(environment(pairs...))
		}, "flag"},
		{func() (*Settings, error) {
			return parse(t, "--config", path).Load(environment(pairs...))
		}, "environment SHEAF_"},
		{func() (*Settings, error) {
			return parse(t).Load(environment("SHEAF_CONFIG=" + path))
		}, "file " + path},
	} {
		settings, err := run.load()
		if err != nil {
			t.Fatalf("%s: %v", run.source, err)
		}
		for name, v := range values {
			want := v[i]
			if name == "master-key" {
				want = redacted
			}
			got := described(t, settings, name)
			if got.Value != want || !strings.HasPrefix(got.Source, run.source) {
				t.Errorf("%s: got %q from %q, want %q from %q", name, got.Value, got.Source, want, run.source)
			}
		}
		if got, want := base64.StdEncoding.EncodeToString(settings.MasterKey), values["master-key"][i]; got != want {
			t.Errorf("%s: the master key is another one", run.source)
		}
	}
}

func TestLoad_DefaultsAreTyped(t *testing.T) {
	settings, err := Serve{}.Load(environment())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := settings.WebhookRetryDelays, []time.Duration{time.Second, 10 * time.Second, time.Minute}; !slices.Equal(got, want) {
		t.Errorf("retry delays %v, want %v", got, want)
	}
	if got, want := settings.RateLimit, (RateLimit{Pro: 100, Business: 500}); got != want {
		t.Errorf("rate limit %v, want %v", got, want)
	}
	if settings.MasterKey != nil || settings.PublicURL != nil || settings.DatabaseURL != "" || settings.MetricsAddr != "" || settings.DoctorEvery != 0 {
		t.Errorf("what has no default is set: %+v", settings)
	}
	if settings.Retention != 720*time.Hour || settings.TrashRetention != 720*time.Hour || settings.WebhookTimeout != 10*time.Second || settings.FirstRun != FirstRunPrint {
		t.Errorf("other defaults: %+v", settings)
	}
}

func TestLoad_ListsRepeatOrUseCommas(t *testing.T) {
	want := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("fd00::/8")}
	conf := write(t, "c", "trusted-proxy = 10.0.0.0/8, 127.0.0.1\ntrusted-proxy = fd00::/8\n")
	settings, err := parse(t, "--webhook-allow-cidr", "10.1.2.3/8", "--webhook-allow-cidr=::ffff:127.0.0.1/128,fd00::/8").
		Load(environment("SHEAF_CONFIG=" + conf))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(settings.WebhookAllowCIDR, want) || !slices.Equal(settings.TrustedProxy, want) {
		t.Errorf("got %v and %v, want %v", settings.WebhookAllowCIDR, settings.TrustedProxy, want)
	}
}

func TestLoad_EmptyEnvironmentIsAbsentEmptyFlagIsNot(t *testing.T) {
	settings, err := parse(t, "--redis-url", "").
		Load(environment("SHEAF_ADDR=", "SHEAF_CONFIG=", "SHEAF_MASTER_KEY_FILE=", "SHEAF_REDIS_URL=redis://h"))
	if err != nil {
		t.Fatal(err)
	}
	if got := described(t, settings, "addr"); got.Source != "default" || settings.Addr != "127.0.0.1:8080" {
		t.Errorf("addr: %+v", got)
	}
	if got := described(t, settings, "redis-url"); got.Source != "flag" || settings.RedisURL != "" {
		t.Errorf("redis-url: %+v", got)
	}
	if _, err := parse(t, "--addr", "").Load(environment()); err == nil {
		t.Error("an empty --addr is accepted")
	}
}

// D151: --database-direct-url alone is an error, for every command on the store.
func TestLoad_ADirectAddressAlone(t *testing.T) {
	env := environment("SHEAF_DATABASE_DIRECT_URL=postgres://u:hunter2@h/db")
	_, err := parse(t).Load(env)
	_, errStore := Store{}.Load(env)
	for _, err := range []error{err, errStore} {
		got := problemsOf(t, err)
		if len(got) != 1 || !strings.HasPrefix(got[0], "--database-direct-url: is given alone; give --database-url too") || strings.Contains(got[0], "hunter2") {
			t.Errorf("got %q", got)
		}
	}
}

func TestLoad_ReportsEveryProblemAtOnce(t *testing.T) {
	conf := write(t, "bad.conf", "# fine\nadr = x\nlog-level = loud\nno equals sign\nretention = 1s\nretention = 2s\n")
	missing := filepath.Join(t.TempDir(), "missing")
	_, err := parse(t,
		"--config", conf, "--addr", "localhost", "--data", conf, "--database-url", "mysql://u:hunter2@h/db",
		"--redis-url", "http://:hunter2@h", "--master-key", "aHVudGVyMg==", "--public-url", "sheaf.example.com",
		"--first-run", "maybe", "--rate-limit", "gold=1,pro=x", "--webhook-retry-delays", "1s,0s,x",
		"--webhook-timeout", "1h", "--webhook-allow-cidr", "10/8", "--webhook-ca-file", missing,
		"--signature-header", "X Y", "--metrics-addr", ":70000", "--tls-cert", missing, "--trusted-proxy", "proxy\nlocal", "--image-hosts", "https://a.example,b.example/c,*.d.example",
		"--backup-to", "s3://key:hunter2@bucket", "--backup-every", "1s", "--backup-keep", "count=0,age=x,count=3,days=4", "--backup-recipient", "age1nobody,AGE-SECRET-KEY-1hunter2",
		"--cors-origins", "*,a.example,https://b.example/,https://C.example,https://*.d.example,https://e.example:443,https://u:hunter2@f.example,null,http://g.example:70000",
		"--log-format", "xml", "--media-url", "https://key:hunter2@s3.example.com/b", "--media-max", "0", "--media-scrub-rate", "1KB", "--smtp-url", "smtp://u:hunter2@h", "--connections-per-address", "0",
	).Load(environment())
	got := problemsOf(t, err)
	want := []string{
		`--config: line 2 has an unknown key "adr";`,
		`--config: line 4 has no '=';`,
		`--config: line 6 has the key "retention" for the second time;`,
		`--addr: "localhost" is not host:port;`,
		`--data: "` + conf + `" is not a folder;`,
		`--database-url: is not a postgres:// URL;`,
		`--media-url: is not the address of a bucket; write s3://BUCKET`,
		`--redis-url: is not a redis:// URL;`,
		`--master-key: holds 7 bytes, not 32;`,
		`--public-url: "sheaf.example.com" does not begin with http`,
		`--first-run: "maybe" is not known; choose one of: print, file, none`,
		`--rate-limit: "gold=1" names no plan`,
		`--rate-limit: "pro=x" has no whole number`,
		`--media-max: "0" is not a size of a file up to 5GB;`,
		`--media-scrub-rate: "1KB" is not a rate from 64KB to 1GB a second;`,
		`--webhook-retry-delays: "0s" is not above zero;`,
		`--webhook-retry-delays: "x" is not a duration;`,
		`--webhook-timeout: "1h" is too long; give at most 5m0s`,
		`--webhook-allow-cidr: "10/8" is not a CIDR;`,
		`--webhook-ca-file: cannot be read (open ` + missing,
		`--smtp-url: does not say which address mails are from; add ?from=ADDRESS`,
		`--signature-header: "X Y" is not a header's name;`,
		`--backup-to: is not the address of a bucket;`,
		`--backup-every: "1s" is too short;`,
		`--backup-keep: "count=0" is no whole number from 1;`,
		`--backup-keep: "age=x": "x" is not a duration;`,
		`--backup-keep: "count=3" is no count and no age, or one for the second time;`,
		`--backup-keep: "days=4" is no count and no age, or one for the second time;`,
		`--backup-recipient: "age1nobody" is not a public key of age;`,
		`--backup-recipient: is a private key, which the server must not have;`,
		`--metrics-addr: ":70000" has no port from 0 to 65535;`,
		`--trusted-proxy: "proxy\nlocal" is not a CIDR;`,
		`--connections-per-address: "0" is not a number from 1 to 1000000; give one, or auto`,
		`--cors-origins: "a.example" is not an origin;`,
		`--cors-origins: "https://b.example/" is not an origin;`,
		`--cors-origins: "https://C.example" has capital or foreign letters;`,
		`--cors-origins: "https://*.d.example" has a * in it; list every origin, or give * alone`,
		`--cors-origins: "https://e.example:443" has the usual port, which browsers leave out; write https://e.example`,
		`--cors-origins: has a user in it;`,
		`--cors-origins: "null" is not an origin;`,
		`--cors-origins: "http://g.example:70000" has no port from 1 to 65535;`,
		`--cors-origins: has * beside other origins;`,
		`--image-hosts: "https://a.example" is not a host; write for example images.example.com`,
		`--image-hosts: "b.example/c" is not a host; write for example images.example.com`,
		`--image-hosts: "*.d.example" is not a host; write for example images.example.com`,
		`--log-format: "xml" is not known; choose one of: text, json`,
		`--log-level: "loud" is not known; choose one of: debug, info, warn, error (file ` + conf + `)`,
		`--tls-cert: is given alone; give --tls-key too, or neither (flag)`,
	}
	if len(got) != len(want) {
		t.Errorf("got %d problems, want %d:\n%s", len(got), len(want), err)
	}
	for i := range min(len(got), len(want)) {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("problem %d:\n got %s\nwant %s", i, got[i], want[i])
		}
		if !strings.Contains(got[i], "; ") || strings.ContainsAny(got[i], "\r\n") || strings.Contains(got[i], "hunter2") {
			t.Errorf("problem %d has no remedy, several lines, or a secret: %s", i, got[i])
		}
	}
	if strings.Count(err.Error(), "\n") != len(got)-1 {
		t.Errorf("Error is not one line per problem: %q", err)
	}
}

func TestLoad_AnUnreadableConfigFileIsAProblem(t *testing.T) {
	settings, err := parse(t).Load(environment("SHEAF_CONFIG=" + t.TempDir()))
	if got := problemsOf(t, err); len(got) != 1 || !strings.HasSuffix(got[0], "(environment SHEAF_CONFIG)") {
		t.Errorf("got %q", got)
	}
	if len(settings.Describe()) != len(table)+1 {
		t.Error("the settings are not described beside the problem")
	}
}

func TestLoad_AProblemStaysOneLineWhateverAPathHolds(t *testing.T) {
	_, err := parse(t, "--webhook-ca-file", "/nonexistent/a\nb\x1b[31m").Load(environment())
	if got := problemsOf(t, err); len(got) != 1 || strings.ContainsAny(got[0], "\n\x1b") {
		t.Errorf("got %q", got)
	}
}

func TestLoad_AFileFarTooLargeIsNotRead(t *testing.T) {
	conf := write(t, "c", strings.Repeat("#\n", maxFile/2)+"#")
	_, err := parse(t, "--config", conf).Load(environment())
	if got := problemsOf(t, err); len(got) != 1 || !strings.Contains(got[0], "is larger than") {
		t.Errorf("got %q", got)
	}
}

func TestLoad_ConfigFileIsNoKeyOfItself(t *testing.T) {
	conf := write(t, "c", "config = other\n")
	_, err := parse(t, "--config", conf).Load(environment())
	if got := problemsOf(t, err); len(got) != 1 || !strings.Contains(got[0], "unknown key") {
		t.Errorf("got %q", got)
	}
}

func TestStoreLoad_ChecksOnlyTheLocationOfTheData(t *testing.T) {
	conf := write(t, "c", "data = elsewhere\nlog-level = loud\n")
	env := environment("SHEAF_CONFIG="+conf, "SHEAF_DATABASE_URL=postgres://u:p@h/db", "SHEAF_TLS_CERT=missing",
		"SHEAF_MASTER_KEY_FILE=missing")
	settings, err := Store{}.Load(env)
	if err != nil {
		t.Fatal(err)
	}
	if settings.Data != "elsewhere" || settings.DatabaseURL.Reveal() != "postgres://u:p@h/db" {
		t.Errorf("got %q and %q", settings.Data, settings.DatabaseURL.Reveal())
	}
	bad := "mysql://x"
	if _, err := (Store{DatabaseURL: &bad}).Load(env); len(problemsOf(t, err)) != 1 {
		t.Errorf("got %v", err)
	}
}
