package app

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"sheaf.dev/internal/fair"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// An app that wants to act for people is known in one of two ways:
//
//	it registers itself    POST /oauth/register ──▶ RegisterApp ──▶ a row, deleted after a day without a consent
//	it has a document      its id is an https address, which is read when a person is asked

// Connecting has the settings of OAuth, with which apps are connected.
type Connecting struct {
	// Issuer is the address of this service, without a trailing slash.
	Issuer string
	// Resource is the address at which access tokens work.
	Resource string
	// Metadata is the address of the document about the resource.
	Metadata string
	// Document reads the document at an address that a stranger chose.
	Document func(ctx context.Context, address string) ([]byte, error)
}

const (
	// An address registers at most registrations in registrationsWithin.
	registrations       = 20
	registrationsWithin = time.Hour
	// mostRegistered bounds the registered apps of the whole server. If there are as many, those that nobody connected within
	// unusedSoon give way.
	mostRegistered = 10_000
	unusedSoon     = 10 * time.Minute
)

// documentTurns bounds the documents of apps that are read at once. A document can take seconds.
var documentTurns = fair.Limits{Places: 16, Each: 2, Waiting: 4, AllWaiting: lineMost, Wait: turnWithin}

func oauthError(code, text string) error { return &sheaf.OAuthError{Code: code, Text: text} }

// Connecting returns the settings of OAuth, or nil if apps cannot be connected.
func (a *App) Connecting() *Connecting { return a.connecting }

// RegisterApp stores an app that describes itself. An address can register 20 apps in an hour (RateLimited). It returns an
// OAuthError for a description that cannot be used.
func (a *App) RegisterApp(ctx context.Context, in sheaf.OAuthClient, address string) (sheaf.OAuthClient, error) {
	if err := in.Check(); err != nil {
		return in, err
	}
	in.ID, in.CreatedAt = a.newID(), a.now()
	err := a.writeUnasked(ctx, func(tx *store.Tx) error {
		// The row of the failures is the lock of the address. It counts nothing.
		name := "registers apps " + address
		if _, err := tx.LockFailures(name); err != nil {
			return err
		}
		if err := tx.SetFailures(name, store.Failures{At: in.CreatedAt}); err != nil {
			return err
		}
		since := in.CreatedAt.Add(-registrationsWithin)
		made, err := tx.OAuthClientsSince(address, since)
		if err != nil {
			return err
		}
		if n := len(made); n >= registrations {
			return tooManyApps(made[n-registrations].Sub(since))
		}
		n, err := tx.CountOAuthClients(mostRegistered)
		if err == nil && n >= mostRegistered { // make room: a person agrees within minutes, or not at all
			var gone int64
			gone, err = tx.DeleteUnusedOAuthClients(in.CreatedAt.Add(-unusedSoon), 200)
			n -= gone
		}
		if err != nil {
			return err
		}
		if n >= mostRegistered {
			return tooManyApps(time.Hour)
		}
		return tx.InsertOAuthClient(in, address)
	})
	return in, err
}

func tooManyApps(wait time.Duration) error {
	return &sheaf.Error{Kind: sheaf.RateLimited, Code: sheaf.CodeRateLimited, RetryAfter: max(wait.Round(time.Second), time.Second),
		Text: "too many apps were registered: use the client_id of an earlier registration, or try again later"}
}

// ConnectingApp returns the app with that id: the registered one, or the one whose document is at that address. It returns
// an OAuthError if there is none, and for a document that cannot be used.
func (a *App) ConnectingApp(ctx context.Context, s Session, id string) (sheaf.OAuthClient, error) {
	if sheaf.Documented(id) {
		return a.documentedApp(ctx, s, id)
	}
	c, err := readUnasked(ctx, a, func(r *store.Reader) (sheaf.OAuthClient, error) { return r.OAuthClient(id) })
	if sheaf.KindOf(err) == sheaf.NotFound {
		err = oauthError("invalid_client", "this app is not registered here, or its registration has ended: connect it again from the app")
	}
	return c, err
}

// documentedApp reads the document of an app.
func (a *App) documentedApp(ctx context.Context, s Session, id string) (c sheaf.OAuthClient, err error) {
	wrong := func(why string) error {
		return oauthError("invalid_client", "the document that describes this app cannot be used: "+why)
	}
	if err := checkDocumentAddress(id); err != "" {
		return c, wrong(err)
	}
	if err := a.webhooks.Guard.CheckURL(id); err != nil {
		return c, wrong("its address is not a public one")
	}
	done, err := a.documents.Take(ctx, string(s.User.ID), 1)
	if err != nil {
		return c, &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: time.Second, Text: "too many apps are being connected at the moment: try again", Cause: err}
	}
	text, err := a.connecting.Document(ctx, id)
	done()
	if err != nil {
		return c, wrong("it could not be read from " + id)
	}
	var d struct {
		ClientID  string   `json:"client_id"`
		Name      string   `json:"client_name"`
		URI       string   `json:"client_uri"`
		Redirects []string `json:"redirect_uris"`
		Method    string   `json:"token_endpoint_auth_method"`
		Grants    []string `json:"grant_types"`
		Responses []string `json:"response_types"`
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&d); err != nil {
		return c, wrong("it is not JSON of the expected form")
	}
	switch {
	case d.ClientID != id:
		return c, wrong("its client_id is another address than its own")
	case d.Method != "" && d.Method != "none":
		return c, wrong("it asks for token_endpoint_auth_method " + sheaf.Clip(d.Method) + ", and only none is supported here")
	case d.Grants != nil && !slices.Contains(d.Grants, "authorization_code"):
		return c, wrong("its grant_types lack authorization_code")
	case d.Responses != nil && !slices.Contains(d.Responses, "code"):
		return c, wrong("its response_types lack code")
	}
	c = sheaf.OAuthClient{ID: id, Name: d.Name, URI: d.URI, Redirects: d.Redirects}
	if err := c.Check(); err != nil {
		return c, wrong(err.Error())
	}
	return c, nil
}

// checkDocumentAddress says why an address cannot be the id of an app, or returns "".
func checkDocumentAddress(id string) string {
	u, err := url.Parse(id)
	switch {
	case err != nil || len(id) > maxClientID || u.Host == "" || u.User != nil || u.Fragment != "" || strings.Contains(id, "#"):
		return "its address is malformed"
	case strings.ContainsFunc(u.Host, func(r rune) bool { return r > '~' }):
		return "its address has a host with other characters than ASCII: use the xn-- form"
	case u.Path == "" || u.Path == "/":
		return "its address has no path"
	case slices.ContainsFunc(strings.Split(u.EscapedPath(), "/"), func(s string) bool {
		return s == "." || s == ".." || strings.EqualFold(s, "%2e") || strings.EqualFold(s, "%2e%2e")
	}):
		return "its address has a . or .. in its path"
	}
	return ""
}

// maxClientID bounds the id of an app.
const maxClientID = 500
