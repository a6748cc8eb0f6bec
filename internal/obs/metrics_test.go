package obs_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sheaf.dev/internal/obs"
)

func scrape(t *testing.T, register func(prometheus.Registerer)) string {
	t.Helper()
	r := obs.NewMetrics()
	register(r)
	w := httptest.NewRecorder()
	obs.MetricsHandler(r).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("answered %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func shows(t *testing.T, page string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(page, "\n"+line+"\n") {
			t.Errorf("the metrics lack %s", line)
		}
	}
}

func TestRoutes_CountByClassAndDuration(t *testing.T) {
	t.Parallel()
	all := obs.NewRoutes()
	get, idle := all.Route("/api/v1/projects/{id}", "GET"), all.Route("/idle", "GET")
	get.Served(200, time.Millisecond)
	get.Served(304, 2*time.Millisecond)
	get.Served(503, time.Minute)
	get.Served(0, 0)
	page := scrape(t, func(r prometheus.Registerer) { r.MustRegister(all) })
	const is = `{method="GET",route="/api/v1/projects/{id}"`
	shows(t, page,
		"sheaf_http_requests_total"+is+`,status="2xx"} 1`, "sheaf_http_requests_total"+is+`,status="3xx"} 1`,
		"sheaf_http_requests_total"+is+`,status="5xx"} 1`, "sheaf_http_requests_total"+is+`,status="none"} 1`,
		"sheaf_http_request_duration_seconds_bucket"+is+`,le="0.0005"} 1`,
		"sheaf_http_request_duration_seconds_bucket"+is+`,le="0.001"} 2`, // the bound belongs to it
		"sheaf_http_request_duration_seconds_bucket"+is+`,le="10"} 3`,
		"sheaf_http_request_duration_seconds_bucket"+is+`,le="+Inf"} 4`,
		"sheaf_http_request_duration_seconds_sum"+is+`} 60.003`, "sheaf_http_request_duration_seconds_count"+is+`} 4`)
	if strings.Contains(page, "/idle") {
		t.Error("a route that nobody asked for is shown")
	}
	idle.Served(200, 0)
	if page := scrape(t, func(r prometheus.Registerer) { r.MustRegister(all) }); !strings.Contains(page, "/idle") {
		t.Error("a route that somebody asked for is not shown")
	}
}

func BenchmarkRouteServed(b *testing.B) {
	r := obs.NewRoutes().Route("/", "GET")
	for b.Loop() {
		r.Served(200, 700*time.Microsecond)
	}
}

func TestMetrics_SayNosniff(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/metrics", "/none"} {
		w := httptest.NewRecorder()
		obs.MetricsHandler(obs.NewMetrics()).ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if got := w.Header().Values("X-Content-Type-Options"); len(got) != 1 || got[0] != "nosniff" {
			t.Errorf("%s: X-Content-Type-Options is %q", path, got)
		}
	}
}
