package main

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/redistest"
)

// The metrics show whether Redis is lost or back.
func TestServe_ReportsWhetherLimitsAreShared(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	addr := freeAddress(t)
	start(t, "--data", t.TempDir(), "--redis-url", redis.URL(), "--metrics-addr", addr)
	shows := func(line string) {
		t.Helper()
		sheaftest.Eventually(t, "the metrics show "+line, func() bool {
			return strings.Contains(body(t, "http://"+addr+"/metrics"), line+"\n")
		})
	}
	shows("sheaf_rate_limit_alone 0")
	shows("sheaf_rate_limit_nodes 1")
	redis.Stop()
	shows("sheaf_rate_limit_alone 1")
	redis.Restart()
	shows("sheaf_rate_limit_alone 0")
	// At least once: a Redis that answers late on a busy machine counts as lost too.
	if page := body(t, "http://"+addr+"/metrics"); !regexp.MustCompile(`(?m)^sheaf_rate_limit_losses_total [1-9]`).MatchString(page) {
		t.Errorf("the metrics do not tell that Redis was lost: %s", page)
	}
}

func body(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A person may open 600 costly pages a minute in each workspace, and a reader of shares 120 pages.
func TestLimits_OfReading(t *testing.T) {
	t.Parallel()
	var alone *sharedLimits
	for most, want := range map[int]int{consoleReads: 600, sharePages: 120} {
		admit, now := alone.reading(most), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		for i := range want {
			if wait := admit(t.Context(), "a", now); wait != 0 {
				t.Fatalf("reading %d of %d waits %v", i, want, wait)
			}
		}
		if wait := admit(t.Context(), "a", now); wait <= 0 || wait > 61*time.Second {
			t.Errorf("one more than %d waits %v", want, wait)
		}
		if wait := admit(t.Context(), "b", now); wait != 0 {
			t.Errorf("another waits %v", wait)
		}
		if wait := admit(t.Context(), "a", now.Add(61*time.Second)); wait != 0 {
			t.Errorf("a minute later a reading waits %v", wait)
		}
	}
}
