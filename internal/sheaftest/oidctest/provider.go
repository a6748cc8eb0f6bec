// Package oidctest provides OpenID Connect providers for tests. Provider is made here, and can be as hostile as a test
// needs. Dex and Zitadel are programs of other projects, at the versions that the module in the folder providers pins.
package oidctest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// The client that every Provider knows. The secret has characters that must be encoded.
const (
	ClientID     = "sheaf-console"
	ClientSecret = "s3cret & more:%/"
)

// Person is who signs in at a Provider.
type Person struct {
	Subject, Email, Name string
	Verified             any // nil: the claim is left out
}

// Provider is an OpenID Connect provider in the process of the test. Its fields may be changed between requests, with
// Change while others may send some.
type Provider struct {
	*httptest.Server
	t  testing.TB
	mu sync.Mutex // guards all below

	Issuer  string // that the discovery document names
	Now     func() time.Time
	KeysOff bool // the key set answers 503
	Off     bool // everything answers 503
	Lenient bool // a code can be redeemed again
	// Claims changes the claims of the ID token.
	Claims func(map[string]any)
	// Forge returns the ID token in place of the one that would be sent.
	Forge func(honest string, claims map[string]any) string
	// Padding is sent in the discovery document.
	Padding string
	// InUserInfo leaves the e-mail and the name out of the ID token. UserInfo changes what the user info says.
	InUserInfo bool
	UserInfo   func(map[string]any)
	// Methods are the ways in which the client may authenticate.
	Methods []string

	key      *rsa.PrivateKey
	kid      string
	codes    map[string]*grant
	tokens   map[string]Person
	requests map[string]int
}

type grant struct {
	person   Person
	redirect string
	nonce    string
	proof    string // PKCE
	used     bool
}

// keys are made once, because that is slow.
var keys = sync.OnceValue(func() (two [2]*rsa.PrivateKey) {
	for i := range two {
		two[i], _ = rsa.GenerateKey(rand.Reader, 2048)
	}
	return two
})

// New returns a running provider.
func New(t testing.TB) *Provider {
	t.Helper()
	p := &Provider{t: t, Now: time.Now, key: keys()[0], kid: "one", codes: map[string]*grant{}, tokens: map[string]Person{}, requests: map[string]int{},
		Methods: []string{"client_secret_basic", "client_secret_post"}}
	m := http.NewServeMux()
	m.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	m.HandleFunc("GET /keys", p.keySet)
	m.HandleFunc("POST /token", p.token)
	m.HandleFunc("GET /userinfo", p.userInfo)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.requests[r.URL.Path]++
		if p.Off {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		m.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Server.Close)
	p.Issuer = p.URL
	return p
}

// Change runs act while no request is answered.
func (p *Provider) Change(act func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	act()
}

// Requests returns how many requests a path got.
func (p *Provider) Requests(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests[path]
}

// Rotate replaces the key. Only tokens with the new one are signed, and only the new one is in the key set.
func (p *Provider) Rotate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key, p.kid = keys()[1], "two"
}

// Stranger returns a token with these claims, signed with a key that is not the provider's, under the id of its key.
func (p *Provider) Stranger(claims map[string]any) string {
	key := keys()[0]
	if p.key == key {
		key = keys()[1]
	}
	return p.sign(key, p.kid, claims)
}

// PublicKey returns the modulus of the provider's key, with which tokens of symmetric algorithms are forged.
func (p *Provider) PublicKey() []byte { return p.key.N.Bytes() }

func (p *Provider) sign(key crypto.Signer, kid string, claims map[string]any) string {
	p.t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: kid}}, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	body, err := json.Marshal(claims)
	if err != nil {
		p.t.Fatal(err)
	}
	signed, err := signer.Sign(body)
	if err != nil {
		p.t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		p.t.Fatal(err)
	}
	return token
}

func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	p.answer(w, map[string]any{"issuer": p.Issuer, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"userinfo_endpoint": p.URL + "/userinfo", "id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"},
		"token_endpoint_auth_methods_supported": p.Methods, "padding": p.Padding})
}

func (p *Provider) keySet(w http.ResponseWriter, _ *http.Request) {
	if p.KeysOff {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	p.answer(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: p.key.Public(), KeyID: p.kid, Use: "sig", Algorithm: "RS256"}}})
}

func (p *Provider) answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(body); err != nil {
		p.t.Logf("the provider's answer was not read: %v", err)
	}
}

// SignIn does what the provider's page does after the person has signed in there: it returns the address that the browser
// is sent back to. `address` is that of the page.
func (p *Provider) SignIn(address string, who Person) string {
	p.t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		p.t.Fatal(err)
	}
	q := u.Query()
	if got := u.Scheme + "://" + u.Host + u.Path; got != p.URL+"/authorize" {
		p.t.Fatalf("the person is sent to %s", got)
	}
	for name, want := range map[string]string{"client_id": ClientID, "response_type": "code", "code_challenge_method": "S256"} {
		if q.Get(name) != want {
			p.t.Fatalf("%s is %q in %s", name, q.Get(name), address)
		}
	}
	if q.Get("state") == "" || q.Get("nonce") == "" || q.Get("code_challenge") == "" || !strings.Contains(" "+q.Get("scope")+" ", " openid ") {
		p.t.Fatalf("something is missing in %s", address)
	}
	code := rand.Text()
	p.mu.Lock()
	p.codes[code] = &grant{person: who, redirect: q.Get("redirect_uri"), nonce: q.Get("nonce"), proof: q.Get("code_challenge")}
	p.mu.Unlock()
	return q.Get("redirect_uri") + "?" + url.Values{"code": {code}, "state": {q.Get("state")}}.Encode()
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	refuse := func(code string) {
		w.WriteHeader(http.StatusBadRequest)
		p.answer(w, map[string]string{"error": code})
	}
	id, secret, basic := r.BasicAuth()
	if basic { // RFC 6749, 2.3.1: both are form-encoded first
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
	} else {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if id != ClientID || secret != ClientSecret {
		refuse("invalid_client")
		return
	}
	g := p.codes[r.PostFormValue("code")]
	proof := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if g == nil || g.used && !p.Lenient || g.redirect != r.PostFormValue("redirect_uri") || g.proof != base64.RawURLEncoding.EncodeToString(proof[:]) {
		refuse("invalid_grant")
		return
	}
	g.used = true
	access := rand.Text()
	p.tokens[access] = g.person
	claims := map[string]any{"iss": p.Issuer, "sub": g.person.Subject, "aud": ClientID, "exp": p.Now().Add(time.Minute).Unix(), "iat": p.Now().Unix(), "nonce": g.nonce}
	if !p.InUserInfo {
		maps.Copy(claims, g.person.claims())
	}
	if p.Claims != nil {
		p.Claims(claims)
	}
	token := p.sign(p.key, p.kid, claims)
	if p.Forge != nil {
		token = p.Forge(token, claims)
	}
	p.answer(w, map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": 60, "id_token": token})
}

func (who Person) claims() map[string]any {
	out := map[string]any{"email": who.Email, "name": who.Name}
	if who.Verified != nil {
		out["email_verified"] = who.Verified
	}
	return out
}

func (p *Provider) userInfo(w http.ResponseWriter, r *http.Request) {
	who, known := p.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	if !known {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	info := who.claims()
	info["sub"] = who.Subject
	if p.UserInfo != nil {
		p.UserInfo(info)
	}
	p.answer(w, info)
}
