package console

import (
	"encoding/base64"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// An app sends a person here, who decides what the app may do:
//
//	GET  /oauth/authorize ──▶ signed in? ──▶ which workspace? ──▶ GET /w/{workspace}/connect: the consent page
//	POST /w/{workspace}/connect ──▶ a page that leads back to the app, with a code, or with access_denied
//
// The person is always asked, also by an app that was connected before. Until the app and its redirect address are known to
// belong together, nothing leads to that address: errors are shown here. The way back is a page with a link, and not a
// redirect: a browser applies the policy of the form to every redirect after it, also to those that the app makes.

// connectRequest is what an app asks for.
type connectRequest struct {
	App       sheaf.OAuthClient
	Redirect  string
	State     string
	Challenge string
	Asked     []string // scopes
	Query     string   // the whole request
}

// Host returns where the code goes: a host, or the scheme of an app on the device.
func (r connectRequest) Host() string { return sheaf.RedirectHost(r.Redirect) }

// OnDevice reports whether the code goes to a program on the person's device.
func (r connectRequest) OnDevice() bool { return sheaf.OnDevice(r.Redirect) }

// Publisher returns the host of the document that describes the app. It is empty for an app that has registered: then
// nobody vouches for its name.
func (r connectRequest) Publisher() string {
	if u, err := url.Parse(r.App.ID); err == nil && sheaf.Documented(r.App.ID) {
		return strings.ToLower(u.Host)
	}
	return ""
}

// Link returns the request as the query of a link.
func (r connectRequest) Link() template.URL {
	q, _ := url.ParseQuery(r.Query)
	return template.URL(q.Encode()) // #nosec G203 -- it is encoded
}

// maxConnectQuery bounds the request of an app.
const maxConnectQuery = 4000

// connectFault is a fault of a request that the app is told.
type connectFault struct{ code, text string }

// readConnect reads the request of an app. A fault is for the app, an error for the person.
func (v *visit) readConnect(query string) (r connectRequest, fault *connectFault, err error) {
	q, err := url.ParseQuery(query)
	if err != nil || len(query) > maxConnectQuery || !isText(q) {
		return r, nil, sheaf.Invalidf("The app sent a request that cannot be read. Connect it again from the app.")
	}
	r = connectRequest{State: q.Get("state"), Challenge: q.Get("code_challenge"), Asked: strings.Fields(q.Get("scope")), Query: query}
	if len(q["client_id"]) != 1 || len(q["redirect_uri"]) > 1 {
		return r, nil, sheaf.Invalidf("The app did not say who it is. Connect it again from the app.")
	}
	r.App, err = v.console.app.ConnectingApp(v.r.Context(), v.session, q.Get("client_id"))
	var refused *sheaf.OAuthError
	if errors.As(err, &refused) {
		return r, nil, sheaf.Invalidf("%s", refused.Text)
	}
	if err != nil {
		return r, nil, err
	}
	r.Redirect = q.Get("redirect_uri")
	if r.Redirect == "" && len(r.App.Redirects) == 1 {
		r.Redirect = r.App.Redirects[0]
		q.Set("redirect_uri", r.Redirect) // what the page shows: a document may change before the person agrees
		r.Query = q.Encode()
	}
	if !r.App.Allows(r.Redirect) {
		return r, nil, sheaf.Invalidf("The app asks to send you to an address that does not belong to it, so nothing was done. Connect it again from the app.")
	}
	return r, connectFaultOf(q, v.console.app), nil
}

// connectFaultOf returns the first fault of a request whose redirect address is known to be right.
func connectFaultOf(q url.Values, a *app.App) *connectFault {
	for name, values := range q {
		if len(values) > 1 {
			return &connectFault{"invalid_request", sheaf.Clip(name) + " was sent more than once"}
		}
	}
	challenge, err := base64.RawURLEncoding.DecodeString(q.Get("code_challenge"))
	switch {
	case q.Get("response_type") == "":
		return &connectFault{"invalid_request", "response_type is missing"}
	case q.Get("response_type") != "code":
		return &connectFault{"unsupported_response_type", "response_type must be code"}
	case q.Get("code_challenge_method") != "S256" || err != nil || len(challenge) != 32:
		return &connectFault{"invalid_request", "code_challenge with code_challenge_method S256 is needed"}
	}
	if err := a.CheckResource(q.Get("resource")); err != nil {
		return &connectFault{"invalid_target", err.Error()}
	}
	return nil
}

// back returns the address of the app with the answer to its request.
func (r connectRequest) back(issuer string, answer url.Values) string {
	answer.Set("iss", issuer)
	if r.State != "" {
		answer.Set("state", r.State)
	}
	sep := "?"
	if strings.Contains(r.Redirect, "?") {
		sep = "&"
	}
	return r.Redirect + sep + answer.Encode()
}

// refuseConnect shows what is wrong with the request, and a link that tells the app. Nothing leads there by itself, because
// every stranger can register an app.
func (v *visit) refuseConnect(r connectRequest, f *connectFault) error {
	address := r.back(v.console.app.Connecting().Issuer, url.Values{"error": {f.code}, "error_description": {f.text}})
	return v.show(http.StatusBadRequest, "connected", connectedPage{r, false, f.text, template.URL(address)}) // #nosec G203 -- as in backToApp
}

// authorize answers GET /oauth/authorize: it leads to the consent page of the person's workspace, or asks for which one.
func (c *Console) authorize(v *visit) error {
	if c.app.Connecting() == nil {
		return &sheaf.Error{Kind: sheaf.NotFound, Text: "Apps cannot be connected to this server: it has no public address with https."}
	}
	r, fault, err := v.readConnect(v.r.URL.RawQuery)
	switch {
	case err != nil:
		return err
	case fault != nil:
		return v.refuseConnect(r, fault)
	case len(v.session.Memberships) == 1:
		return v.redirect(c.base + "/w/" + string(v.session.Memberships[0].Workspace.ID) + "/connect?" + r.Query)
	}
	return v.show(http.StatusOK, "connect-workspace", r)
}

// connectPage is the data of connect.html.
type connectPage struct {
	connectRequest
	Choices []grantChoice
	Expires string
	Reach   reach
	Several bool // the person has more workspaces
}

// grantChoice is a scope to tick.
type grantChoice struct {
	scopeChoice
	Asked bool // the app asks for it
}

// Expiries returns the lifetimes to choose from.
func (connectPage) Expiries() any { return expiries }

// connectPageOf returns the page with these scopes ticked.
func (v *visit) connectPageOf(r connectRequest, ticked func(sheaf.Scope) bool) connectPage {
	p := connectPage{connectRequest: r, Expires: "90", Several: len(v.session.Memberships) > 1}
	for _, s := range sheaf.GrantScopes {
		if v.caller.May(s) {
			p.Choices = append(p.Choices, grantChoice{scopeChoice{s, allows[s], ticked(s)}, slices.Contains(r.Asked, string(s))})
		}
	}
	return p
}

// connectForm answers GET /w/{workspace}/connect: it asks the person what the app may do. Reading and proposing are
// ticked, whatever else the app asks for.
func (c *Console) connectForm(v *visit) error {
	if c.app.Connecting() == nil {
		return sheaf.Missing("page")
	}
	r, fault, err := v.readConnect(v.r.URL.RawQuery)
	if err != nil {
		return err
	}
	if fault != nil {
		return v.refuseConnect(r, fault)
	}
	p := v.connectPageOf(r, func(s sheaf.Scope) bool {
		return sheaf.DefaultGrantScopes.Has(s) && (len(r.Asked) == 0 || slices.Contains(r.Asked, string(s)))
	})
	if p.Reach, err = v.newReach(nil); err != nil {
		return err
	}
	return v.show(http.StatusOK, "connect", p)
}

// connect answers POST /w/{workspace}/connect: it connects the app, or tells it that the person said no.
func (c *Console) connect(v *visit) error {
	if c.app.Connecting() == nil {
		return sheaf.Missing("page")
	}
	r, fault, err := v.readConnect(v.field("request"))
	if err != nil {
		return err
	}
	if fault != nil {
		return v.refuseConnect(r, fault)
	}
	if v.field("answer") == "no" {
		return v.backToApp(r, false, url.Values{"error": {"access_denied"}, "error_description": {"the person did not agree"}})
	}
	chosen := v.r.PostForm["scope"]
	p := v.connectPageOf(r, func(s sheaf.Scope) bool { return slices.Contains(chosen, string(s)) })
	p.Expires = v.field("expires")
	var restrictTo *app.RestrictTo
	if p.Reach, restrictTo, err = v.readReach(); err != nil {
		return err
	}
	if p.Reach.Searched {
		return v.show(http.StatusOK, "connect", p)
	}
	scopes, err := sheaf.ParseScopes(chosen)
	if err != nil {
		return v.again("connect", p, sheaf.InvalidField("scopes", "choose at least one permission"))
	}
	if err := p.Reach.checkScopes(scopes); err != nil {
		return v.again("connect", p, err)
	}
	code, err := c.app.Connect(v.r.Context(), v.caller, app.NewGrant{App: r.App, Redirect: r.Redirect, Challenge: r.Challenge,
		Scopes: scopes, RestrictTo: restrictTo, ExpiresAt: expiryOf(p.Expires, c.Now()), From: v.browser()})
	if err != nil {
		return v.again("connect", p, err)
	}
	return v.backToApp(r, true, url.Values{"code": {code}})
}

// expiryOf returns the end of a lifetime that was chosen from expiries; nil: never.
func expiryOf(value string, now time.Time) *time.Time {
	for _, e := range expiries {
		if e.Value == value && e.Lasts > 0 {
			at := now.Add(e.Lasts)
			return &at
		}
	}
	return nil
}

// connectedPage is the data of connected.html.
type connectedPage struct {
	connectRequest
	Agreed bool
	Fault  string       // of the app's request
	Back   template.URL // the address of the app, whose scheme was checked
}

// backToApp shows the page that leads back to the app.
func (v *visit) backToApp(r connectRequest, agreed bool, answer url.Values) error {
	address := r.back(v.console.app.Connecting().Issuer, answer)
	v.Header().Set("Refresh", "0;url="+address)
	return v.show(http.StatusOK, "connected", connectedPage{r, agreed, "", template.URL(address)}) // #nosec G203 -- sheaf.OAuthClient.Check allows no scheme that runs a script
}

// disconnectApp answers POST /w/{workspace}/apps/{id}/disconnect: it ends what the person, or another member, has allowed
// an app.
func (c *Console) disconnectApp(v *visit) error {
	id, err := id[sheaf.KeyID](v, "app")
	if err != nil {
		return err
	}
	if err := c.app.EndGrant(v.r.Context(), v.caller, id); err != nil {
		return err
	}
	if v.field("from") == "account" {
		return v.done(c.base + "/account?done=app")
	}
	return v.done(v.at("keys"))
}
