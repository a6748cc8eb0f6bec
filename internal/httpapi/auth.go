package httpapi

import (
	"encoding/base64"
	"net/http"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// authenticate finds out whose key the request carries, and whether that
// workspace has room for one more.
func (x *exchange) authenticate() error {
	secret, err := secretOf(x.request.Header)
	if err != nil {
		return err
	}
	c, err := x.server.App.Authenticate(x.request.Context(), secret)
	if err != nil {
		return err
	}
	x.secret, x.credential = secret, c
	x.caller = app.Caller{Workspace: c.Workspace, User: c.Key.UserID, Key: c.Key, Plan: c.Plan}
	return x.enterWorkspace()
}

// secretOf returns the key of an Authorization header: the token of Bearer, or
// the user name of Basic, which is all that some tools can send.
func secretOf(h http.Header) (string, error) {
	lines := h["Authorization"]
	if len(lines) > 1 {
		return "", &sheaf.Error{Kind: sheaf.Unauthorized, Code: sheaf.CodeUnauthorized,
			Text: "the header Authorization was sent more than once: send one API key"}
	}
	var scheme, rest string
	if len(lines) > 0 {
		scheme, rest, _ = strings.Cut(lines[0], " ")
		rest = strings.TrimSpace(rest)
	}
	switch {
	case rest == "":
	case strings.EqualFold(scheme, "Bearer"):
		return rest, nil
	case strings.EqualFold(scheme, "Basic"):
		raw, err := base64.StdEncoding.DecodeString(rest)
		if err == nil {
			user, _, _ := strings.Cut(string(raw), ":")
			return user, nil
		}
	}
	return "", &sheaf.Error{Kind: sheaf.Unauthorized, Code: sheaf.CodeUnauthorized,
		Text: "an API key is needed: send it in the header Authorization: Bearer <API_KEY>"}
}
