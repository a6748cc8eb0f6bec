package oauth

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// token answers POST /oauth/token.
func (x *exchange) token() {
	form, ok := x.form()
	if !ok {
		return
	}
	var t app.Tokens
	var err error
	a, ctx := x.server.App, x.Request.Context()
	switch grant := form.Get("grant_type"); grant {
	case "authorization_code":
		if !x.has(form, "code", "client_id", "code_verifier") {
			return
		}
		t, err = a.RedeemCode(ctx, app.Redemption{Code: form.Get("code"), Client: form.Get("client_id"), Redirect: form.Get("redirect_uri"),
			Verifier: form.Get("code_verifier"), Resource: form.Get("resource"), Origin: x.Exchange})
	case "refresh_token":
		if !x.has(form, "refresh_token", "client_id") {
			return
		}
		t, err = a.RenewTokens(ctx, app.Renewal{Token: form.Get("refresh_token"), Client: form.Get("client_id"),
			Resource: form.Get("resource"), Scopes: strings.Fields(form.Get("scope")), Origin: x.Exchange})
	case "":
		x.fail(http.StatusBadRequest, "invalid_request", "grant_type is missing")
		return
	default:
		x.fail(http.StatusBadRequest, "unsupported_grant_type", "grant_type must be authorization_code or refresh_token")
		return
	}
	if err != nil {
		x.failWith(err)
		return
	}
	x.Header().Set("Pragma", "no-cache")
	x.send(http.StatusOK, struct {
		Access  string `json:"access_token"`
		Type    string `json:"token_type"`
		Expires int64  `json:"expires_in"`
		Refresh string `json:"refresh_token"`
		Scope   string `json:"scope"`
	}{t.Access, "Bearer", int64(t.ExpiresIn.Seconds()), t.Refresh, strings.Join(t.Scopes.Strings(), " ")})
}

// revoke answers POST /oauth/revoke. Its answer is the same for a token that is unknown.
func (x *exchange) revoke() {
	form, ok := x.form()
	if !ok || !x.has(form, "token", "client_id") {
		return
	}
	if err := x.server.App.EndToken(x.Request.Context(), form.Get("token"), form.Get("client_id"), x.Exchange); err != nil {
		x.failWith(err)
		return
	}
	x.WriteHeader(http.StatusOK)
}

// form reads the body. If ok is false, the request is answered.
func (x *exchange) form() (form url.Values, ok bool) {
	if kind, _, err := mime.ParseMediaType(x.Request.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		x.fail(http.StatusBadRequest, "invalid_request", "send the parameters as application/x-www-form-urlencoded")
		return nil, false
	}
	body, ok := x.read()
	if !ok {
		return nil, false
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		x.fail(http.StatusBadRequest, "invalid_request", "the form is malformed")
		return nil, false
	}
	for name, values := range form {
		if len(values) > 1 {
			x.fail(http.StatusBadRequest, "invalid_request", sheaf.Clip(name)+" was sent more than once")
			return nil, false
		}
	}
	return form, true
}

// read reads a body of at most maxBody bytes. If ok is false, the request is answered.
func (x *exchange) read() (body []byte, ok bool) {
	body, err := io.ReadAll(http.MaxBytesReader(x, x.Body(), maxBody))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		x.fail(http.StatusRequestEntityTooLarge, "invalid_request", "the request is larger than 64 KiB")
	case err != nil:
		x.fail(http.StatusBadRequest, "invalid_request", "the request is incomplete: send it again")
	case !utf8.Valid(body) || slices.Contains(body, 0):
		x.fail(http.StatusBadRequest, "invalid_request", "the request is not valid UTF-8, or has a NUL")
	default:
		return body, true
	}
	return nil, false
}

// has answers with an error if one of these parameters is missing.
func (x *exchange) has(form url.Values, names ...string) bool {
	for _, name := range names {
		if form.Get(name) == "" {
			x.fail(http.StatusBadRequest, "invalid_request", name+" is missing")
			return false
		}
	}
	return true
}

// register answers POST /oauth/register. Every app is registered as a public one, whatever it asks for.
func (x *exchange) register() {
	body, ok := x.read()
	if !ok {
		return
	}
	var in struct {
		Name      string   `json:"client_name"`
		URI       string   `json:"client_uri"`
		Redirects []string `json:"redirect_uris"`
		Grants    []string `json:"grant_types"`
		Responses []string `json:"response_types"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		x.fail(http.StatusBadRequest, "invalid_client_metadata", "the description is not JSON of the expected form")
		return
	}
	if in.Grants != nil && !slices.Contains(in.Grants, "authorization_code") || in.Responses != nil && !slices.Contains(in.Responses, "code") {
		x.fail(http.StatusBadRequest, "invalid_client_metadata", "only grant_types authorization_code and refresh_token, and response_types code, are supported")
		return
	}
	if in.Name == "" {
		in.Name = "An app without a name"
	}
	c, err := x.server.App.RegisterApp(x.Request.Context(), sheaf.OAuthClient{Name: in.Name, URI: in.URI, Redirects: in.Redirects}, x.Address())
	if err != nil {
		x.failWith(err)
		return
	}
	x.send(http.StatusCreated, struct {
		ID        string   `json:"client_id"`
		Issued    int64    `json:"client_id_issued_at"`
		Name      string   `json:"client_name"`
		URI       string   `json:"client_uri,omitempty"`
		Redirects []string `json:"redirect_uris"`
		Grants    []string `json:"grant_types"`
		Responses []string `json:"response_types"`
		Auth      string   `json:"token_endpoint_auth_method"`
	}{c.ID, c.CreatedAt.Unix(), c.Name, c.URI, c.Redirects, []string{"authorization_code", "refresh_token"}, []string{"code"}, "none"})
}
