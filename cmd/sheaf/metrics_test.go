package main

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func TestMetrics_TellOfRequestsAndTheStore(t *testing.T) {
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
		`sheaf_store_group_duration_seconds_count [1-9]\d*`} {
		if !regexp.MustCompile("(?m)^" + line + "$").MatchString(page) {
			t.Errorf("the metrics lack %s", line)
		}
	}
}
