package console

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sheaf.dev/internal/front"
	"sheaf.dev/internal/render"
	"sheaf.dev/internal/sheaf"
)

// New returns a console that calls config.App.
func New(config Config) *Console {
	c := &Console{Config: config, app: config.App, files: readFiles(), live: newLive(), origin: http.NewCrossOriginProtection(),
		policy: policy(config.ImageHosts)}
	if c.Render == nil {
		c.Render = render.New(render.Options{})
	}
	if u := config.PublicURL; u != nil {
		c.base = strings.TrimRight(u.EscapedPath(), "/")
		if err := c.origin.AddTrustedOrigin(u.Scheme + "://" + u.Host); err != nil {
			panic("console: " + err.Error()) // the setting was checked
		}
	}
	c.pages = c.readPages()
	c.routes = front.NewRoutes(c.allRoutes(), func(r *route) (string, string) { return r.method, r.path })
	return c
}

// policy returns the Content-Security-Policy: a page may load what this program serves, and
// pictures of the image hosts.
func policy(imageHosts []string) string {
	images := "'self' data:"
	for _, host := range imageHosts {
		images += " https://" + host
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src " + images + "; connect-src 'self'; " +
		"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
}

// Paths are the patterns of all paths that the console serves.
var Paths = []string{"/{$}", "/favicon.ico", "/sign-in", "/sign-in/", "/sign-out", "/sign-out-everywhere", "/account",
	"/assets/", "/setup/", "/invite/", "/account/", "/oauth/authorize", "/w/"}

// Serve answers a request for one of the console's paths.
func (c *Console) Serve(x *front.Exchange) {
	x.ProtectPage(c.policy, c.PublicURL)
	v := &visit{Exchange: x, r: x.Request, console: c, began: c.Now()}
	if err := v.serve(); err != nil {
		v.fail(err)
	}
}

// Refuse answers 503 to a request that the server has no room for. It reads neither the request's
// body nor the store.
func (c *Console) Refuse(x *front.Exchange, why *front.Refusal) {
	x.ProtectPage(c.policy, c.PublicURL)
	v := &visit{Exchange: x, r: x.Request, console: c}
	x.RetryAfter(why.RetryAfter)
	if v.byStream() {
		v.retryLater()
		return
	}
	v.bare(http.StatusServiceUnavailable, "Just a moment",
		fmt.Sprintf("The service is overloaded at the moment, and nothing was changed. Try again in %d s.", front.Seconds(why.RetryAfter)))
}

// Panicked answers 500 after a panic. Something may have been changed before it.
func (c *Console) Panicked(x *front.Exchange) {
	x.ProtectPage(c.policy, c.PublicURL)
	v := &visit{Exchange: x, r: x.Request, console: c}
	v.bare(http.StatusInternalServerError, "Something went wrong here",
		"The page could not be shown. Open it again. If that does not help, ask your administrator: the log has the reason, under the request id "+x.ID+".")
}

// serve finds the route, makes the checks before its handler, and calls it. A person may make as
// many changes in a minute as a key may make requests. Reading that renders, compares or searches
// has a limit of its own; other reading has none.
func (v *visit) serve() error {
	if v.console.origin.Check(v.r) != nil {
		return &sheaf.Error{Kind: sheaf.Forbidden, Text: "Another site sent this request. It was refused and nothing was changed."}
	}
	route, allow := v.console.routes.Find(v.Exchange)
	switch {
	case allow != "":
		v.Header().Set("Allow", allow)
		return &sheaf.Error{Kind: sheaf.MethodNotAllowed, Text: "This address does not accept " + v.r.Method + " requests."}
	case route == nil:
		if err := v.identify(); err != nil && sheaf.KindOf(err) != sheaf.Unauthorized {
			return err
		}
		return &sheaf.Error{Kind: sheaf.NotFound, Text: "There is no page at this address."}
	}
	v.route = route
	// The body is read before the session is checked, because a slow body may take a minute, and
	// the session may end meanwhile.
	if !route.has(upload) {
		if err := v.readForm(route); err != nil {
			return err
		}
	}
	if err := v.mayOpen(route.who); err != nil {
		return err
	}
	if route.who.level >= bySignedIn {
		whose := string(v.session.User.ID) + " " + string(v.caller.Workspace)
		text, wait := "", time.Duration(0)
		switch changes := route.method == http.MethodPost && !route.has(readOnly); {
		case changes && v.console.Admit != nil:
			wait = v.console.Admit(v.r.Context(), "console "+whose, v.member.Workspace.Plan, v.began)
			text = "you have reached the plan's limit of changes per minute, and nothing was changed. Try again in %v"
		case !changes && v.console.AdmitReading != nil && (route.has(costly) || v.r.URL.Query().Get("q") != ""):
			wait = v.console.AdmitReading(v.r.Context(), "console reads "+whose, v.began)
			text = "you have opened or searched too many pages in a minute. Try again in %v"
		}
		if wait > 0 {
			return &sheaf.Error{Kind: sheaf.RateLimited, Code: sheaf.CodeRateLimited, RetryAfter: wait, Text: fmt.Sprintf(text, wait)}
		}
	}
	if route.has(upload) {
		if err := v.readFile(); err != nil {
			return err
		}
		if err := v.mayOpen(route.who); err != nil { // a file may take a minute to arrive
			return err
		}
	}
	return route.do(v)
}

// readForm reads a form of at most the route's size. It never reads a multipart body, whose parts
// would be kept in files.
func (v *visit) readForm(r *route) error {
	kind, _, err := mime.ParseMediaType(v.r.Header.Get("Content-Type"))
	if r.has(longForm) && err == nil && kind == "application/x-www-form-urlencoded" {
		// Only a member of the workspace may send it, and it counts in the workspace's share of the
		// bytes of all bodies.
		err := v.identify()
		if err == nil {
			err = v.openWorkspace()
		}
		if sheaf.KindOf(err) == sheaf.Unauthorized {
			// Read what can be carried over the sign-in. A longer form is lost, because without a
			// session no workspace's share bounds it.
			body, failed := io.ReadAll(io.LimitReader(v.Body(), maxForm+1))
			if failed == nil && len(body) <= maxForm {
				v.r.PostForm, failed = url.ParseQuery(string(body))
			}
			v.lost = failed != nil || len(body) > maxForm
		}
		if err != nil {
			return err
		}
		body, err := v.ReadBody()
		if err = overloaded(err); sheaf.KindOf(err) == sheaf.Unavailable {
			return err
		}
		if err != nil || len(body) > maxTextForm {
			return errForm
		}
		if v.r.PostForm, err = url.ParseQuery(string(body)); err != nil {
			return errForm
		}
		v.r.Body = http.NoBody // ParseForm does not read it again
	}
	most := int64(maxForm)
	if strings.HasPrefix(r.path, "/sign-in") {
		most = maxSignInForm
	}
	v.r.Body = http.MaxBytesReader(v, v.Body(), most)
	if v.r.Method == http.MethodPost {
		if err := v.r.ParseForm(); err != nil {
			return errForm
		}
	}
	if !isText(v.r.URL.Query()) || !isText(v.r.PostForm) {
		return sheaf.Invalidf("The form or the address contains a broken or invisible (NUL) character, and nothing was changed. Type the text instead of pasting it.")
	}
	return nil
}

type errorPage struct{ Title, Text string }

// leavingPage tells a member that the operator has deleted the workspace.
type leavingPage struct{ sheaf.Workspace }

// errorTitles are the headings of the error page.
var errorTitles = map[sheaf.Kind]string{sheaf.NotFound: "Nothing here", sheaf.Forbidden: "Not allowed",
	sheaf.MethodNotAllowed: "That did not work", sheaf.Invalid: "That did not work", sheaf.Conflict: "That did not work",
	sheaf.Unavailable: "Just a moment", sheaf.RateLimited: "Just a moment"}

// fail shows the error page with the text of a *sheaf.Error. It logs any other error and says only
// that something went wrong. A person without a session is led to the sign-in.
func (v *visit) fail(err error) {
	var file *front.FileRefusal
	if errors.As(err, &file) {
		err = sheaf.FileRefused(file.Range, file.Text)
	}
	var refusal *sheaf.Error
	if !errors.As(err, &refusal) {
		v.console.Log.Error("page failed", "path", front.LoggedPath(v.r.URL.Path), "error", err)
		refusal = &sheaf.Error{Text: "The page could not be shown, and nothing was changed. Try again in a moment. Your administrator finds the reason in the log."}
	}
	if refusal.Cause != nil && v.r.Context().Err() == nil { // a client that left is no fault of the store
		v.console.Log.Error("page needs the store", "path", front.LoggedPath(v.r.URL.Path), "error", err)
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
		v.retryLater()
		return
	}
	title, known := errorTitles[refusal.Kind]
	if !known {
		title = "Something went wrong"
	}
	name, data := "error", any(errorPage{Title: title, Text: sentence(refusal)})
	if v.leaving != nil {
		name, data = "workspace-deleted", leavingPage{*v.leaving}
	}
	if err := v.show(front.Status(refusal.Kind), name, data); err != nil {
		v.console.Log.Error("page was not rendered", "error", err)
		http.Error(v, "Something went wrong on our side.", front.Status(sheaf.KindOf(err)))
	}
}
