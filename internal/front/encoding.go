package front

import (
	"net/http"
	"strings"
)

// AcceptsGzip reports whether the client accepts gzip. A quality of 0 means that it does not.
func AcceptsGzip(h http.Header) bool {
	for _, line := range h["Accept-Encoding"] {
		for part := range strings.SplitSeq(line, ",") {
			coding, weight, _ := strings.Cut(part, ";")
			if !strings.EqualFold(strings.TrimSpace(coding), "gzip") {
				continue
			}
			q, weighed := strings.CutPrefix(strings.ReplaceAll(strings.ToLower(weight), " ", ""), "q=")
			return !weighed || strings.Trim(q, "0.") != ""
		}
	}
	return false
}
