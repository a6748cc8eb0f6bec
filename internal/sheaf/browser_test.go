package sheaf_test

import (
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
)

func TestBrowserName_IsReadFromTheHeader(t *testing.T) {
	const webkit = "Mozilla/5.0 (%s) AppleWebKit/537.36 (KHTML, like Gecko) "
	for agent, want := range map[string]string{
		"": "Unknown browser",
		"Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0":                                 "Firefox on Linux",
		strings.Replace(webkit, "%s", "Windows NT 10.0; Win64; x64", 1) + "Chrome/142.0 Safari/537.36 Edg/142.0": "Edge on Windows",
		strings.Replace(webkit, "%s", "Macintosh; Intel Mac OS X 10_15_7", 1) + "Chrome/142.0 Safari/537.36":     "Chrome on Mac",
		strings.Replace(webkit, "%s", "Linux; Android 10; K", 1) + "Chrome/142.0 Mobile Safari/537.36":           "Chrome on Android",
		"curl/8.5.0":                      "curl",
		"Mozilla/5.0 (X11; Linux x86_64)": "Unknown browser on Linux",
	} {
		if got := sheaf.BrowserName(agent); got != want {
			t.Errorf("%q is %q, want %q", agent, got, want)
		}
	}
}
