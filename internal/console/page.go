package console

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/icon"
	"sheaf.dev/internal/render"
	"sheaf.dev/internal/sheaf"
)

//go:embed pages
var pageFiles embed.FS

// page is the data of every template.
type page struct {
	Base        string // prefix of all addresses
	Path        string // path of this page, without Base
	Fault       fault  // what is wrong with the form
	In          bool   // the person is signed in
	User        sheaf.User
	Memberships []sheaf.Membership
	Leaving     []sheaf.Membership     // in workspaces that the operator has deleted
	Member      sheaf.Membership       // in this page's workspace
	Dialog      bool                   // only "main" is shown, in the dialog
	Tree        *tree                  // beside the page; nil for none
	Place       place                  // where the page's record is
	Above       []sheaf.PathEntry      // the documents above the page's document, the top one first
	Troubled    int64                  // webhooks that fail, or were deactivated because they did
	Proposals   int64                  // open proposals, up to mostOpenShown
	Made        int64                  // Unix milliseconds before anything was read for the page
	Ways        app.SignInWays         // how people sign in; set for the pages that show it
	HasPassword bool                   // the person signs in with a password, or can
	Data        any                    // the handler's data
	may         func(sheaf.Scope) bool // what the person may do in this workspace
}

// At returns an address within the workspace.
func (p page) At(path ...any) string {
	out := p.Base + "/w/" + string(p.Member.Workspace.ID)
	for _, part := range path {
		// An optional identifier is a pointer.
		out += "/" + fmt.Sprint(reflect.Indirect(reflect.ValueOf(part)))
	}
	return out
}

// May reports whether the person may do what the scope allows.
func (p page) May(s string) bool { return p.may(sheaf.Scope(s)) }

// MaySuggest reports whether the person may propose changes, and the plan includes that.
func (p page) MaySuggest() bool {
	return p.may(sheaf.ProposalsWrite) && p.Member.Workspace.Plan.AllowProposals() == nil
}

// MayWrite reports whether the person may change documents here directly: not in a project that needs
// review.
func (p page) MayWrite() bool {
	return p.may(sheaf.DocumentsWrite) && (p.Place.Project == nil || p.Place.Project.Approvals == 0)
}

// OpenProposals returns the number of open proposals for the navigation: "99+" for many.
func (p page) OpenProposals() string {
	if p.Proposals >= mostOpenShown {
		return fmt.Sprint(mostOpenShown-1) + "+"
	}
	return fmt.Sprint(p.Proposals)
}

// MayNest reports whether documents may be below that of the page.
func (p page) MayNest() bool { return len(p.Above)+1 < sheaf.MaxLevels }

// Below returns the title of the document that a new document goes below; empty at the top level.
func (p page) Below() string {
	if len(p.Above) == 0 {
		return ""
	}
	return p.Above[len(p.Above)-1].Title
}

// Owner reports whether the person owns the workspace.
func (p page) Owner() bool { return p.Member.Role == sheaf.Owner }

// Restricted reports whether the person sees only a part of the workspace.
func (p page) Restricted() bool { return p.Member.RestrictedTo != nil }

// Within returns a mark of the person's restriction. The mark changes with the restriction. It is empty
// for the whole workspace.
func (p page) Within() string { return markOf(p.Member.RestrictedTo) }

// markOf returns the mark of a restriction: a short hash, which reveals only what its person knows.
func markOf(to *sheaf.Restriction) string {
	if to == nil {
		return ""
	}
	sum := sha256.Sum256([]byte(to.String()))
	return hex.EncodeToString(sum[:6])
}

// Sees returns what a restricted person sees.
func (p page) Sees() string { return p.Member.RestrictedTo.Phrase() }

// SeesFolders reports whether the restriction of a restricted person names a folder.
func (p page) SeesFolders() bool { return len(p.Member.RestrictedTo.Folders) > 0 }

// Stays reports whether the person may neither move nor delete the record, because their restriction
// names it. `id` is an identifier of any noun.
func (p page) Stays(id any) bool { return p.Member.RestrictedTo.Names(fmt.Sprint(id)) }

