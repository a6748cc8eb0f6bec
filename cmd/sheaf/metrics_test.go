package main

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/redistest"
)

func TestMetrics_ShowRequestsAndTheStore(t *testing.T) {
	t.Parallel()
	addr := freeAddress(t)
	s := start(t, "--data", t.TempDir(), "--metrics-addr", addr, "--rate-limit", "business=4")
	key := regexp.MustCompile(`shf_[0-9A-Za-z]{46}`).FindString(s.stdout.String() + s.stderr.String())
	create, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/api/v1/projects", strings.NewReader(`{"name":"Handbook"}`))
	if err != nil {
		t.Fatal(err)
	}
	create.Header.Set("Authorization", "Bearer "+key)
	answer, err := http.DefaultClient.Do(create)
	if err != nil || answer.StatusCode != 201 {
		t.Fatalf("created: %v, %v", answer, err)
	}
	answer.Body.Close()
	for _, want := range []int{200, 200, 200, 429} {
		if got := status(t, s.url+"/api/v1/projects", key); got != want {
			t.Fatalf("answered %d, want %d", got, want)
		}
	}
	status(t, s.url+"/healthz", "")
	page := body(t, "http://"+addr+"/metrics")
	for _, line := range []string{
		`sheaf_http_requests_total{method="POST",route="/api/v1/projects",status="2xx"} 1`,
		`sheaf_http_requests_total{method="GET",route="/api/v1/projects",status="2xx"} 3`,
		`sheaf_http_requests_total{method="any",route="other",status="4xx"} 1`,
		`sheaf_http_requests_total{method="any",route="probes",status="2xx"} 1`,
		`sheaf_http_request_duration_seconds_count{method="GET",route="/api/v1/projects"} 3`,
		`sheaf_http_rate_limited_total 1`,
		`sheaf_page_cache_hits_total 2`,
		`sheaf_page_cache_misses_total 1`,
	} {
		if !strings.Contains(page, "\n"+line+"\n") {
			t.Errorf("the metrics lack %s", line)
		}
	}
	for _, line := range []string{`sheaf_page_cache_bytes [1-9]\d*`, `sheaf_store_group_members_sum [1-9]\d*`,
		`sheaf_store_commit_duration_seconds_sum [0-9.e-]*[1-9][0-9.e-]*`, `sheaf_store_group_wait_seconds_count [1-9]\d*`,
		`sheaf_store_group_duration_seconds_count [1-9]\d*`, `sheaf_store_log_bytes [1-9]\d*`} {
		if !regexp.MustCompile("(?m)^" + line + "$").MatchString(page) {
			t.Errorf("the metrics lack %s", line)
		}
	}
}

// metricsPage is the table of docs/metrics.md: a row for each metric.
func metricsPage(t *testing.T) map[string]bool {
	t.Helper()
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(sheaf_[a-z_]+)`").FindAllStringSubmatch(string(page), -1) {
		if names[row[1]] {
			t.Errorf("%s is in the page twice", row[1])
		}
		names[row[1]] = true
	}
	return names
}

// The page describes all metrics, and no others.
func TestMetrics_AreAllDescribed(t *testing.T) {
	t.Parallel()
	addr := freeAddress(t)
	nowhere := environment{"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
	s := startWith(t, nowhere, "--data", t.TempDir(), "--metrics-addr", addr, "--doctor-every", "24h", "--redis-url", redistest.Start(t).URL(),
		"--smtp-url", "smtp://127.0.0.1:1?from=sheaf@example.com", "--backup-to", "s3://bucket", "--backup-recipient", "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p")
	status(t, s.url+"/healthz", "")
	described := metricsPage(t)
	exported := map[string]bool{}
	var page string
	// Metrics that read the store are missing if it answers late, as on a busy machine.
	sheaftest.Within(5*time.Minute, func() bool {
		page = body(t, "http://"+addr+"/metrics")
		for name := range described {
			if !strings.Contains(page, "\n# TYPE "+name+" ") {
				return false
			}
		}
		return true
	})
	if !regexp.MustCompile(`(?m)^sheaf_build_info\{commit="[^"]+",goversion="go[^"]+",version="[^"]+"\} 1$`).MatchString(page) {
		t.Error("the metrics do not say which program this is")
	}
	for _, line := range regexp.MustCompile(`(?m)^# TYPE (sheaf_\S+) (\S+)$`).FindAllStringSubmatch(page, -1) {
		exported[line[1]] = true
		if strings.HasSuffix(line[1], "_total") != (line[2] == "counter") {
			t.Errorf("%s is a %s: counters alone end in _total", line[1], line[2])
		}
		if !described[line[1]] {
			t.Errorf("docs/metrics.md does not describe %s", line[1])
		}
	}
	for name := range described {
		if !exported[name] {
			t.Errorf("docs/metrics.md describes %s, which there is not", name)
		}
	}
}

// The metrics show failed deliveries.
func TestMetrics_ShowDeliveries(t *testing.T) {
	t.Parallel()
	addr := freeAddress(t)
	s := start(t, "--data", t.TempDir(), "--metrics-addr", addr, "--webhook-retry-delays", "1h,1h,1h", "--webhook-allow-cidr", "127.0.0.0/8")
	key := regexp.MustCompile(`shf_[0-9A-Za-z]{46}`).FindString(s.stdout.String())
	post(t, s.url+"/api/webhooks/subscriptions", key, `{"name":"Hook","url":"https://127.0.0.1:1/x","events":["project.created"]}`)
	post(t, s.url+"/api/v1/projects", key, `{"name":"Handbook"}`)
	sheaftest.Eventually(t, "the metrics tell of the attempt", func() bool {
		page := body(t, "http://"+addr+"/metrics")
		return strings.Contains(page, `sheaf_delivery_attempts_total{class="connection",outcome="retried"} 1`+"\n") &&
			strings.Contains(page, `sheaf_deliveries{state="waiting"} 1`+"\n")
	})
}

func post(t *testing.T, url, key, content string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	answer, err := http.DefaultClient.Do(request)
	if err != nil || answer.StatusCode != http.StatusCreated {
		t.Fatalf("%s answers %v, %v", url, answer, err)
	}
	answer.Body.Close()
}
