package console

import (
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// A session may end while a person fills in a form. What they typed is then kept:
//
//	POST, signed out ──▶ 401, the sign-in form, which carries what was typed in hidden fields
//	POST /sign-in ─────▶ the first request is run once more, for a caller whose every change is
//	                     refused: so its own handler shows its form again, with what was typed
//
// The change is not made right after signing in: another person may have signed in, and a change
// requested an hour ago may be wrong by now. In the dialog of a page, all of this happens within
// the dialog.

// interrupted is a request that arrived after its session had ended.
type interrupted struct {
	Ended  bool   // the sign-in form is shown because of it
	Method string // method of the request to repeat; empty: the person is sent to Next
	Form   string // the form that it sent, encoded
	Lost   bool   // it sent a form that is too long to carry
}

// signInPage is the data of sign-in.html.
type signInPage struct {
	Email, Next string
	Pending     bool   // no user has a password yet
	Page        string // the page of the interrupted form, for a sign-in that cannot keep the form
	Open        bool   // a password would be sent unencrypted, and not to this machine
	Reset       bool   // the person has just chosen a new password
	interrupted
}

// secretFields are never carried: a page that has them in its source could be read by the next
// person.
var secretFields = []string{"password", "again", "current", "code", "proof", "offer"}

// toSignIn sends a person without a session to the sign-in, and from there back to the page. After
// a form, and in the dialog, it answers with the sign-in form itself.
func (v *visit) toSignIn() {
	switch {
	case v.byStream():
		// The page closes the stream when it gets this event.
		v.Header().Set("Content-Type", "text/event-stream")
		v.WriteHeader(http.StatusOK)
		io.WriteString(v, "retry: 60000\nevent: signed-out\ndata: {}\n\n")
		return
	case v.byScript() && !v.inDialog():
		v.bare(http.StatusUnauthorized, "You are signed out", "Your session has ended, and nothing was changed. Sign in again.")
		return
	case v.r.Method == http.MethodPost || v.inDialog():
	case v.r.URL.Path == "/":
		_ = v.redirect(v.console.base + "/sign-in")
		return
	default:
		_ = v.redirect(v.console.base + "/sign-in?next=" + url.QueryEscape(v.r.URL.RequestURI()))
		return
	}
	p := signInPage{Open: v.exposed(), Next: v.formPage(), Page: safeNext(v.formPage()), interrupted: interrupted{Ended: true, Lost: v.lost}}
	switch {
	case v.r.Method != http.MethodPost: // in the dialog
		p.Next, p.Method = v.r.URL.RequestURI(), http.MethodGet
	case v.route != nil && v.route.has(resumable) && !v.lost:
		form := maps.Clone(v.r.PostForm)
		form.Del("lost")
		for _, name := range secretFields {
			if form.Get(name) != "" {
				form.Add("lost", name) // the page asks for it again
			}
			form.Del(name)
		}
		p.Next, p.Method, p.Form = v.r.URL.Path, http.MethodPost, form.Encode()
	}
	p.Next = safeNext(p.Next)
	if err := v.show(http.StatusUnauthorized, "sign-in", p); err != nil {
		v.console.Log.Error("page was not rendered", "error", err)
		http.Error(v, "Sign in again.", http.StatusUnauthorized)
	}
}

// safeNext returns the address if it is one of ours that a person may be sent back to, otherwise
// "".
func safeNext(s string) string {
	if strings.HasPrefix(s, "/w/") || strings.HasPrefix(s, "/oauth/authorize?") || s == "/account" {
		return s
	}
	return ""
}

// formPage returns the page that the form was sent from: the one that the script names, or else the
// nearest page above the form's address.
func (v *visit) formPage() string {
	if u, err := url.Parse(v.r.Header.Get("HX-Current-URL")); err == nil && u.Path != "" {
		return strings.TrimPrefix(u.RequestURI(), v.console.base)
	}
	return v.console.pageAbove(v.r.URL.Path)
}

// pageAbove returns the nearest page at the path or above it, or else the path.
func (c *Console) pageAbove(of string) string {
	for path := of; strings.Count(path, "/") > 2; path = path[:strings.LastIndex(path, "/")] {
		if c.routes.Takes(http.MethodGet, path) {
			return path
		}
	}
	return of
}

// resume answers the interrupted request of a person who has just signed in. It changes nothing.
func (v *visit) resume(p signInPage, token string) error {
	to, err := url.Parse(p.Next)
	form, bad := url.ParseQuery(p.Form)
	if err != nil || bad != nil || !isText(form) || !isText(to.Query()) {
		return v.done(v.console.base + "/")
	}
	// The exchange finds routes by its request, so it gets the interrupted request until this
	// returns.
	sent := *v.r
	defer func() { *v.r = sent }()
	v.r.Method, v.r.URL, v.r.PostForm, v.token = p.Method, to, form, token
	r, _ := v.console.routes.Find(v.Exchange)
	if r == nil || r.who.level < bySignedIn || r.method == http.MethodPost && !r.has(resumable) {
		return v.done(v.console.base + p.Next)
	}
	if err := v.mayOpen(r.who); err != nil {
		return err
	}
	if r.method == http.MethodPost {
		v.caller.Refusal = errSignedInAgain
	}
	v.route = r
	return r.do(v)
}

var errSignedInAgain = &sheaf.Error{Kind: sheaf.Conflict, Code: sheaf.CodeConflict,
	Text: "You are signed in again. Nothing was changed yet. What you typed is below: check it, and send it again"}
