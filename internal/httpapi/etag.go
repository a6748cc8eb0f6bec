package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// hashOf is short enough for a header and long enough not to collide by chance.
func hashOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:10])
}

// resourceTag is the ETag of a single resource: its revision, by which If-Match asks, and the hash
// of this very body, by which If-None-Match does.
func resourceTag(revision int64, body []byte) string {
	return `"` + strconv.FormatInt(revision, 10) + "-" + hashOf(body) + `"`
}

// pageTag is the ETag of exactly this page.
func pageTag(body []byte) string { return `"` + hashOf(body) + `"` }

// noneMatch reports whether the client's If-None-Match has the tag. The weak comparison applies: W/
// is passed over.
func noneMatch(h http.Header, tag string) bool {
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

// matchOf reads If-Match. Only the revisions in it count; a weak tag, or one that is none of ours,
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

// revisionOf reads the revision of a tag in the very form that resourceTag writes; whatever stands
// for the hash is not compared.
func revisionOf(tag string) (int64, bool) {
	if len(tag) < 2 || tag[0] != '"' || tag[len(tag)-1] != '"' {
		return 0, false
	}
	digits, hash, _ := strings.Cut(tag[1:len(tag)-1], "-")
	r, err := strconv.ParseInt(digits, 10, 64)
	return r, err == nil && hash != "" && !strings.Contains(hash, `"`) && digits == strconv.FormatInt(r, 10)
}
