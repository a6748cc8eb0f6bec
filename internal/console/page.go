package console

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"text/template/parse"

	"sheaf.dev/internal/icon"
	"sheaf.dev/internal/sheaf"
)

//go:embed pages
var pageFiles embed.FS

// page is what every template gets.
type page struct {
	Base        string // before every address
	Path        string // of this page, without Base
	Fault       fault  // what was wrong with the form
	In          bool   // somebody is signed in
	User        sheaf.User
	Memberships []sheaf.Membership
	Member      sheaf.Membership       // in this page's workspace
	Dialog      bool                   // "main" alone is shown, in the dialog
	Tree        *tree                  // beside the page; nil for none
	Place       place                  // where what the page is about is
	Troubled    int64                  // webhooks that fail, or were deactivated because they did
	Made        int64                  // Unix milliseconds before anything was read for it
	Data        any                    // what the handler gave to show
	may         func(sheaf.Scope) bool // what the person may do in this workspace
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
		Member: v.member, Dialog: v.inDialog(), Made: v.began.UnixMilli(), Place: v.place, Data: data, may: v.caller.May}
}

// show writes a page.
func (v *visit) show(status int, name string, data any) error {
	return v.render(status, name, v.page(data))
}

// render writes a page. It is made whole before the status is sent, and is Unavailable when too
// many large ones wait for their readers.
func (v *visit) render(status int, name string, p page) error {
	root := "layout"
	if p.Dialog {
		root = "dialog"
	} else if p.Member.Role != "" {
		// Without the store the page is made all the same: it may be the one that says so.
		p.Troubled, _ = v.console.app.TroubledSubscriptions(v.r.Context(), v.caller)
	}
	var b bytes.Buffer
	if err := v.console.pages[name].ExecuteTemplate(&b, root, p); err != nil {
		return fmt.Errorf("render %s: %w", name, err)
	}
	v.Header().Set("Vary", "HX-Request, HX-Target")
	return v.send(status, b.Bytes())
}

// fragment writes one template of a page's file, for a script that puts it into the page.
func (v *visit) fragment(name, part string, data any) error {
	var b bytes.Buffer
	if err := v.console.pages[name].ExecuteTemplate(&b, part, v.page(data)); err != nil {
		return fmt.Errorf("render %s of %s: %w", part, name, err)
	}
	return v.send(http.StatusOK, b.Bytes())
}

// shared are the files whose templates every page may use.
var shared = []string{"pages/layout.html", "pages/parts.html"}

// readPages parses the templates, each with those that all share. One that is broken ends the
// program at its start.
func (c *Console) readPages() map[string]*template.Template {
	names, err := fs.Glob(pageFiles, "pages/*.html")
	if err != nil {
		panic("console: " + err.Error())
	}
	base := template.Must(template.New("").Option("missingkey=error").Funcs(c.functions()).ParseFS(pageFiles, shared...))
	for _, name := range tight {
		tighten(base.Lookup(name).Tree.Root)
	}
	out := map[string]*template.Template{}
	for _, file := range names {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "pages/"), ".html")
		if name != "layout" && name != "parts" {
			out[name] = template.Must(template.Must(base.Clone()).ParseFS(pageFiles, file))
		}
	}
	return out
}

// tight are the templates of rows, of which a page has hundreds: between their elements is no space,
// which would be a third of what a browser has to keep.
var tight = []string{"level", "branch", "leaf", "look-leaf", "project-cards", "folder-cards", "branding-cards", "documents-list"}

// aroundTags is space with the end of a line in it, at the beginning or end of a tag.
var aroundTags = regexp.MustCompile(`(^|>)\s*\n\s*(<|$)`)

// tighten takes the space out of a template that stands between two elements on lines of their own. What
// stands on one line keeps its spaces.
func tighten(n parse.Node) {
	switch n := n.(type) {
	case *parse.ListNode:
		for _, one := range n.Nodes {
			tighten(one)
		}
	case *parse.TextNode:
		n.Text = aroundTags.ReplaceAll(n.Text, []byte("$1$2"))
	case *parse.IfNode:
		tightenBoth(n.BranchNode)
	case *parse.RangeNode:
		tightenBoth(n.BranchNode)
	case *parse.WithNode:
		tightenBoth(n.BranchNode)
	}
}

// tightenBoth tightens what is shown if something holds, and what if not.
func tightenBoth(n parse.BranchNode) {
	tighten(n.List)
	if n.ElseList != nil {
		tighten(n.ElseList)
	}
}

// functions are what templates may call.
func (c *Console) functions() template.FuncMap {
	return template.FuncMap{
		"asset": func(name string) string { return c.base + c.files.address(name) },
		"icon":  c.drawing,
		"time":  timeElement,
		"clock": clockElement,
		"many":  many,
		"size":  sizeOf,
		"map":   pairs,
		"text":  text,
		"icons": icon.All,

		"address":  func(s string) *string { return &s },
		"article":  article,
		"health":   healthOf,
		"millis":   millis,
		"tone":     toneOf,
		"bytes":    bytesOf,
		"exact":    exact,
		"invalid":  invalid,
		"markdown": markdownOf,
		"picture":  func(m sheaf.Medium) bool { return m.Picture() },
		"initials": initials,
		"palette":  palette,
		"person":   person,
	}
}

// pairs makes a map of names and values, for a template that takes several. A template that asks
// the map for another name fails.
//
//	{{template "leaf" (map "Page" $ "Project" .)}}
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
