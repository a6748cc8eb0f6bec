// Package oidc signs people in at an OpenID Connect provider: the authorization code flow with PKCE, and the check of
// the ID token. It knows neither users nor HTTP requests of ours. What a verified identity may do, app decides.
//
// The provider is asked when somebody signs in, not before: the program starts and serves while the provider is down.
// Every request to it has a deadline, no answer is read beyond a bound, and no redirect is followed.
package oidc

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	// answerWithin bounds one request to the provider, and mostAnswer the bytes of its answer.
	answerWithin = 10 * time.Second
	mostAnswer   = 1 << 20
	// The discovery document and the keys are read again after discoveredFor. If that fails, the old ones stay in use.
	discoveredFor = time.Hour
	// After a failure, the provider is not asked for its discovery document again for failedFor.
	failedFor = 3 * time.Second
	// clockSlack is how far the provider's clock may be ahead.
	clockSlack = 5 * time.Minute
)

// Scopes are what the provider is asked for.
var Scopes = []string{oidc.ScopeOpenID, "email", "profile"}

// Config describes the provider and this program as its client.
type Config struct {
	Issuer       string // exactly as the provider writes it
	ClientID     string
	ClientSecret string // empty for a public client
	Redirect     string // address that the provider sends the browser back to
	Roots        *x509.CertPool
	Now          func() time.Time
}

// Provider is one OpenID Connect provider. It is safe for concurrent use.
type Provider struct {
	config Config
	client *http.Client

	turn   chan struct{} // holds one token, which its taker puts back: it guards all below
	known  *discovery    // nil before the first success
	asked  time.Time     // when `known` was read
	failed time.Time     // the last failure
	fault  error         // of the last failure
}

// discovery is what the provider said about itself.
type discovery struct {
	provider *oidc.Provider
	verifier *oidc.IDTokenVerifier
	oauth2   oauth2.Config
	keys     string // address of the key set
}

// New returns the provider. It sends no request.
func New(c Config) *Provider {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: c.Roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true, MaxIdleConns: 4, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 64 << 10}
	client := &http.Client{Transport: bounded{transport}, Timeout: answerWithin,
		// A redirect could carry the client's secret to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	p := &Provider{config: c, client: client, turn: make(chan struct{}, 1)}
	p.turn <- struct{}{}
	return p
}

// bounded cuts answers off after mostAnswer bytes, so that a larger one is broken JSON.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, mostAnswer), res.Body}
	}
	return res, err
}

// Close closes idle connections.
func (p *Provider) Close() { p.client.CloseIdleConnections() }

// Issuer returns the issuer, under which subjects are known.
func (p *Provider) Issuer() string { return p.config.Issuer }

// Reason says why a sign-in at the provider failed. It is for the log and for the operator, not for the person.
type Reason string

// The reasons of this package.
const (
	Unavailable   Reason = "provider_unavailable" // the provider did not answer, or not as it should
	WrongProvider Reason = "provider_issuer"      // the discovery document names another issuer
	CodeRefused   Reason = "code_refused"         // the provider does not accept the code: it was used, is old or not for us
	NoToken       Reason = "no_id_token"
	BadSignature  Reason = "token_signature" // also an algorithm that is not allowed, and a token that cannot be read
	BadIssuer     Reason = "token_issuer"
	BadAudience   Reason = "token_audience"
	Expired       Reason = "token_expired"
	BadTime       Reason = "token_time" // it was issued in the future
	BadNonce      Reason = "token_nonce"
	BadClaims     Reason = "token_claims"
	OtherUserInfo Reason = "userinfo_subject" // the user info is about another person
)

// Error is a failure with its reason. Its text has no secret, code or token.
type Error struct {
	Reason Reason
	Cause  error
}

// Error returns the cause in at most 300 bytes.
func (e *Error) Error() string {
	if e.Cause == nil {
		return string(e.Reason)
	}
	text := strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, e.Cause.Error()), "")
	return text[:min(len(text), 300)]
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

func failed(reason Reason, format string, args ...any) error {
	return &Error{reason, fmt.Errorf(format, args...)}
}