// mayDelete reports whether the person may delete the record. For a restricted person it reads what the
// deletion would do. It ignores an error of the store: the next page reports it.
func mayDelete[ID ~string, T any](v *visit, id ID, removal func(context.Context, app.Caller, ID) (T, error)) bool {
	if v.seesAll() || !v.caller.May(sheaf.ProjectsWrite) {
		return true
	}
	_, err := removal(v.r.Context(), v.caller, id)
	return sheaf.KindOf(err) != sheaf.Forbidden
}

// MayFile reports whether the person may change folders of that type, and what is filed in them.
func (p page) MayFile(kind sheaf.EntityType) bool {
	return p.may(sheaf.ProjectsWrite) && (kind == sheaf.ProjectFolder || !p.Restricted())
}

// Section reports whether the page is in one of these parts of the workspace.
func (p page) Section(names ...string) bool {
	rest, _ := strings.CutPrefix(p.Path, "/w/"+string(p.Member.Workspace.ID)+"/")
	first, _, _ := strings.Cut(rest, "/")
	return slices.Contains(names, first)
}

// page returns the data of the templates for this visit.
func (v *visit) page(data any) page {
	return page{Base: v.console.base, Path: v.r.URL.Path, In: v.in, User: v.session.User, HasPassword: v.console.app.UsesPassword(v.session.User), Memberships: v.session.Memberships,
		Leaving: v.session.Leaving, Member: v.member, Dialog: v.inDialog(), Made: v.began.UnixMilli(), Place: v.place, Above: v.above, Data: data, may: v.caller.May}
}

// show writes a page.
func (v *visit) show(status int, name string, data any) error {
	return v.render(status, name, v.page(data))
}

// render executes the whole template, then writes the page. It returns Unavailable if too many
// large pages wait for their readers.
func (v *visit) render(status int, name string, p page) error {
	switch name {
	case "sign-in", "sign-in-bind", "invitation", "setup", "account":
		// If the store does not answer, a form for a password that only some may use is missing.
		p.Ways, _ = v.console.app.SignInWays(v.r.Context())
	}
	root := "layout"
	if p.Dialog {
		root = "dialog"
	} else if p.Member.Role != "" {
		// An error of the store is ignored: this may be the page that reports it.
		p.Troubled, _ = v.console.app.TroubledSubscriptions(v.r.Context(), v.caller)
		if v.caller.May(sheaf.ProposalsRead) {
			p.Proposals, _ = v.console.app.OpenProposals(v.r.Context(), v.caller, mostOpenShown)
		}
	}
	var b bytes.Buffer
	if err := v.console.pages[name].ExecuteTemplate(&b, root, p); err != nil {
		return fmt.Errorf("render %s: %w", name, err)
	}
	v.Header().Set("Vary", "HX-Request, HX-Target")
	return v.send(status, b.Bytes())
}

// fragment writes one template of a page's file, or of the shared ones. A script puts it into the page.
func (v *visit) fragment(name, part string, data any) error {
	var b bytes.Buffer
	templates := v.console.pages[name]
	if templates.Lookup(part) == nil {
		templates = v.console.pages[sharedParts]
	}
	if err := templates.ExecuteTemplate(&b, part, v.page(data)); err != nil {
		return fmt.Errorf("render %s of %s: %w", part, name, err)
	}
	return v.send(http.StatusOK, b.Bytes())
}

