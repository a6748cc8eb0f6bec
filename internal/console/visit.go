package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
)

// mayOpen identifies the person and checks their access: it returns Unauthorized without a session,
// NotFound for a workspace of others, Forbidden if the role does not allow it.
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
	if err := v.openWorkspace(); err != nil {
		return err
	}
	if who.level == byOwner {
		return v.caller.AuthorizeOwner()
	}
	return v.caller.Authorize(who.scope)
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
	v.session.Origin = v.Exchange
	v.in = err == nil
	return err
}

var errSignedOut = &sheaf.Error{Kind: sheaf.Unauthorized, Code: sheaf.CodeUnauthorized, Text: "Sign in to see this page."}

// openWorkspace sets the caller for the workspace in the path, and counts the request there. It
// returns NotFound for a deleted workspace, and if the person is no member.
func (v *visit) openWorkspace() (err error) {
	id, ok := sheaf.ParseUUID(v.r.PathValue("workspace"))
	if !ok {
		return sheaf.Missing("workspace")
	}
	if ws, leaves := v.session.LeavingFrom(sheaf.WorkspaceID(id)); leaves {
		v.leaving = &ws // fail shows the page that says so
	}
	if v.caller, v.member, err = v.session.Caller(sheaf.WorkspaceID(id)); err != nil {
		return err
	}
	return overloaded(v.AdmitWorkspace(id))
}

// restricted reports whether the person sees only a part of the workspace.
func (v *visit) restricted() bool { return v.caller.Restriction() != nil }

// seesAll reports whether the person sees the whole workspace, and so may put records anywhere.
func (v *visit) seesAll() bool { return !v.restricted() }

// mayMakeBrandings reports whether the workspace's plan includes making and changing brandings.
func (v *visit) mayMakeBrandings() bool { return v.member.Workspace.Plan.AllowBrandings() == nil }

// id returns the identifier in the path. A malformed one is NotFound, like an unknown one.
func id[T ~string](v *visit, noun string) (T, error) {
	s, ok := sheaf.ParseUUID(v.r.PathValue("id"))
	if !ok {
		return "", sheaf.Missing(noun)
	}
	return T(s), nil
}

// find returns the record whose identifier is in the path, as read returns it, or NotFound.
func find[ID ~string, T any](v *visit, noun string, read func(context.Context, app.Caller, ID) (T, error)) (T, error) {
	id, err := id[ID](v, noun)
	if err != nil {
		var none T
		return none, err
	}
	return read(v.r.Context(), v.caller, id)
}

// field returns the text in a field of the form. Browsers send line ends as CR LF, other clients as
// LF: it returns LF.
func (v *visit) field(name string) string {
	return strings.ReplaceAll(v.r.PostForm.Get(name), "\r\n", "\n")
}

// optID reads an identifier from a field of the form. An empty field is null.
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

var errForm = sheaf.Invalidf("The form was incomplete or too large. Send it again.")

// isText reports whether every value is valid UTF-8 without NUL, as the API requires. PostgreSQL
// refuses anything else, so a value that only SQLite accepts could not be moved to it.
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

// byScript reports whether htmx sent the request; it shows the answer within the page.
func (v *visit) byScript() bool { return v.r.Header.Get("HX-Request") == "true" }

// byStream reports whether the request opens the event stream of a page.
func (v *visit) byStream() bool { return v.r.Header.Get("Accept") == "text/event-stream" }

// inDialog reports whether the answer is shown in the dialog.
func (v *visit) inDialog() bool { return v.byScript() && v.r.Header.Get("HX-Target") == "dialog-body" }

// at returns an address within the workspace.
func (v *visit) at(path ...string) string {
	return v.console.base + "/w/" + string(v.caller.Workspace) + "/" + strings.Join(path, "/")
}

// documentsAddress returns the address of the page that lists the documents of a project, or of
// none.
func (v *visit) documentsAddress(p *sheaf.ProjectID) string {
	if p == nil {
		return v.at("documents")
	}
	return v.at("projects", string(*p))
}

// folderAddress returns the address of a folder's page, or of the root level.
func (v *visit) folderAddress(f *sheaf.FolderID) string {
	if f == nil {
		return v.at("projects")
	}
	return v.at("folders", string(*f))
}

// done redirects the browser after a change. A script gets a header instead, because it would
// follow a redirect itself.
func (v *visit) done(address string) error {
	if v.byScript() {
		v.Header().Set("HX-Redirect", address)
		v.WriteHeader(http.StatusOK)
		return nil
	}
	return v.redirect(address)
}

// redirect sends the browser to another page.
func (v *visit) redirect(address string) error {
	v.Header().Set("Location", address)
	v.WriteHeader(http.StatusSeeOther)
	return nil
}

// retryAfter sets the header if the refusal says how long to wait.
func (v *visit) retryAfter(e *sheaf.Error) {
	if e.RetryAfter > 0 {
		v.RetryAfter(e.RetryAfter)
	}
}

// overloaded turns a refusal of the front into an error with a text for a person. It returns any
// other error unchanged.
func overloaded(err error) error {
	var refusal *front.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	return &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: refusal.RetryAfter,
		Text: fmt.Sprintf("the service is overloaded at the moment, and nothing was changed. Try again in %v", max(refusal.RetryAfter, time.Second))}
}
