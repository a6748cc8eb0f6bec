package console

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
)

// maxForm is far above the size of any form without a document's text. Such a text takes up to six times its
// length in a form, because a browser sends each line end as %0D%0A.
const (
	maxForm     = 64 << 10
	maxTextForm = maxForm + 6*sheaf.MaxContent
)

// visit is one request, and who makes it.
type visit struct {
	*front.Exchange
	r       *http.Request // the exchange's
	console *Console
	began   time.Time        // before anything was read for the page
	token   string           // of the session cookie; empty when there is none
	session app.Session      // set where somebody is signed in
	in      bool             // somebody is signed in
	caller  app.Caller       // the person in the workspace of the path; set by mayOpen
	member  sheaf.Membership // the same, as it is stored
	route   *route           // that answers; nil where there is none
	lost    bool             // what a form sent was not read: nobody was signed in, and it is long
	file    app.NewMedium    // that was sent, where the route takes one
	place   place            // of what the page is about, where it has no tree; set by locate
}

// serve finds the route, makes the checks before its handler, and calls it.
func (v *visit) serve() error {
	if v.console.origin.Check(v.r) != nil {
		return &sheaf.Error{Kind: sheaf.Forbidden, Text: "Another site sent this request. It was refused and nothing was changed."}
	}
	route, allow := v.console.routes.Find(v.Exchange)
	switch {
	case allow != "":
		v.Header().Set("Allow", allow)
		return &sheaf.Error{Kind: sheaf.MethodNotAllowed, Text: "This address does not take " + v.r.Method + " requests."}
	case route == nil:
		if err := v.identify(); err != nil && sheaf.KindOf(err) != sheaf.Unauthorized {
			return err
		}
		return &sheaf.Error{Kind: sheaf.NotFound, Text: "There is no page at this address."}
	}
	return v.run(route)
}

// run makes the checks of one route and calls its handler.
func (v *visit) run(r *route) error {
	v.route = r
	// The body is read before the session is checked, because a slow body may take a minute, and the
	// session may end meanwhile.
	if !r.takesFile {
		if err := v.readForm(r); err != nil {
			return err
		}
	}
	if err := v.mayOpen(r.who); err != nil {
		return err
	}
	if err := v.limit(r); err != nil {
		return err
	}
	if r.takesFile {
		if err := v.takeFile(r); err != nil {
			return err
		}
	}
	return r.do(v)
}

// limit returns RateLimited if the person has made more changes in the last minute than a key may make
// requests. Reading that renders, compares or searches has a limit of its own; other reading has none.
func (v *visit) limit(r *route) error {
	if r.who.level < bySignedIn {
		return nil
	}
	whose := string(v.session.User.ID) + " " + string(v.caller.Workspace)
	text, wait := "", time.Duration(0)
	switch changes := r.method == http.MethodPost && !r.looks; {
	case changes && v.console.Admit != nil:
		wait = v.console.Admit(v.r.Context(), "console "+whose, v.member.Workspace.Plan, v.began)
		text = "you changed as much in a minute as the plan allows: nothing was changed now. Try again in %v"
	case !changes && v.console.AdmitReading != nil && (r.costly || v.r.URL.Query().Get("q") != ""):
		wait = v.console.AdmitReading(v.r.Context(), "console reads "+whose, v.began)
		text = "you opened or searched more in a minute than is allowed. Try again in %v"
	}
	if wait == 0 {
		return nil
	}
	return &sheaf.Error{Kind: sheaf.RateLimited, Code: sheaf.CodeRateLimited, RetryAfter: wait, Text: fmt.Sprintf(text, wait)}
}

// readForm reads a form of at most the route's size. It never reads a multipart body, whose parts would be
// kept in files.
func (v *visit) readForm(r *route) error {
	if r.long && isForm(v.r) {
		err := v.readTextForm()
		if sheaf.KindOf(err) == sheaf.Unauthorized {
			v.readInterrupted()
		}
		if err != nil {
			return err
		}
	}
	v.r.Body = http.MaxBytesReader(v, v.Body(), r.mostForm())
	if v.r.Method == http.MethodPost {
		if err := v.r.ParseForm(); err != nil {
			return errForm
		}
	}
	if !isText(v.r.URL.Query()) || !isText(v.r.PostForm) {
		return sheaf.Invalidf("Something in the form or the address is not text that Sheaf can keep: a character is broken, or an invisible one (NUL) came along. Type it instead of pasting it. Nothing was changed.")
	}
	return nil
}

