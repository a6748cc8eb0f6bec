package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// hashOf returns the first ten bytes of the SHA-256 of body in hex: short enough for a header, and long enough
// not to collide by chance.
func hashOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:10])
}

// resourceTag returns the ETag of a single resource: its revision, which If-Match compares, and the hash of the
// body, which If-None-Match compares too.
func resourceTag(revision int64, body []byte) string {
	return `"` + strconv.FormatInt(revision, 10) + "-" + hashOf(body) + `"`
}

// pageTag returns the ETag of an answer without a revision, such as a page of a list.
func pageTag(body []byte) string { return `"` + hashOf(body) + `"` }

// matchOf reads If-Match. Only the revisions in its tags are compared. A weak tag, or a tag of another form,
// matches nothing.
func matchOf(h http.Header) sheaf.Match {
	lines := h["If-Match"]
	m := sheaf.Match{Asked: len(lines) > 0}
	for _, line := range lines {
		for t := range strings.SplitSeq(line, ",") {
			t = strings.TrimSpace(t)
			if t == "*" {
				m.Any = true
				continue
			}
			if r, ok := revisionOf(t); ok {
				m.Revisions = append(m.Revisions, r)
			}
		}
	}
	return m
}

// revisionOf returns the revision of a tag that has the form of resourceTag. It ignores the hash.
func revisionOf(tag string) (int64, bool) {
	if len(tag) < 2 || tag[0] != '"' || tag[len(tag)-1] != '"' {
		return 0, false
	}
	digits, hash, _ := strings.Cut(tag[1:len(tag)-1], "-")
	r, err := strconv.ParseInt(digits, 10, 64)
	return r, err == nil && hash != "" && !strings.Contains(hash, `"`) && digits == strconv.FormatInt(r, 10)
}
