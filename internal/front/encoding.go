package front

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// HasTag reports whether If-None-Match names the entity tag or is *, so that the client gets a 304. The
// comparison is weak: W/ is ignored.
func HasTag(h http.Header, tag string) bool {
	for _, line := range h["If-None-Match"] {
		for t := range strings.SplitSeq(line, ",") {
			t = strings.TrimSpace(t)
			if t == "*" || strings.TrimPrefix(t, "W/") == tag {
				return true
			}
		}
	}
	return false
}

// prefersHTML reports whether the client prefers HTML to JSON, as browsers do.
func prefersHTML(h http.Header) bool {
	accept := h.Values("Accept")
	return qualityOf(accept, "text/html") > qualityOf(accept, "application/json")
}

// qualityOf returns the quality, from 0 to 1, that Accept gives to exactly this type.
func qualityOf(accept []string, kind string) (most float64) {
	for one := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		name, parameters, err := mime.ParseMediaType(one)
		if err != nil || name != kind {
			continue
		}
		q := 1.0
		if s, sent := parameters["q"]; sent {
			q, _ = strconv.ParseFloat(s, 64)
		}
		most = max(most, q)
	}
	return most
}

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