// functions returns the functions that templates may call.
func (c *Console) functions() template.FuncMap {
	return template.FuncMap{
		"asset":    func(name string) string { return c.base + c.files.address(name) },
		"time":     func(t any) template.HTML { return timeElement(t, "") },
		"browser":  sheaf.BrowserName,
		"mails":    c.app.Mails,
		"clock":    func(t any) template.HTML { return timeElement(t, " data-clock") }, // stays a time of day, for tables
		"many":     many,
		"figure":   figure,
		"text":     text,
		"markdown": markdownOf,
		"icons":    icon.All,

		"address":  func(s string) *string { return &s },
		"health":   healthOf,
		"millis":   millis,
		"tone":     toneOf,
		"state":    stateTone,
		"bytes":    bytesOf,
		"exact":    exact,
		"picture":  func(m sheaf.Medium) bool { return m.Picture() },
		"initials": initials,
		"palette":  palette,
		"person":   person,

		// article returns the word before a role.
		"article": func(r sheaf.Role) string {
			article, _, _ := strings.Cut(r.Phrase(), " ")
			return article
		},
		// invalid marks the element that the page's fault is about: it gets the focus, and a screen
		// reader reads the fault with it.
		"invalid": func(p page, name string) template.HTMLAttr {
			if p.Fault.At != name {
				return ""
			}
			return ` aria-invalid="true" aria-describedby="fault" autofocus` // #nosec G203 -- it is a constant
		},
		// icon returns an icon of the catalogue, or one of the console's own. It is hidden from
		// screen readers, because a name is beside it. An unknown icon becomes a page. colour is
		// optional; it is an attribute, because the policy forbids styles.
		"icon": func(id string, colour ...*string) template.HTML {
			if _, known := icon.Lookup(id); !known && ownIcons[id] == "" {
				id = "file-text"
			}
			attributes := ""
			if len(colour) > 0 && colour[0] != nil && sheaf.CheckColor(*colour[0]) == nil {
				attributes = ` color="` + *colour[0] + `"`
			}
			// #nosec G203 -- the name is of an icon of ours, and a colour has been checked to be one
			return template.HTML(`<svg class="icon" aria-hidden="true"` + attributes + `><use href="` + c.base + c.files.address(iconFile) + "#" + id + `"/></svg>`)
		},
		// map returns a map of names and values, to pass several values to a template:
		// {{template "leaf" (map "Page" $ "Project" .)}}. A template that uses another name fails.
		"map": func(args ...any) (map[string]any, error) {
			if len(args)%2 != 0 {
				return nil, fmt.Errorf("map takes names and values, got %d", len(args))
			}
			out := map[string]any{}
			for i := 0; i < len(args); i += 2 {
				out[fmt.Sprint(args[i])] = args[i+1]
			}
			return out, nil
		},
		// size returns the dimensions of a picture; empty for other files, and if they are unknown.
		"size": func(m sheaf.Medium) string {
			if m.Width == nil || m.Height == nil {
				return ""
			}
			return fmt.Sprintf("%d × %d", *m.Width, *m.Height)
		},
	}
}

// send writes a whole page. It returns Unavailable if too many large pages wait for their readers.
//
// The page is compressed if the browser accepts that, unless another site made the browser send the
// request, or the page answers a form. The length of a compressed page reveals whether a word of
// the request occurs in it a second time. An attacker who can make a browser send requests, and
// sees how long the answers are, could spell out the page; and secrets that are shown once answer a
// form.
func (v *visit) send(status int, page []byte) error {
	v.Header().Add("Vary", "Accept-Encoding, Sec-Fetch-Site")
	site := v.r.Header.Get("Sec-Fetch-Site")
	own := site == "" || site == "same-origin" || site == "none"
	if own && v.IsRead() && len(page) >= minCompressed && front.AcceptsGzip(v.r.Header) {
		page = compressed(page)
		v.Header().Set("Content-Encoding", "gzip")
	}
	// The answer to a change that was made is never refused.
	changed := v.r.Method == http.MethodPost && status < http.StatusBadRequest
	if !changed && v.r.Method != http.MethodHead {
		if err := overloaded(v.HoldAnswer(cap(page))); err != nil {
			v.Header().Del("Content-Encoding")
			return err
		}
	}
	v.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.WriteHeader(status)
	if v.r.Method != http.MethodHead {
		v.Write(page)
	}
	return nil
}

