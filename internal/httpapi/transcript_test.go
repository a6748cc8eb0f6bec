package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest/apitest"
)

// A transcript is what the API answered, chapter by chapter, as it is in testdata; -update
// rewrites it. What differs from run to run is written in a form that does not:
//
//   - an id becomes its kind and a number, in the order in which ids first appear: delivery-3. The same id has the same
//     name in every chapter and two ids never share one, so an answer that shows another delivery, or a delivery whose
//     id has changed, differs from the file;
//   - the address of the receiver becomes https://receiver, and a secret whsec_…;
//   - what an attempt took, in all and in its phases, becomes 0, and when it began, which is real time, "began".
//
// All other times stay as they are: the scenario moves the clock itself.
type transcript struct {
	t       testing.TB
	folder  string // in testdata
	c       *apitest.Client
	names   map[string]string // of ids
	count   map[string]int    // of names, by kind
	hide    *strings.Replacer // what else differs from run to run
	chapter string            // its file's name
	text    bytes.Buffer      // the chapter so far
}

func newTranscript(t testing.TB, folder string, c *apitest.Client, oldnew ...string) *transcript {
	s := &transcript{t: t, folder: folder, c: c, names: map[string]string{}, count: map[string]int{}, hide: strings.NewReplacer(oldnew...)}
	t.Cleanup(s.end) // also when the test has ended in the middle of a chapter
	return s
}

// begin ends the chapter before and begins another.
func (s *transcript) begin(chapter string) {
	s.t.Helper()
	s.end()
	s.chapter = chapter
}

// say writes a line about what has happened.
func (s *transcript) say(format string, args ...any) {
	fmt.Fprintf(&s.text, "## "+format+"\n\n", args...)
}

// get asks, and writes the answer down.
func (s *transcript) get(path string) *apitest.Response { return s.do("GET", path, nil) }

// do asks, and writes down what was asked and answered.
func (s *transcript) do(method, path string, body any, headers ...string) *apitest.Response {
	s.t.Helper()
	r := s.c.Do(method, path, body, headers...)
	if r.Err != nil {
		s.t.Fatalf("%s %s: %v", method, path, r.Err)
	}
	asked := method + " " + s.plain(path, kindOf(path))
	if body != nil {
		asked += " " + s.plain(jsonOf(body), kindOf(path))
	}
	fmt.Fprintf(&s.text, "%s\n%d", asked, r.Status)
	if len(r.Body) > 0 {
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, r.Body, "", "  "); err != nil {
			s.t.Fatalf("%s %s: %v", method, path, err)
		}
		s.text.WriteString(" " + s.plain(pretty.String(), kindOf(path)))
	}
	s.text.WriteString("\n\n")
	return r
}

var (
	anyID  = regexp.MustCompile(`(?:"(\w+)": ?")?(evt_)?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})`)
	took   = regexp.MustCompile(`("\w+_ms": )[0-9.]+`)
	phases = regexp.MustCompile(`\{\s+("dns_ms": 0),\s+("connect_ms": 0),\s+("tls_ms": 0),\s+("first_byte_ms": 0),\s+("body_ms": 0)\s+\}`)
	began  = regexp.MustCompile(`("started_at": )"[^"]+"`)
	secret = regexp.MustCompile(`whsec_[A-Za-z0-9+/=]+`)
)

// kindOf is what a plain "id" of an answer stands for.
func kindOf(path string) string {
	path, _, _ = strings.Cut(path, "?")
	switch {
	case strings.HasSuffix(path, "/deliveries"), strings.HasPrefix(path, deliveries):
		return "delivery"
	case strings.HasPrefix(path, subscriptions):
		return "subscription"
	}
	return "resource"
}

// plain returns the text in the form that is the same in every run.
func (s *transcript) plain(text, kind string) string {
	text = anyID.ReplaceAllStringFunc(text, func(found string) string {
		m := anyID.FindStringSubmatch(found)
		name := s.names[m[3]]
		if name == "" {
			k := kind
			switch {
			case m[2] != "":
				k = "event"
			case m[1] != "" && m[1] != "id":
				k = strings.TrimSuffix(m[1], "_id")
			}
			s.count[k]++
			name = fmt.Sprintf("%s-%d", k, s.count[k])
			s.names[m[3]] = name
		}
		return strings.TrimSuffix(found, m[3]) + name
	})
	text = phases.ReplaceAllString(took.ReplaceAllString(text, "${1}0"), "{$1, $2, $3, $4, $5}") // in one line
	text = began.ReplaceAllString(text, `${1}"began"`)
	return s.hide.Replace(secret.ReplaceAllString(text, "whsec_…"))
}

// end closes the chapter, and compares it with its file.
func (s *transcript) end() {
	s.t.Helper()
	if s.chapter == "" {
		return
	}
	got := s.text.String()
	s.text.Reset()
	path := filepath.Join("testdata", s.folder, s.chapter+".txt")
	if *update && !s.t.Failed() {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			s.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			from := max(0, i-25)
			s.t.Errorf("%s differs in line %d:\ngot\n%s\nwant\n%s", path, i+1,
				strings.Join(g[from:min(len(g), i+6)], "\n"), strings.Join(w[min(from, len(w)):min(len(w), i+6)], "\n"))
			return
		}
	}
	s.t.Errorf("%s has %d lines, got %d", path, len(w), len(g))
}