// discovered returns what the provider says about itself, and asks the provider if that is not known. Concurrent callers
// wait for one request.
func (p *Provider) discovered(ctx context.Context) (*discovery, error) {
	select {
	case <-p.turn:
		defer func() { p.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, &Error{Unavailable, ctx.Err()}
	}
	now := p.config.Now()
	if p.known != nil && now.Sub(p.asked) < discoveredFor {
		return p.known, nil
	}
	if p.fault == nil || now.Sub(p.failed) >= failedFor {
		// The caller may leave; others wait for the same answer.
		d, err := p.discover(context.WithoutCancel(ctx))
		if err == nil {
			p.known, p.asked, p.fault = d, now, nil
			return d, nil
		}
		p.failed, p.fault = p.config.Now(), err
	}
	if p.known != nil {
		return p.known, nil
	}
	return nil, p.fault
}

// discover reads the discovery document.
func (p *Provider) discover(ctx context.Context) (*discovery, error) {
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.config.Issuer)
	var other *oidc.IssuerMismatchError
	if errors.As(err, &other) {
		return nil, &Error{WrongProvider, err}
	}
	if err != nil {
		return nil, &Error{Unavailable, err}
	}
	var more struct {
		Keys    string   `json:"jwks_uri"`
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := found.Claims(&more); err != nil {
		return nil, &Error{Unavailable, err}
	}
	endpoint := found.Endpoint()
	for _, address := range []string{endpoint.AuthURL, endpoint.TokenURL, more.Keys} {
		if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "https" && !strings.HasPrefix(p.config.Issuer, u.Scheme+"://") {
			return nil, failed(Unavailable, "the discovery document has the address %q, which is not an https:// address", address)
		}
	}
	endpoint.AuthStyle = oauth2.AuthStyleInHeader // the default of the specification
	if p.config.ClientSecret == "" || len(more.Methods) > 0 && !slices.Contains(more.Methods, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return &discovery{provider: found, keys: more.Keys,
		oauth2: oauth2.Config{ClientID: p.config.ClientID, ClientSecret: p.config.ClientSecret, Endpoint: endpoint, RedirectURL: p.config.Redirect, Scopes: Scopes},
		// Issuer and audience are checked in verify, which gives the reason, and has no exception for Google.
		verifier: found.Verifier(&oidc.Config{SkipClientIDCheck: true, SkipIssuerCheck: true, Now: p.config.Now})}, nil
}

// Secrets bind one sign-in to one browser. All are random, and only the browser and the provider get them.
type Secrets struct {
	State    string // comes back in the address
	Nonce    string // comes back in the ID token
	Verifier string // of PKCE: sent with the code
}

// Address returns the provider's page at which the person signs in.
func (p *Provider) Address(ctx context.Context, s Secrets) (string, error) {
	d, err := p.discovered(ctx)
	if err != nil {
		return "", err
	}
	return d.oauth2.AuthCodeURL(s.State, oauth2.S256ChallengeOption(s.Verifier), oidc.Nonce(s.Nonce)), nil
}

// Identity is what the provider says about a person. All of it is verified.
type Identity struct {
	Issuer, Subject string
	Email           string // empty for none
	// Verified is whether the provider has verified the e-mail. nil: the provider does not say it.
	Verified *bool
	Name     string // may be empty
}

// Exchange redeems the code and returns the identity in the ID token. The token must be signed with a key of the
// provider, in an asymmetric algorithm, for exactly this issuer and client, not expired, and have the nonce. Every error is
// an *Error.
func (p *Provider) Exchange(ctx context.Context, code string, s Secrets) (Identity, error) {
	d, err := p.discovered(ctx)
	if err != nil {
		return Identity{}, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	token, err := d.oauth2.Exchange(ctx, code, oauth2.VerifierOption(s.Verifier))
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &refused) && refused.Response != nil && refused.Response.StatusCode < http.StatusInternalServerError:
		return Identity{}, failed(CodeRefused, "the token endpoint answered %d %s", refused.Response.StatusCode, refused.ErrorCode)
	case errors.As(err, &refused):
		return Identity{}, failed(Unavailable, "the token endpoint failed")
	case err != nil:
		return Identity{}, &Error{Unavailable, err}
	}
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return Identity{}, failed(NoToken, "the answer of the token endpoint has no ID token: is the scope openid allowed for this client?")
	}
	claims, err := p.verify(ctx, d, raw, s.Nonce)
	if err != nil {
		return Identity{}, err
	}
	if claims.Email == "" && d.provider.UserInfoEndpoint() != "" {
		if err := claims.askUserInfo(ctx, d, token); err != nil {
			return Identity{}, err
		}
	}
	return claims.identity(p.config.Issuer), nil
}