// showWithTree writes a page with the tree on its left, in which the record with the id `here` is
// marked. In the dialog there is no tree.
func (v *visit) showWithTree(status int, name, here string, data any) error {
	p := v.page(data)
	if p.Dialog {
		return v.render(status, name, p)
	}
	var opened []sheaf.FolderID
	if cookie, err := v.r.Cookie(openCookie); err == nil {
		opened = idList[sheaf.FolderID](cookie.Value)
	}
	t, err := v.console.app.Tree(v.r.Context(), v.caller, here, opened)
	if err != nil {
		return err
	}
	for _, id := range idList[sheaf.FolderID](v.r.Header.Get(closedHeader)) {
		delete(t.In, id)
	}
	g := treeView{t, here}
	p.Place = place{t.Path, t.Project}
	p.Tree = &tree{Projects: g.level(t.Projects, "projects"), Brandings: g.level(t.Brandings, "brandings"), place: p.Place}
	return v.render(status, name, p)
}

// confirm returns a handler that shows a template about the record in the path, as read returns it:
// it asks for confirmation of a change. withTree says whether the page has the tree.
func confirm[ID ~string, T any](template string, withTree bool, noun string, read func(context.Context, app.Caller, ID) (T, error)) func(*visit) error {
	return func(v *visit) error {
		record, err := find(v, noun, read)
		if err != nil {
			return err
		}
		if withTree {
			return v.showWithTree(http.StatusOK, template, v.r.PathValue("id"), record)
		}
		return v.show(http.StatusOK, template, record)
	}
}

// shows returns a handler that shows a template with the data that read returns.
func shows[T any](template string, read func(*visit) (T, error)) func(*visit) error {
	return func(v *visit) error {
		data, err := read(v)
		if err != nil {
			return err
		}
		return v.show(http.StatusOK, template, data)
	}
}

// again shows the form again with the error, if the person can correct it. It returns any other
// error.
func (v *visit) again(name string, data any, err error) error {
	var refusal *sheaf.Error
	if !errors.As(err, &refusal) || front.Status(refusal.Kind) >= 500 {
		return err
	}
	v.retryAfter(refusal)
	p := v.page(data)
	p.Fault = faultIn(name, refusal)
	return v.render(front.Status(refusal.Kind), name, p)
}

// bare answers with a title and a sentence. It does not escape them.
func (v *visit) bare(status int, title, text string) {
	form := barePage
	if v.byScript() {
		form = bareMain
	}
	v.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.WriteHeader(status)
	_, _ = fmt.Fprintf(v, form, title, text)
}

// bareMain is the answer to a script, barePage to a browser. They use no template and no file of
// ours, which might be refused too, or be what failed.
const (
	bareMain = `<h1>%s</h1>
<p>%s</p>
`
	barePage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%[1]s · Sheaf</title>
<main>
<h1>%[1]s</h1>
<p>%[2]s</p>
</main>
</html>
`
)

// renderText renders a document's text. Links to documents lead to their pages, and media are read
// with the session; both addresses check whether the reader may see them. It returns Unavailable if
// the workspace gets no turn to render in time.
//
// If the page shows `title` above the text and the text begins with it, the text is rendered without
// that heading, and its id is returned for the title.
//
// The addresses of media name the document `of`, whose text this is: a restricted person may not see
// the document that a medium belongs to.
func (v *visit) renderText(text, title string, of sheaf.DocumentID) (_ template.HTML, id string, _ error) {
	return v.renderPart("", text, title, of)
}

// renderPart is renderText for a page that has several texts. `part` is unique among them.
func (v *visit) renderPart(part, text, title string, of sheaf.DocumentID) (_ template.HTML, id string, _ error) {
	return v.renderWith(text, title, render.Refs{
		Part:     part,
		Document: func(id string) string { return v.at("documents", id) },
		Media: func(id string) string {
			address := v.at("media", id, "content")
			if v.restricted() && of != "" {
				address += "?document=" + string(of)
			}
			return address
		},
	})
}

// renderWith is renderText with other addresses of documents and media.
func (v *visit) renderWith(text, title string, refs render.Refs) (_ template.HTML, id string, _ error) {
	page, err := v.console.Render.Page(v.AwaitTurn, text)
	if err != nil {
		return "", "", overloaded(err)
	}
	id, _ = page.Titled(title)
	refs.Selves, refs.Title = true, title
	html := page.HTML(refs)
	// #nosec G203 -- render writes every element itself, and no text becomes one
	return template.HTML(html), id, nil
}
