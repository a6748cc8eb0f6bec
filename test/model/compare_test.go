package model

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// check holds what came back against what the model answers. Symbols that are new take the engine's values.
func (e *engine) check(want answer, got exchange) error {
	if got.status != want.status {
		return fmt.Errorf("%d, want %d %s", got.status, want.status, want.code)
	}
	if !want.ok() {
		if got.method == "HEAD" { // which has no body
			return nil
		}
		return e.checkError(want, got)
	}
	if err := e.checkBody(want, got); err != nil {
		return err
	}
	if err := e.checkTag(want, got); err != nil {
		return err
	}
	return e.checkHeaders(want, got)
}

func (e *engine) checkBody(want answer, got exchange) error {
	switch {
	case want.judge != nil:
		return want.judge(got.text)
	case want.status == 304 || want.body == nil:
		if got.text != "" {
			return fmt.Errorf("a body, want none")
		}
		return nil
	case want.text:
		if got.text != want.body {
			return fmt.Errorf("the text %q, want %q", got.text, want.body)
		}
		return nil
	}
	return e.same("", want.body, got.body)
}

func (e *engine) checkError(want answer, got exchange) error {
	body, _ := got.body.(record)
	fields := 2
	for _, name := range []string{"field", "index", "conflicts"} { // what is wrong, where it is one field, one change, or the state of documents
		if _, named := body[name]; named {
			fields++
		}
	}
	if text, _ := body["error"].(string); len(body) != fields || text == "" || body["code"] != want.code {
		return fmt.Errorf("not {error, code: %s}", want.code)
	}
	if found, ok := body["conflicts"]; ok || want.conflicts != nil {
		return e.same("conflicts", want.conflicts, found)
	}
	return nil
}

// checkTag holds that two ETags are equal exactly when what they stand for is.
func (e *engine) checkTag(want answer, got exchange) error {
	if want.tag == "" {
		return nil
	}
	tag := got.header.Get("ETag")
	if !strongTag.MatchString(tag) {
		return fmt.Errorf("ETag %q is none", tag)
	}
	if known := e.tags[want.tag]; known != "" && known != tag {
		return fmt.Errorf("ETag %s, and the same had %s before", tag, known)
	}
	if known := e.meanings[tag]; known != "" && known != want.tag {
		return fmt.Errorf("ETag %s was that of %s before", tag, known)
	}
	e.tags[want.tag], e.meanings[tag] = tag, want.tag
	return nil
}

var strongTag = regexp.MustCompile(`^"(\d+-)?[0-9a-f]+"$`)

func (e *engine) checkHeaders(want answer, got exchange) error {
	if replayed := got.header.Get("Idempotent-Replayed") == "true"; replayed != want.replayed {
		return fmt.Errorf("Idempotent-Replayed %t, want %t", replayed, want.replayed)
	}
	for name, value := range want.headers {
		if got := got.header.Get(name); got != value {
			return fmt.Errorf("%s %q, want %q", name, got, value)
		}
	}
	if want.location != "" {
		if err := e.bindLocation(want.location, got.header.Get("Location")); err != nil {
			return err
		}
		if location, wanted := got.header.Get("Location"), "http://sheaf.test"+e.translate(want.location); location != wanted {
			return fmt.Errorf("Location %q, want %q", location, wanted)
		}
	}
	if !want.page {
		return nil
	}
	for rel, to := range map[string]string{"next": want.next, "prev": want.prev} {
		if led := linked(got.header.Get("Link"), rel); led != e.translate(to) {
			return fmt.Errorf("Link rel=%s leads to %q, want %q", rel, led, e.translate(to))
		}
	}
	return nil
}

// bindLocation binds what is named in a Location alone, as an upload is.
func (e *engine) bindLocation(want, got string) error {
	if symbol := want[strings.LastIndexByte(want, '/')+1:]; symbolForm.MatchString(symbol) && !e.knows(symbol) {
		return e.sameText("Location", symbol, got[strings.LastIndexByte(got, '/')+1:])
	}
	return nil
}

