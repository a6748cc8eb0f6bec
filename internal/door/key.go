package door

import (
	"encoding/base64"
	"net/http"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// authenticate finds the caller by the key of the request, and enters the workspace, which may refuse under
// load.
func (a *Access) authenticate() error {
	secret, err := secretOf(a.Request.Header)
	if err != nil {
		return err
	}
	a.secret = secret
	c, err := a.door.App.Authenticate(a.Request.Context(), secret)
	if err != nil {
		return explainKey(secret, err)
	}
	if r := c.Key.Resource; r != "" && r != a.Resource {
		return unauthorized("this access token works only at " + r + ": send an API key here")
	}
	a.Credential = c
	a.Caller = app.Caller{Workspace: c.Workspace, User: c.Key.UserID, Key: c.Key, Plan: c.Plan, Origin: a.Exchange}
	a.Key = string(c.Key.ID)
	return a.AdmitWorkspace(string(c.Workspace))
}

// secretOf returns the key of an Authorization header: the token of Bearer, or the user name of
// Basic, which is all that some tools can send.
func secretOf(h http.Header) (string, error) {
	lines := h["Authorization"]
	switch {
	case len(lines) > 1:
		return "", unauthorized("the header Authorization was sent more than once: send one API key")
	case len(lines) == 0 && h.Get("X-Api-Key") != "":
		return "", unauthorized("the header X-Api-Key is not read here: " + sendBearer)
	case len(lines) == 0 || strings.TrimSpace(lines[0]) == "":
		return "", unauthorized("an API key is needed: " + sendBearer)
	}
	scheme, rest, _ := strings.Cut(strings.TrimSpace(lines[0]), " ")
	rest = strings.TrimSpace(rest)
	switch {
	case strings.EqualFold(scheme, "Bearer") && rest != "":
		return rest, nil
	case strings.EqualFold(scheme, "Basic") && rest != "":
		return basicUser(rest)
	case strings.EqualFold(scheme, "Bearer") || strings.EqualFold(scheme, "Basic"):
		return "", unauthorized("the header Authorization has " + scheme + " and no API key behind it: the variable that should hold the key is probably empty")
	case sheaf.LooksLikeKey(scheme):
		return "", unauthorized("the word Bearer is missing before the API key: " + sendBearer)
	case strings.EqualFold(scheme, "Bearer:"):
		return "", unauthorized("a colon stands behind Bearer: " + sendBearer)
	}
	return "", unauthorized("the header Authorization has neither Bearer nor Basic: " + sendBearer)
}

const sendBearer = "send the key in the header Authorization: Bearer <API_KEY>"

// basicUser returns the user name of a Basic header. Tools that cannot send Bearer send the API key there.
func basicUser(encoded string) (string, error) {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return "", unauthorized("what stands behind Basic is not the base64 of a user name and a password: give the API key as the user name, or " + sendBearer)
	}
	user, password, _ := strings.Cut(string(raw), ":")
	if !sheaf.LooksLikeKey(user) && sheaf.LooksLikeKey(password) {
		return "", unauthorized("the API key was sent as the password of Basic: give it as the user name, with any password")
	}
	return user, nil
}

// explainKey returns a better error than err if a malformed key is recognisably something else.
func explainKey(secret string, err error) error {
	if _, ok := sheaf.HashKey(secret); ok || sheaf.IsAccessToken(secret) {
		return err
	}
	first, rest, _ := strings.Cut(secret, " ")
	switch {
	case strings.EqualFold(first, "Bearer") && rest != "":
		return unauthorized("the word Bearer stands twice in the header Authorization: the field of your tool adds it already, so give it the API key alone")
	case sheaf.LooksLikeKey(strings.Trim(secret, "\"'`<>{}[]() ")) && !sheaf.LooksLikeKey(secret):
		return unauthorized("the API key stands in quotes or brackets: send it without them")
	case strings.ContainsAny(secret[:min(1, len(secret))], "<${%"):
		return unauthorized("the header Authorization has the name of a variable in the place of the API key: check that your tool fills it in")
	case strings.HasPrefix(secret, "whsec_"):
		return unauthorized("that is the signing secret of a webhook, not an API key: send a key, it begins with shf_")
	}
	return err
}

func unauthorized(text string) error {
	return &sheaf.Error{Kind: sheaf.Unauthorized, Code: sheaf.CodeUnauthorized, Text: text}
}

// challenge returns the WWW-Authenticate of a 401 (RFC 6750). It names an error only if a key was sent. It tells an app
// where to learn how to get an access token (RFC 9728), and what to ask for.
func (a *Access) challenge() string {
	var with []string
	if a.secret != "" {
		with = append(with, `error="invalid_token"`)
	}
	if a.Metadata != "" {
		with = append(with, `resource_metadata="`+a.Metadata+`"`, `scope="`+strings.Join(sheaf.DefaultGrantScopes.Strings(), " ")+`"`)
	}
	return strings.TrimSpace("Bearer " + strings.Join(with, ", "))
}

// ChallengeScopes names the scopes that the operation needs in the WWW-Authenticate of a 403.
func (a *Access) ChallengeScopes(need []sheaf.Scope) {
	names := make([]string, len(need))
	for i, s := range need {
		names[i] = string(s)
	}
	a.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+strings.Join(names, " ")+`"`)
}
