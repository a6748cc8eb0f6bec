package console

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"sheaf.dev/internal/icon"
	"sheaf.dev/internal/sheaf"
)

//go:embed pages
var pageFiles embed.FS

// page is what every template gets.
type page struct {
	Base        string // before every address
	Path        string // of this page, without Base
	Fault       string // what was wrong with the form
	In          bool   // somebody is signed in
	User        sheaf.User
	Memberships []sheaf.Membership
	Member      sheaf.Membership // in this page's workspace
	Dialog      bool             // "main" alone is shown, in the dialog
	Tree        *tree            // beside the page; nil for none
	Made        int64            // Unix milliseconds before anything was read for it
	Data        any
	may         func(sheaf.Scope) bool
}

// At returns an address within the workspace.
func (p page) At(path ...any) string {
	out := p.Base + "/w/" + string(p.Member.Workspace.ID)
	for _, part := range path {
		// Identifiers come as themselves, or where they may be missing as pointers.
		out += "/" + fmt.Sprint(reflect.Indirect(reflect.ValueOf(part)))
	}
	return out
}

// May reports whether the person may do what the scope allows.
func (p page) May(s string) bool { return p.may(sheaf.Scope(s)) }

// Owner reports whether the person owns the workspace.
func (p page) Owner() bool { return p.Member.Role == sheaf.Owner }

// Section reports whether the page is in that part of the workspace.
func (p page) Section(names ...string) bool {
	rest, _ := strings.CutPrefix(p.Path, "/w/"+string(p.Member.Workspace.ID)+"/")
	first, _, _ := strings.Cut(rest, "/")
	return slices.Contains(names, first)
}

// page returns what the templates get for this visit.
func (v *visit) page(data any) page {
	return page{Base: v.console.base, Path: v.r.URL.Path, In: v.in, User: v.session.User, Memberships: v.session.Memberships,
		Member: v.member, Dialog: v.inDialog(), Made: v.began.UnixMilli(), Data: data, may: v.caller.May}
}

// show writes a page.
func (v *visit) show(status int, name string, data any) error {
	return v.render(status, name, v.page(data))
}

// render writes a page. It is made whole before the status is sent, and is
// Unavailable when too many large ones wait for their readers.
func (v *visit) render(status int, name string, p page) error {
	root := "layout"
	if p.Dialog {
		root = "dialog"
	}
	var b bytes.Buffer
	if err := v.console.pages[name].ExecuteTemplate(&b, root, p); err != nil {
		return fmt.Errorf("render %s: %w", name, err)
	}
	if err := v.hold(status, b.Cap()); err != nil {
		return err
	}
	v.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.Header().Set("Vary", "HX-Request, HX-Target")
	v.WriteHeader(status)
	if v.r.Method != http.MethodHead {
		v.Write(b.Bytes())
	}
	return nil
}

// fragment writes one template of a page's file, for a script that puts it into
// the page.
func (v *visit) fragment(name, part string, data any) error {
	var b bytes.Buffer
	if err := v.console.pages[name].ExecuteTemplate(&b, part, v.page(data)); err != nil {
		return fmt.Errorf("render %s of %s: %w", part, name, err)
	}
	if err := v.hold(http.StatusOK, b.Cap()); err != nil {
		return err
	}
	v.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.WriteHeader(http.StatusOK)
	v.Write(b.Bytes())
	return nil
}

// shared are the files whose templates every page may use.
var shared = []string{"pages/layout.html", "pages/parts.html"}

func (c *Console) readPages() map[string]*template.Template {
	names, err := fs.Glob(pageFiles, "pages/*.html")
	if err != nil {
		panic("console: " + err.Error())
	}
	base := template.Must(template.New("").Funcs(c.functions()).ParseFS(pageFiles, shared...))
	out := map[string]*template.Template{}
	for _, file := range names {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "pages/"), ".html")
		if name != "layout" && name != "parts" {
			out[name] = template.Must(template.Must(base.Clone()).ParseFS(pageFiles, file))
		}
	}
	return out
}