var linkForm = regexp.MustCompile(`<([^>]*)>; rel="(\w+)"`)

// linked returns where a Link leads: offset=5, after=evt_…, or "" for nowhere.
func linked(header, rel string) string {
	for _, m := range linkForm.FindAllStringSubmatch(header, -1) {
		if m[2] != rel {
			continue
		}
		u, err := url.Parse(m[1])
		if err != nil {
			return err.Error()
		}
		if after := u.Query().Get("after"); after != "" {
			return "after=" + after
		}
		return "offset=" + u.Query().Get("offset")
	}
	return ""
}

// same compares two JSON values.
func (e *engine) same(at string, want, got any) error {
	switch w := want.(type) {
	case record:
		return e.sameRecord(at, w, got)
	case []any:
		return e.sameList(at, w, got)
	case string:
		return e.sameText(at, w, got)
	case stored:
		want = float64(w) + e.keptBytes()
	}
	if want != got {
		return fmt.Errorf("%s is %v, want %v", at, got, want)
	}
	return nil
}

func (e *engine) sameRecord(at string, want record, got any) error {
	g, ok := got.(record)
	if !ok {
		return fmt.Errorf("%s is %v, want an object", at, got)
	}
	names, found := slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(g))
	if !slices.Equal(names, found) {
		return fmt.Errorf("%s has the fields %v, want %v", at, found, names)
	}
	for _, name := range names {
		if err := e.same(at+"."+name, want[name], g[name]); err != nil {
			return err
		}
	}
	return nil
}

func (e *engine) sameList(at string, want []any, got any) error {
	g, ok := got.([]any)
	if !ok || len(g) != len(want) {
		return fmt.Errorf("%s has %d elements, want %d", at, len(g), len(want))
	}
	for i := range want {
		if err := e.same(fmt.Sprintf("%s[%d]", at, i), want[i], g[i]); err != nil {
			return err
		}
	}
	return nil
}

// sameText binds a symbol that is new to the value, which no other symbol may have.
func (e *engine) sameText(at, want string, got any) error {
	if want == anything {
		return nil
	}
	text, ok := got.(string)
	if !ok {
		return fmt.Errorf("%s is %v, want %q", at, got, want)
	}
	if !wholeForm.MatchString(want) {
		if symbolForm.MatchString(want) && !slices.ContainsFunc(symbolForm.FindAllString(want, -1), func(s string) bool { return !e.knows(s) }) {
			want = e.translate(want)
		}
		if text != want {
			return fmt.Errorf("%s is %q, want %q", at, text, want)
		}
		return nil
	}
	if known := e.symbols[text]; known != "" || e.knows(want) {
		if known != want {
			return fmt.Errorf("%s is %q (%s), want %s", at, text, known, want)
		}
		return nil
	}
	if form := formOf(want); !form.MatchString(text) {
		return fmt.Errorf("%s is %q, no %s", at, text, form)
	}
	e.bind(want, text)
	return nil
}

var (
	uuidForm   = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	madeForm   = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	eventForm  = regexp.MustCompile(`^evt_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	keyForm    = regexp.MustCompile(`^shf_[0-9A-Za-z]{46}$`)
	prefixForm = regexp.MustCompile(`^shf_[0-9A-Za-z]{6}$`)
	linkedForm = regexp.MustCompile(`^https://sheaf\.test/s/[0-9A-Za-z]{22}$`)
	secretForm = regexp.MustCompile(`^whsec_[0-9A-Za-z+/]{56}$`)
)

// formOf is how the values of a symbol must look (D1, D50, D66).
func formOf(symbol string) *regexp.Regexp {
	switch kind := strings.TrimRight(strings.Trim(symbol, "{}"), "0123456789"); kind {
	case "e":
		return eventForm
	case "delivery":
		return madeForm
	case "secretkey":
		return keyForm
	case "prefix":
		return prefixForm
	case "secret":
		return secretForm
	case "link":
		return linkedForm
	}
	return uuidForm
}