var errForm = sheaf.Invalidf("The form did not arrive whole, or is larger than a form can be. Send it again.")

// isForm reports whether the body is a form in one part.
func isForm(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/x-www-form-urlencoded"
}

// readTextForm reads a long form: only from a member of the workspace, and within the workspace's share of
// the bytes of all bodies. ParseForm does not read it again.
func (v *visit) readTextForm() error {
	if err := v.identify(); err != nil {
		return err
	}
	if err := v.enterWorkspace(); err != nil {
		return err
	}
	body, err := v.ReadBody()
	if err = crowded(err); sheaf.KindOf(err) == sheaf.Unavailable {
		return err
	}
	if err != nil || len(body) > maxTextForm {
		return errForm
	}
	v.r.PostForm, err = url.ParseQuery(string(body))
	if err != nil {
		return errForm
	}
	v.r.Body = http.NoBody
	return nil
}

// isText reports whether every value is valid UTF-8 without NUL, as the API requires. PostgreSQL refuses
// anything else, so a value that only SQLite accepts could not be moved to it.
func isText(values url.Values) bool {
	for _, all := range values {
		for _, s := range all {
			if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
				return false
			}
		}
	}
	return true
}

// mayOpen identifies the person and checks their access: it returns Unauthorized without a session, NotFound
// for a workspace of others, Forbidden if the role does not allow it.
func (v *visit) mayOpen(who access) error {
	if who.level == byAnything {
		return nil
	}
	err := v.identify()
	if who.level == byAnyone && sheaf.KindOf(err) == sheaf.Unauthorized {
		return nil
	}
	if err != nil || who.level == byAnyone || who.level == bySignedIn {
		return err
	}
	if err := v.enterWorkspace(); err != nil {
		return err
	}
	if who.level == byOwner {
		return v.caller.AuthorizeOwner()
	}
	return v.caller.Authorize(who.scope)
}

// enterWorkspace sets the caller for the workspace in the path, and counts the request there. It is
// NotFound for a workspace of others.
func (v *visit) enterWorkspace() (err error) {
	id, ok := sheaf.ParseUUID(v.r.PathValue("workspace"))
	if !ok {
		return sheaf.Missing("workspace")
	}
	if v.caller, v.member, err = v.session.Caller(sheaf.WorkspaceID(id)); err != nil {
		return err
	}
	return crowded(v.EnterWorkspace(id))
}

// identify finds the session of the cookie, or returns Unauthorized.
func (v *visit) identify() (err error) {
	if v.token == "" {
		cookie, err := v.r.Cookie(v.cookieName())
		if err != nil {
			return errSignedOut
		}
		v.token = cookie.Value
	}
	v.session, err = v.console.app.Session(v.r.Context(), v.token)
	v.in = err == nil
	return err
}

var errSignedOut = &sheaf.Error{Kind: sheaf.Unauthorized, Code: sheaf.CodeUnauthorized, Text: "Sign in to see this page."}

// id returns the identifier in the path. A malformed one is NotFound, like an unknown one.
func id[T ~string](v *visit, noun string) (T, error) {
	s, ok := sheaf.ParseUUID(v.r.PathValue("id"))
	if !ok {
		return "", sheaf.Missing(noun)
	}
	return T(s), nil
}

// field returns what was typed into a field of the form. Browsers send lines with CR LF, which no
// other client does.
func (v *visit) field(name string) string {
	return strings.ReplaceAll(v.r.PostForm.Get(name), "\r\n", "\n")
}

// optField is field for what may be left empty: null then.
func (v *visit) optField(name string) sheaf.Opt[string] {
	if s := v.field(name); s != "" {
		return sheaf.Some(s)
	}
	return sheaf.Nil[string]()
}

// optID reads an identifier from a field that may be empty: null then.
func optID[T ~string](v *visit, name, noun string) (sheaf.Opt[T], error) {
	return asID(T(v.field(name)), noun)
}

