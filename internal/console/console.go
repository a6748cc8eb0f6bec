// Package console is the web console: pages for people, rendered on the server, with htmx and a few
// small scripts. It calls the same methods of app as the API and has no rules of its own. It knows
// neither the store nor another edge; what edges share is in front. A key never opens it, and a
// cookie never opens the API.
//
// To add a page:
//
//  1. Put its route into routes.go, with who may open it: needs(scope) for a
//     member of the workspace in the path, owners, signedIn, anyone. The matrix
//     in matrix_test.go fails until it is written there too.
//  2. Write the handler, func (c *Console) name(v *visit) error, in the noun's
//     file. It asks c.app with v.caller and ends in v.show(status, "template",
//     data), v.done(path) after a change, or an error: handle.go shows the error
//     page. If a form is refused, v.again shows it again.
//  3. Write pages/template.html, which defines "title" and "main" and gets a
//     page; .Data is what the handler passed to v.show. A page that opens in the
//     dialog (a link with data-dialog) is the same page: only "main" is sent then.
//  4. Write addresses within the workspace as {{.At "keys"}}, any other with
//     {{.Base}} before it; times as {{time .CreatedAt}}; icons as {{icon "key"}}.
//  5. No style attribute and no inline script: the Content-Security-Policy
//     stops both. Colours of records are attributes of an SVG.
//
// Elements that follow changes have class "live" and an id: when something happens in the
// workspace, the browser loads the page again and replaces them. data-live-part="events deliveries"
// names the kinds of changes; see live.go. A details element that a reader opened stays open if it
// has an id.
//
// The files, from the top down; a file uses only files below it:
//
//	handle.go     a request: the checks, in order, and the error page
//	routes.go     every page
//	project.go …  the pages, one file a noun
//	page.go       what all pages share, with list.go, tree.go, pick.go, move.go, conflict.go, fault.go
//	visit.go      what one request knows
//	console.go    the types; words.go and files.go need none of them
package console

import (
	"context"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/render"
	"sheaf.dev/internal/sheaf"
)

// Config is what the console needs.
type Config struct {
	App *app.App
	Log *slog.Logger
	Now func() time.Time
	// PublicURL is the address of the service for people. If it is nil, that of the request is
	// used.
	PublicURL *url.URL
	// Address is the beginning of links that one person gives to another: the public address, or
	// else the one that the program listens on. It never comes from a request, because the sender
	// of the request could then lead the other person elsewhere.
	Address string
	// Command is the name of the program in a shell, for hints. If it is empty, that is sheaf.
	Command string
	// Admit counts a change under a name of the person. If the change exceeds the plan's rate
	// limit, it returns how long to wait, otherwise 0. If Admit is nil, every change passes.
	Admit func(ctx context.Context, name string, plan sheaf.Plan, now time.Time) time.Duration
	// AdmitReading is Admit for reading that renders, compares or searches, whatever the plan is.
	AdmitReading func(ctx context.Context, name string, now time.Time) time.Duration
	// Mails reports whether a mail server is set up, so that people who are asked to approve get a mail.
	Mails bool
	// Render renders the documents' texts as HTML. If it is nil, New uses one that shows no pictures
	// from other hosts.
	Render *render.Renderer
	// ImageHosts are the hosts from which Render shows pictures.
	ImageHosts []string
	// Sample returns a page of a share in a branding, for a preview in a frame, with the policy of that
	// page (publish.Publisher.Sample). If it is nil, there is no preview.
	Sample func(await render.Await, b sheaf.Branding, logo, scheme string) (page []byte, policy string, err error)
}

// Console serves the pages. It is safe for concurrent use.
type Console struct {
	Config
	app    *app.App
	base   string // prefix of all our addresses: the path of PublicURL
	files  *files
	pages  map[string]*template.Template // by the name of the file, without .html
	routes *front.Routes[route]
	origin *http.CrossOriginProtection // refuses requests that another site sends
	live   *live                       // the open pages that follow changes
	policy string                      // the Content-Security-Policy
}

// access says who may open a route.
type access struct {
	level int
	scope sheaf.Scope // scope that the member's role must have; for byMember
}

// The levels of access, the weakest first.
const (
	byAnything = iota + 1 // everyone; the session is not read
	byAnyone              // everyone; a session is read if there is one
	bySignedIn
	byMember // a member of the workspace in the path, with a role that has the scope
	byOwner  // an owner of the workspace in the path
)

var (
	anything = access{level: byAnything}
	anyone   = access{level: byAnyone}
	signedIn = access{level: bySignedIn}
	owners   = access{level: byOwner}
)

// route is the address of one page or one action.
type route struct {
	method, path string
	who          access
	do           func(*visit) error
	marks        marks
}

// marks are the properties of a route that its checks depend on.
type marks uint8

const (
	// longForm: the form holds a document's text.
	longForm marks = 1 << iota
	// readOnly: a POST that changes nothing, so the limit of changes does not count it.
	readOnly
	// costly: it renders, compares or searches, so the limit of reading counts it.
	costly
	// resumable: the form is shown again, with what was typed, if the session ended before it was
	// sent and the person has signed in again. The handler must change things only through app's
	// methods with a Caller.
	resumable
	// upload: it receives a file. Nothing of it is read before the sender's access is checked.
	upload
)

func (r *route) has(m marks) bool { return r.marks&m != 0 }

// A form without a document's text is far below maxForm. Such a text takes up to six times its
// length in a form, because a browser sends each line end as %0D%0A. The sign-in form carries
// another form in a field: encoding it again makes it longer.
const (
	maxForm       = 64 << 10
	maxTextForm   = maxForm + 6*sheaf.MaxContent
	maxSignInForm = 2 * maxForm
)

// visit is one request, and the person who sent it.
type visit struct {
	*front.Exchange
	r       *http.Request // the exchange's
	console *Console
	began   time.Time         // before anything was read for the page
	token   string            // value of the session cookie; empty: there is none
	pending string            // token of the pending sign-in that this request began
	session app.Session       // set if the person is signed in
	in      bool              // the person is signed in
	caller  app.Caller        // the person in the workspace of the path; set by mayOpen
	member  sheaf.Membership  // the stored membership of the caller
	leaving *sheaf.Workspace  // the workspace of the path, if the operator has deleted it
	route   *route            // nil if no route matches
	lost    bool              // the form was not read, because it is long and the session had ended
	file    app.NewMedium     // the file that was sent; set for upload routes
	place   place             // where the record of a page without a tree is; set by locate
	above   []sheaf.PathEntry // the documents above that of the page; set by locateAbove
}

// place is where the reader is: the folders from the root, and the project. Pages about a project,
// a folder or a document show it above their heading.
type place struct {
	Path    []sheaf.Folder
	Project *sheaf.Project // nil for none
}