func (c *Console) functions() template.FuncMap {
	return template.FuncMap{
		"asset": func(name string) string { return c.base + c.files.address(name) },
		"icon":  drawing,
		"time":  timeElement,
		"many":  many,
		"pair":  func(a, b any) [2]any { return [2]any{a, b} },
		"map":   pairs,
		"text":  text,
		"icons": icon.All,

		"address":  func(s string) *string { return &s },
		"article":  article,
		"health":   healthOf,
		"millis":   millis,
		"tone":     toneOf,
		"initials": initials,
		"palette":  palette,
		"person":   person,
	}
}

// drawing returns an icon of the catalogue, or of the console's own, as an SVG
// that is hidden from screen readers: a name stands beside it. colour may be
// given; it is an attribute, since the policy forbids styles.
func drawing(id string, colour ...*string) template.HTML {
	svg, ok := ownIcons[id]
	if !ok {
		found, known := icon.Lookup(id)
		if !known {
			found, _ = icon.Lookup("file-text")
		}
		svg = found.SVG
	}
	attributes := `<svg class="icon" aria-hidden="true" focusable="false"`
	if len(colour) > 0 && colour[0] != nil && sheaf.CheckColor(*colour[0]) == nil {
		attributes += ` color="` + *colour[0] + `"`
	}
	// #nosec G203 -- icons are ours, and a colour has been checked to be one
	return template.HTML(strings.Replace(svg, "<svg", attributes, 1))
}

// ownIcons are drawings of the interface that are not in the catalogue.
var ownIcons = map[string]string{
	"more":    ownIcon(`<circle cx="5" cy="12" r="1"/><circle cx="12" cy="12" r="1"/><circle cx="19" cy="12" r="1"/>`),
	"plus":    ownIcon(`<path d="M5 12h14M12 5v14"/>`),
	"chevron": ownIcon(`<path d="m9 6 6 6-6 6"/>`),
	"updown":  ownIcon(`<path d="m7 15 5 5 5-5M7 9l5-5 5 5"/>`),
	"search":  ownIcon(`<circle cx="11" cy="11" r="7"/><path d="m21 21-4.3-4.3"/>`),
	"sun":     ownIcon(`<circle cx="12" cy="12" r="4"/><path d="M12 2v2M12 20v2M4.9 4.9l1.4 1.4M17.7 17.7l1.4 1.4M2 12h2M20 12h2M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4"/>`),
	"moon":    ownIcon(`<path d="M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5Z"/>`),
	"close":   ownIcon(`<path d="M18 6 6 18M6 6l12 12"/>`),
	"check":   ownIcon(`<path d="m4 12 5 5L20 6"/>`),
	"copy":    ownIcon(`<rect x="9" y="9" width="12" height="12" rx="2"/><path d="M5 15H4a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1h10a1 1 0 0 1 1 1v1"/>`),
	"alert":   ownIcon(`<path d="M12 9v4M12 17h.01"/><path d="M10.3 3.9 2.4 18a2 2 0 0 0 1.7 3h15.8a2 2 0 0 0 1.7-3L13.7 3.9a2 2 0 0 0-3.4 0Z"/>`),
	"menu":    ownIcon(`<path d="M4 7h16M4 12h16M4 17h16"/>`),
	"users":   ownIcon(`<circle cx="9" cy="8" r="3.5"/><path d="M2.5 20a6.5 6.5 0 0 1 13 0M16 4.8a3.5 3.5 0 0 1 0 6.4M18 14.3a6.5 6.5 0 0 1 3.5 5.7"/>`),
	"webhook": ownIcon(`<circle cx="12" cy="7" r="3"/><circle cx="6" cy="17" r="3"/><circle cx="18" cy="17" r="3"/><path d="m10.6 9.7-3 4.7M13.4 9.7l3 4.7M9 17h6"/>`),
	"pulse":   ownIcon(`<path d="M2 12h5l3-8 4 16 3-8h5"/>`),
	"gear":    ownIcon(`<circle cx="12" cy="12" r="3"/><path d="M12 2v3M12 19v3M4.2 4.2l2.1 2.1M17.7 17.7l2.1 2.1M2 12h3M19 12h3M4.2 19.8l2.1-2.1M17.7 6.3l2.1-2.1"/>`),
	"sheaf":   ownIcon(`<path d="M12 21V9M12 9c0-3 1.2-5 0-7-1.2 2 0 4 0 7ZM12 13c-3.500 0-6-2-6.500-6 3.800.5 6.500 2.500 6.500 6ZM12 13c3.500 0 6-2 6.500-6-3.800.5-6.500 2.500-6.500 6ZM7.500 17.500h9"/>`),
}

