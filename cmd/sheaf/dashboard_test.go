package main

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/promtest"
	"sheaf.dev/internal/sheaftest/redistest"
)

// Each alert fires when it should, and not before, by Prometheus' own engine. A changed threshold is noticed.
func TestAlerts_FireWhenTheyShould(t *testing.T) {
	t.Parallel()
	const tests = "../../deploy/alerts_test.yml"
	if err := promtest.Rules(t, "../../deploy/alerts.yml", tests); err != nil {
		t.Error(err)
	}
	rules := deployed(t, "alerts.yml")
	for name, change := range map[string][2]string{
		"SheafDeliveriesAreLate": {"> 120", "> 1200"},
		"SheafDown":              {"for: 1m", "for: 10m"},
		"SheafBackupIsLate":      {"min by (job) (sheaf_backup_age_seconds)", "max by (job) (sheaf_backup_age_seconds)"},
	} {
		changed := strings.Replace(rules, change[0], change[1], 1)
		path := filepath.Join(t.TempDir(), "alerts.yml")
		if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := promtest.Rules(t, path, tests); changed == rules || err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s with %s: %v", name, change[1], err)
		}
	}
}

// dashboard is what the test reads of the file for Grafana.
type dashboard struct {
	Title      string
	Templating struct {
		List []struct{ Name, Definition string }
	}
	Panels []struct {
		ID          int
		Type, Title string
		GridPos     struct{ H, W, X, Y int }
		Targets     []struct{ RefID, Expr string }
	}
}

// Each query of the dashboard has a result on the metrics of a real server that does a bit of everything.
func TestDashboard_EveryQueryHasAResult(t *testing.T) {
	t.Parallel()
	var d dashboard
	if err := json.Unmarshal([]byte(deployed(t, "grafana.json")), &d); err != nil {
		t.Fatal(err)
	}
	var queries, titles []string
	ids, places := map[int]bool{}, map[[2]int]bool{}
	// Grafana replaces these; a minute of samples has fewer than the five that its interval has.
	variables := strings.NewReplacer("$__rate_interval", "1m", "$job", "sheaf", "$instance", ".*")
	for _, p := range d.Panels {
		at := [2]int{p.GridPos.X, p.GridPos.Y}
		if ids[p.ID] || places[at] || p.Title == "" || p.GridPos.X+p.GridPos.W > 24 || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("the panel %q has the id or the place of another, or no query", p.Title)
		}
		ids[p.ID], places[at] = true, true
		for _, target := range p.Targets {
			queries, titles = append(queries, variables.Replace(target.Expr)), append(titles, p.Title)
		}
	}
	described := metricsPage(t)
	shown := map[string]bool{}
	for _, q := range queries {
		if strings.Contains(q, "$") {
			t.Errorf("%s has a variable that Grafana does not know", q)
		}
		for _, name := range regexp.MustCompile(`\bsheaf_[a-z_]+`).FindAllString(q, -1) {
			for _, end := range []string{"_bucket", "_sum", "_count"} {
				if base := strings.TrimSuffix(name, end); !described[name] && described[base] {
					name = base
				}
			}
			if shown[name] = true; !described[name] {
				t.Errorf("%s asks for %s, which there is not", q, name)
			}
		}
	}
	if len(queries) < 40 || len(shown) < 40 {
		t.Errorf("%d queries show %d metrics", len(queries), len(shown))
	}
	before, after := busyServer(t)
	for i, a := range promtest.Queries(t, before, after, queries) {
		if a.Error != "" || a.Series == 0 {
			t.Errorf("%s: %s has %d series: %s", titles[i], a.Query, a.Series, a.Error)
		}
	}
	for _, a := range promtest.Queries(t, before, after, []string{"sum(rate(sheaf_nothing[1m]))", "sum(("}) {
		if a.Series != 0 || a.Query == "sum((" && a.Error == "" {
			t.Errorf("%+v: the engine answers anything", a)
		}
	}
}

// busyServer returns two scrapes of a server, between which it was used.
func busyServer(t *testing.T) (before, after string) {
	t.Helper()
	receiver := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: receiver.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	addr := freeAddress(t)
	nowhere := environment{"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
	s := startWith(t, nowhere, "--data", t.TempDir(), "--metrics-addr", addr, "--doctor-every", "24h", "--redis-url", redistest.Start(t).URL(),
		"--smtp-url", "smtp://127.0.0.1:1?from=sheaf@example.com", "--backup-to", "s3://bucket", "--webhook-allow-cidr", "127.0.0.0/8", "--webhook-ca-file", roots,
		"--backup-recipient", "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p")
	key := s.stdout.wait(t, `(shf_\w+)`, s.ended)
	post := func(path, content string) {
		request, err := http.NewRequestWithContext(t.Context(), "POST", s.url+path, strings.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+key)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if said, _ := io.ReadAll(answer.Body); answer.StatusCode != 201 {
			t.Fatalf("%s: %d %s", path, answer.StatusCode, said)
		}
	}
	use := func() {
		post("/api/v1/projects", `{"name": "Handbook"}`)
		for _, path := range []string{"/api/v1/projects", "/api/v1/projects", "/api/v1/search?q=hand"} {
			status(t, s.url+path, key)
		}
	}
	post("/api/webhooks/subscriptions", `{"name": "w", "url": "`+receiver.URL+`", "events": ["project.created"]}`)
	metrics := func() string { return body(t, "http://"+addr+"/metrics") }
	has := func(pattern string) {
		t.Helper()
		p := regexp.MustCompile(pattern)
		sheaftest.Eventually(t, pattern, func() bool { return p.MatchString(metrics()) })
	}
	use()
	has(`sheaf_delivery_attempts_total\{.*outcome="delivered"\} 1\n`)
	has(`sheaf_doctor_last_run_timestamp_seconds \d`)
	has(`sheaf_deliveries\{state="waiting"\}`)
	before = metrics()
	use()
	has(`sheaf_delivery_attempts_total\{.*outcome="delivered"\} 2\n`)
	return before, metrics()
}
