package console

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// A session may end while a person fills in a form. What they typed is then kept:
//
//	POST, signed out ──▶ 401, the sign-in form, which carries what was typed in hidden fields
//	POST /sign-in ─────▶ the first request is run once more, for a caller whose every change is
//	                     refused: so its own handler shows its form again, with what was typed
//
// The change is not made right after signing in: another person may have signed in, and a change requested an
// hour ago may be wrong by now. In the dialog of a page, all of this happens within the dialog.

// interrupted is a request that arrived after its session had ended.
type interrupted struct {
	Ended  bool   // it is what the sign-in form is shown for
	Method string // of the request to come back to; empty: the person is led to Next
	Form   string // that it sent, encoded
	Lost   bool   // it sent a form that is too long to be carried
}

// maxSignInForm holds a form within a field of another: encoding it again makes it longer.
const maxSignInForm = 2 * maxForm

// secretFields are never carried: a page that has them in its source could be read by the next person.
var secretFields = []string{"password", "again", "current"}

// readInterrupted reads the form of a request without a session, to carry it over the sign-in. It does not read
// long forms, because without a session no workspace's share bounds them.
func (v *visit) readInterrupted() {
	body, err := io.ReadAll(io.LimitReader(v.Body(), maxForm+1))
	if err == nil && len(body) <= maxForm {
		v.r.PostForm, err = url.ParseQuery(string(body))
	}
	v.lost = err != nil || len(body) > maxForm
}

// toSignIn leads a person without a session to the sign-in, and from there back to the page.
func (v *visit) toSignIn() {
	switch {
	case v.byStream():
		v.sayEnded()
	case v.byScript() && !v.inDialog():
		v.bare(http.StatusUnauthorized, "You are signed out", "Your session has ended, and nothing was changed. Sign in again.")
	case v.r.Method == http.MethodPost || v.inDialog():
		v.signInFirst()
	case v.r.URL.Path == "/":
		_ = v.redirect(v.console.base + "/sign-in")
	default:
		_ = v.redirect(v.console.base + "/sign-in?next=" + url.QueryEscape(v.r.URL.RequestURI()))
	}
}

// signInFirst answers with the sign-in form in place of what was asked for.
func (v *visit) signInFirst() {
	p := signInPage{Open: v.exposed(), Next: v.pageBehind(), interrupted: interrupted{Ended: true, Lost: v.lost}}
	switch {
	case v.r.Method != http.MethodPost: // in the dialog
		p.Next, p.Method = v.r.URL.RequestURI(), http.MethodGet
	case v.route != nil && v.route.resumes && !v.lost:
		p.Next, p.Method, p.Form = v.r.URL.Path, http.MethodPost, withoutSecrets(v.r.PostForm).Encode()
	}
	p.Next = safeNext(p.Next)
	if err := v.show(http.StatusUnauthorized, "sign-in", p); err != nil {
		v.console.Log.Error("page was not rendered", "error", err)
		http.Error(v, "Sign in again.", http.StatusUnauthorized)
	}
}

// withoutSecrets is the form without passwords.
func withoutSecrets(form url.Values) url.Values {
	out := url.Values{}
	for name, values := range form {
		out[name] = values
	}
	out.Del("lost")
	for _, name := range secretFields {
		if out.Get(name) != "" {
			out.Add("lost", name)
		}
		out.Del(name)
	}
	return out
}

// lostSecret reports whether a password was typed into the field before the sign-in.
func (v *visit) lostSecret(name string) bool { return slices.Contains(v.r.PostForm["lost"], name) }

// pageBehind is the page that a form was sent from: the script says which, and otherwise it is the next
// one above the form's address.
func (v *visit) pageBehind() string {
	if u, err := url.Parse(v.r.Header.Get("HX-Current-URL")); err == nil && u.Path != "" {
		return strings.TrimPrefix(u.RequestURI(), v.console.base)
	}
	for path := v.r.URL.Path; strings.Count(path, "/") > 2; path = path[:strings.LastIndex(path, "/")] {
		if v.console.routes.Takes(http.MethodGet, path) {
			return path
		}
	}
	return v.r.URL.Path
}

// sayEnded sends the stream of an open page the event that its session has ended. The page closes the stream.
func (v *visit) sayEnded() {
	v.Header().Set("Content-Type", "text/event-stream")
	v.WriteHeader(http.StatusOK)
	io.WriteString(v, "retry: 60000\nevent: signed-out\ndata: {}\n\n")
}

// resume answers the interrupted request of a person who has just signed in. It changes nothing.
func (v *visit) resume(p signInPage, token string) error {
	to, err := url.Parse(p.Next)
	form, bad := url.ParseQuery(p.Form)
	if err != nil || bad != nil || !isText(form) || !isText(to.Query()) {
		return v.done(v.console.base + "/")
	}
	// The exchange finds routes by its request: it gets the interrupted one for as long.
	sent := *v.r
	defer func() { *v.r = sent }()
	v.r.Method, v.r.URL, v.r.PostForm, v.token = p.Method, to, form, token
	r, _ := v.console.routes.Find(v.Exchange)
	if r == nil || r.who.level < bySignedIn || r.method == http.MethodPost && !r.resumes {
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
	Text: "You are signed in again. Nothing was changed yet, and what you typed is below: look at it, and send it again"}