func ownIcon(paths string) string {
	return `<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round">` + paths + `</svg>`
}

// timeElement shows a time. A script puts it into the reader's zone; the exact
// UTC stays in the title.
func timeElement(t any) template.HTML {
	at, ok := t.(time.Time)
	if p, is := t.(*time.Time); is && p != nil {
		at, ok = *p, true
	}
	if !ok {
		return `<span class="muted">never</span>`
	}
	at = at.UTC()
	// #nosec G203 -- a time alone, in three formats
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, at.Format(sheaf.TimeFormat),
		at.Format("2006-01-02 15:04:05.000 UTC"), at.Format("2 Jan 2006, 15:04")))
}

// many counts a noun: 1 project, 2 projects, 3 deliveries.
func many(n any, noun string) string {
	count := fmt.Sprint(n)
	stem, y := strings.CutSuffix(noun, "y")
	switch {
	case count == "1":
	case y && !strings.HasSuffix(noun, "ey"):
		noun = stem + "ies" // 2 deliveries, and 2 keys
	default:
		noun += "s"
	}
	return count + " " + noun
}

// pairs makes a map of names and values, for a template that takes several.
func pairs(args ...any) (map[string]any, error) {
	if len(args)%2 != 0 {
		return nil, fmt.Errorf("map takes names and values, got %d", len(args))
	}
	out := map[string]any{}
	for i := 0; i < len(args); i += 2 {
		out[fmt.Sprint(args[i])] = args[i+1]
	}
	return out, nil
}

// text returns what a pointer points at, or nothing.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// person is what somebody is called: by name, else by e-mail.
func person(u sheaf.User) string {
	if u.Name != "" {
		return u.Name
	}
	return text(u.Email)
}

// initials are one or two letters for somebody.
func initials(u sheaf.User) string {
	out := ""
	for word := range strings.FieldsSeq(person(u)) {
		first, _ := utf8.DecodeRuneInString(word)
		if out += string(unicode.ToUpper(first)); utf8.RuneCountInString(out) == 2 {
			break
		}
	}
	return out
}

func article(r sheaf.Role) string {
	if r == sheaf.Member {
		return "a"
	}
	return "an"
}

// swatch is a colour to choose.
type swatch struct {
	Name, Value string
	Now         bool
}

// palette lists the colours to choose, with the present one among them.
func palette(now string) []swatch {
	all := []swatch{{Name: "No colour"}, {Name: "Grey", Value: "#6b7280"}, {Name: "Red", Value: "#dc2626"}, {Name: "Orange", Value: "#ea580c"},
		{Name: "Amber", Value: "#ca8a04"}, {Name: "Green", Value: "#16a34a"}, {Name: "Teal", Value: "#0d9488"}, {Name: "Blue", Value: "#2563eb"},
		{Name: "Indigo", Value: "#4f46e5"}, {Name: "Purple", Value: "#9333ea"}, {Name: "Pink", Value: "#db2777"}}
	for i := range all {
		if strings.EqualFold(all[i].Value, now) {
			all[i].Now = true
			return all
		}
	}
	return append(all, swatch{Name: "The present colour", Value: now, Now: true})
}

// sentence makes a rule's text, which begins in lower case for the API, one for
// a page.
func sentence(e *sheaf.Error) string {
	s := e.Text
	if e.Person != "" {
		s = e.Person
	}
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	s = string(unicode.ToUpper(first)) + s[size:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}
