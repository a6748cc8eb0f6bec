package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The texts of documents, and the versions that their changes leave (D80–D82).

func init() {
	handle("GET", "/api/v1/documents/{}/content", operation{need: documentsRead, params: params{"format": oneOf("", "markdown")}, act: (*model).getContent})
	handle("PUT", "/api/v1/documents/{}/content", operation{need: documentsWrite, raw: true, act: (*model).changeDocument})
	handle("GET", "/api/v1/documents/{}/versions", operation{need: documentsRead, params: paging(nil), act: (*model).listVersions})
	handle("GET", "/api/v1/documents/{}/versions/{n}", operation{need: documentsRead, act: (*model).getVersion})
	handle("GET", "/api/v1/documents/{}/versions/{n}/diff", operation{need: documentsRead, params: params{"to": within(1, 1<<31)}, act: (*model).diffVersions})
	handle("POST", "/api/v1/documents/{}/versions/{n}/restore", operation{need: documentsWrite, act: (*model).restoreVersion})
}

// version is a document as it was, or is.
type version struct {
	shown   record
	content string
}

func isContent(v any) bool {
	s, ok := v.(string)
	return ok && len(s) <= 1<<20 && utf8.ValidString(s) && !strings.Contains(s, "\x00")
}

// contentOf is the text that a change has, or otherwise.
func contentOf(in record, otherwise string) string {
	v, sent := in["content"]
	if !sent {
		return otherwise
	}
	s, _ := v.(string) // null is the empty text
	return s
}

// described has, in place of a text that was sent, what is shown of it.
func described(in record) record {
	if _, sent := in["content"]; !sent {
		return in
	}
	text := contentOf(in, "")
	sum := sha256.Sum256([]byte(text))
	out := maps.Clone(in)
	delete(out, "content")
	out["content_bytes"], out["content_sha256"] = float64(len(text)), hex.EncodeToString(sum[:])
	return out
}

// content is the document's text.
func (t *thing) content() string { return t.versions[len(t.versions)-1].content }

// keep notes the version that the document has now.
func (t *thing) keep(content string, by *key) {
	shown := record{"user_id": by.user, "key_id": by.id, "created_at": stamp(t.updated), "proposal_id": nil, "restored_version": nil}
	if by.proposal != "" {
		shown["proposal_id"] = by.proposal
	}
	for _, name := range []string{"version", "title", "content_bytes", "content_sha256"} {
		shown[name] = t.own[name]
	}
	t.versions = append(t.versions, version{shown, content})
}

// rewrite changes a document, and restores a deleted one. Another title or another text is a version.
func (m *model) rewrite(d *thing, in record, by *key) {
	fields, content := maps.Clone(described(in)), contentOf(in, d.content())
	versioned := false
	for _, name := range []string{"title", "content_sha256"} {
		v, sent := fields[name]
		versioned = versioned || sent && v != d.own[name]
	}
	if versioned {
		fields["version"] = d.own["version"].(float64) + 1
	}
	if d.deleted {
		m.noteReview(d.own["project_id"]) // the event has only where it is now
		set(d.own, fields)
		d.deleted, d.deletion = false, 0
		m.touch(d)
		m.emit("document.created", d.id, m.show("document", d))
	} else {
		m.change("document", d, fields)
	}
	if versioned {
		d.keep(content, by)
	}
}

func (m *model) getContent(c *call) answer {
	d := find(m.documents, c.id)
	if d == nil {
		return notFound
	}
	return answer{status: 200, text: true, body: d.content(), tag: tagOf(d.revision, d.content())}
}

func (m *model) listVersions(c *call) answer {
	d := find(m.documents, c.id)
	if d == nil {
		return notFound
	}
	items := []any{}
	for _, v := range d.versions {
		items = append(items, v.shown)
	}
	if c.query["order"] != "asc" { // the newest first
		slices.Reverse(items)
	}
	return c.page(items)
}

// version finds one of a document's; nil: there is none.
func (m *model) version(id, number string) (*thing, *version) {
	d := find(m.documents, id)
	n, err := strconv.Atoi(number)
	if d == nil || err != nil || n < 1 || n > len(d.versions) {
		return d, nil
	}
	return d, &d.versions[n-1]
}

func (m *model) getVersion(c *call) answer {
	_, v := m.version(c.id, c.version)
	if v == nil {
		return notFound
	}
	body := maps.Clone(v.shown)
	body["content"] = v.content
	return answer{status: 200, body: body, tag: canonical(body)}
}

func (m *model) restoreVersion(c *call) answer {
	d, v := m.version(c.id, c.version)
	switch {
	case v == nil:
		return notFound
	case !d.matches(c.request.match):
		return stale
	}
	number, before := v.shown["version"], len(d.versions)
	m.rewrite(d, record{"title": v.shown["title"], "content": v.content}, c.key)
	if len(d.versions) > before {
		d.versions[before].shown["restored_version"] = number
	}
	return resource(200, d, m.show("document", d))
}

func (m *model) diffVersions(c *call) answer {
	d, from := m.version(c.id, c.version)
	if from == nil {
		return notFound
	}
	to, sent := c.query["to"]
	if !sent {
		to = strconv.Itoa(len(d.versions))
	}
	_, other := m.version(c.id, to)
	if other == nil {
		return notFound
	}
	return answer{status: 200, text: true, judge: func(diff string) error { return leads(from.content, other.content, diff) }}
}

// leads judges a diff by what it is for: applied to one text it must make the other, and for equal texts there is none.
func leads(from, to, diff string) error {
	if from == to || diff == "" {
		if from != to || diff != "" {
			return fmt.Errorf("the texts %q and %q have the diff %q", from, to, diff)
		}
		return nil
	}
	made, err := patch(from, diff)
	if err == nil && made != to {
		err = fmt.Errorf("it makes %q of %q, want %q", made, from, to)
	}
	return err
}

// patch applies a unified diff.
func patch(text, diff string) (string, error) {
	lines, out, at := strings.SplitAfter(text, "\n"), "", 0
	changes := strings.SplitAfter(diff, "\n")
	if len(changes) < 3 || !strings.HasPrefix(changes[0], "--- version ") || !strings.HasPrefix(changes[1], "+++ version ") {
		return "", fmt.Errorf("%q has no head", diff)
	}
	for i, line := range changes[2:] {
		ending := i+3 < len(changes) && strings.HasPrefix(changes[i+3], `\ `) // its line has no end
		if ending {
			line = strings.TrimSuffix(line, "\n")
		}
		switch {
		case line == "" && !ending, strings.HasPrefix(line, `\ `):
		case strings.HasPrefix(line, "@@ -"):
			var first int
			if _, err := fmt.Sscanf(line, "@@ -%d", &first); err != nil {
				return "", err
			}
			for ; at < first-1; at++ {
				out += lines[at]
			}
		case line[0] == '+':
			out += line[1:]
		case at >= len(lines) || lines[at] != line[1:]:
			return "", fmt.Errorf("line %d of %q is not %q", at+1, text, line[1:])
		default:
			if line[0] == ' ' {
				out += line[1:]
			}
			at++
		}
	}
	return out + strings.Join(lines[at:], ""), nil
}