// asID checks an identifier that was sent. An empty one is null.
func asID[T ~string](s T, noun string) (sheaf.Opt[T], error) {
	if s == "" {
		return sheaf.Nil[T](), nil
	}
	id, ok := sheaf.ParseUUID(string(s))
	if !ok {
		return sheaf.Opt[T]{}, sheaf.Missing(noun)
	}
	return sheaf.Some(T(id)), nil
}

// byScript reports whether htmx asks, which shows the answer within the page.
func (v *visit) byScript() bool { return v.r.Header.Get("HX-Request") == "true" }

// byStream reports whether the stream of an open page asks.
func (v *visit) byStream() bool { return v.r.Header.Get("Accept") == "text/event-stream" }

// inDialog reports whether the answer is shown in the dialog.
func (v *visit) inDialog() bool { return v.byScript() && v.r.Header.Get("HX-Target") == "dialog-body" }

// at returns an address within the workspace.
func (v *visit) at(path ...string) string {
	return v.console.base + "/w/" + string(v.caller.Workspace) + "/" + strings.Join(path, "/")
}

// done redirects the browser after a change. A script gets a header instead, because it would follow a
// redirect itself.
func (v *visit) done(address string) error {
	if v.byScript() {
		v.Header().Set("HX-Redirect", address)
		v.WriteHeader(http.StatusOK)
		return nil
	}
	return v.redirect(address)
}

// redirect leads the browser to another page.
func (v *visit) redirect(address string) error {
	v.Header().Set("Location", address)
	v.WriteHeader(http.StatusSeeOther)
	return nil
}

// again shows the form again with the error, if the person can correct it. It returns any other error.
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

// retryAfter sets the header where the refusal names a time.
func (v *visit) retryAfter(e *sheaf.Error) {
	if e.RetryAfter > 0 {
		v.RetryAfter(e.RetryAfter)
	}
}

// fail shows an error page: the text of a *sheaf.Error, or that something went wrong.
func (v *visit) fail(err error) {
	var file *front.FileRefusal
	if errors.As(err, &file) {
		err = sheaf.FileRefused(file.Range, file.Text)
	}
	var refusal *sheaf.Error
	if !errors.As(err, &refusal) {
		v.console.Log.Error("page failed", "path", v.r.URL.Path, "error", err)
		refusal = &sheaf.Error{Text: "The page could not be made, and nothing was changed. Try again in a moment. Whoever runs Sheaf finds the reason in its log."}
	}
	if refusal.Cause != nil && v.r.Context().Err() == nil { // a client that left is no fault of the store
		v.console.Log.Error("page needs the store", "path", v.r.URL.Path, "error", err)
	}
	if refusal.Cause != nil && refusal.Person == "" {
		refusal = &sheaf.Error{Kind: refusal.Kind, RetryAfter: refusal.RetryAfter,
			Text: "The service cannot reach its store at the moment, and nothing was changed. Try again in a few seconds."}
	}
	if refusal.Kind == sheaf.Unauthorized {
		v.toSignIn()
		return
	}
	v.retryAfter(refusal)
	if v.byStream() && (refusal.Kind == sheaf.Unavailable || refusal.Kind == sheaf.RateLimited) {
		v.comeAgain()
		return
	}
	p := v.page(sorry{Title: titleOf(refusal.Kind), Text: sentence(refusal)})
	if err := v.render(front.Status(refusal.Kind), "sorry", p); err != nil {
		v.console.Log.Error("page was not rendered", "error", err)
		http.Error(v, "Something went wrong on our side.", front.Status(sheaf.KindOf(err)))
	}
}

type sorry struct{ Title, Text string }

// titleOf is the heading of the page that refuses.
func titleOf(k sheaf.Kind) string {
	switch k {
	case sheaf.NotFound:
		return "Nothing here"
	case sheaf.Forbidden:
		return "Not allowed"
	case sheaf.MethodNotAllowed, sheaf.Invalid, sheaf.Conflict:
		return "That did not work"
	case sheaf.Unavailable, sheaf.RateLimited:
		return "Just a moment"
	}
	return "Something went wrong"
}