// claims are those of an ID token, or of the user info, that are read.
type claims struct {
	Subject    string          `json:"sub"`
	Party      *string         `json:"azp"`
	Email      string          `json:"email"`
	Verified   json.RawMessage `json:"email_verified"`
	Name       string          `json:"name"`
	GivenName  string          `json:"given_name"`
	FamilyName string          `json:"family_name"`
}

// verify returns the claims of an ID token that is in order.
func (p *Provider) verify(ctx context.Context, d *discovery, raw, nonce string) (claims, error) {
	var c claims
	token, err := d.verifier.Verify(ctx, raw)
	var old *oidc.TokenExpiredError
	switch {
	case errors.As(err, &old):
		return c, &Error{Expired, err}
	case err != nil && !p.answers(ctx, d.keys):
		return c, failed(Unavailable, "the key set could not be read")
	case err != nil:
		return c, &Error{BadSignature, err}
	case token.Issuer != p.config.Issuer:
		return c, failed(BadIssuer, "the ID token is of the issuer %q, not %q", token.Issuer, p.config.Issuer)
	case !slices.Contains(token.Audience, p.config.ClientID):
		return c, failed(BadAudience, "the ID token is for %q", token.Audience)
	case token.IssuedAt.After(p.config.Now().Add(clockSlack)):
		return c, failed(BadTime, "the ID token was issued at %v, which is in the future", token.IssuedAt)
	case nonce == "" || subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(nonce)) != 1:
		return c, failed(BadNonce, "the ID token has another nonce")
	}
	if err := token.Claims(&c); err != nil {
		return c, &Error{BadClaims, err}
	}
	// A token for several audiences says which one it was issued to.
	if c.Party == nil && len(token.Audience) > 1 || c.Party != nil && *c.Party != p.config.ClientID {
		return c, failed(BadAudience, "the ID token was issued to another client")
	}
	if token.Subject == "" || len(token.Subject) > 255 || !printable(token.Subject) {
		return c, failed(BadClaims, "the ID token has no subject, or not one of up to 255 characters")
	}
	return c, nil
}

// printable reports whether the text can be stored and is not meant to deceive.
func printable(s string) bool {
	return strings.ToValidUTF8(s, "") == s && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// answers reports whether an address answers with 200.
func (p *Provider) answers(ctx context.Context, address string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false
	}
	res, err := p.client.Do(r)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// askUserInfo reads the e-mail and the name from the user info. Providers may leave them out of the ID token.
func (c *claims) askUserInfo(ctx context.Context, d *discovery, token *oauth2.Token) error {
	info, err := d.provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return &Error{Unavailable, fmt.Errorf("read the user info: %w", err)}
	}
	var more claims
	if err := info.Claims(&more); err != nil {
		return &Error{BadClaims, err}
	}
	if more.Subject != c.Subject {
		return failed(OtherUserInfo, "the user info is about another subject")
	}
	c.Email, c.Verified = more.Email, more.Verified
	if c.Name == "" && c.GivenName == "" && c.FamilyName == "" {
		c.Name, c.GivenName, c.FamilyName = more.Name, more.GivenName, more.FamilyName
	}
	return nil
}

// identity returns the claims as an identity. Anything but true (also as a text, which some providers send) or nothing
// means that the e-mail is not verified.
func (c *claims) identity(issuer string) Identity {
	i := Identity{Issuer: issuer, Subject: c.Subject, Email: strings.TrimSpace(c.Email), Name: c.Name}
	if i.Name == "" {
		i.Name = strings.TrimSpace(c.GivenName + " " + c.FamilyName)
	}
	if said := string(c.Verified); said != "" {
		verified := said == "true" || said == `"true"`
		i.Verified = &verified
	}
	return i
}
