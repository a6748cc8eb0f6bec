package oidc

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest/oidctest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var grace = oidctest.Person{Subject: "4711", Email: "grace@example.com", Name: "Grace Hopper", Verified: true}

func open(t *testing.T, at *oidctest.Provider, change ...func(*Config)) *Provider {
	t.Helper()
	c := Config{Issuer: at.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret, Redirect: "http://127.0.0.1:8080/back", Now: time.Now}
	for _, f := range change {
		f(&c)
	}
	p := New(c)
	t.Cleanup(p.Close)
	return p
}

var secrets = Secrets{State: "the state", Nonce: "the nonce", Verifier: strings.Repeat("verifier", 8)}

// signIn signs a person in, and returns the identity.
func signIn(t *testing.T, p *Provider, at *oidctest.Provider, who oidctest.Person) (Identity, error) {
	t.Helper()
	return redeem(t, p, begin(t, p, at, who))
}

func begin(t *testing.T, p *Provider, at *oidctest.Provider, who oidctest.Person) (code string) {
	t.Helper()
	address, err := p.Address(t.Context(), secrets)
	if err != nil {
		t.Fatal(err)
	}
	back, err := url.Parse(at.SignIn(address, who))
	if err != nil {
		t.Fatal(err)
	}
	return back.Query().Get("code")
}

func redeem(t *testing.T, p *Provider, code string) (Identity, error) {
	t.Helper()
	return p.Exchange(t.Context(), code, secrets)
}

func wantReason(t *testing.T, err error, want Reason) {
	t.Helper()
	var refused *Error
	if !errors.As(err, &refused) || refused.Reason != want {
		t.Errorf("the reason is %v (%v), not %s", refused, err, want)
	}
}

// D190: a code is redeemed with the client's secret in each way that providers ask for, and by a public client.
func TestExchange_ReturnsTheIdentity(t *testing.T) {
	yes := true
	want := Identity{Subject: "4711", Email: "grace@example.com", Name: "Grace Hopper", Verified: &yes}
	for name, methods := range map[string][]string{"basic": {"client_secret_basic"}, "post": {"client_secret_post"}, "unsaid": nil} {
		t.Run(name, func(t *testing.T) {
			at := oidctest.New(t)
			at.Methods = methods
			got, err := signIn(t, open(t, at), at, grace)
			if err != nil {
				t.Fatal(err)
			}
			want := want
			want.Issuer = at.URL
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// D190: the ID token is verified in full.
func TestExchange_RefusesTokens(t *testing.T) {
	part := func(v any) string {
		b, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(b)
	}
	for name, c := range map[string]struct {
		claims func(map[string]any)
		forge  func(at *oidctest.Provider, honest string, claims map[string]any) string
		want   Reason
	}{
		"of another issuer":       {claims: func(c map[string]any) { c["iss"] = "https://evil.example" }, want: BadIssuer},
		"issuer with a slash":     {claims: func(c map[string]any) { c["iss"] = c["iss"].(string) + "/" }, want: BadIssuer},
		"no issuer":               {claims: func(c map[string]any) { delete(c, "iss") }, want: BadIssuer},
		"another audience":        {claims: func(c map[string]any) { c["aud"] = "another" }, want: BadAudience},
		"no audience":             {claims: func(c map[string]any) { delete(c, "aud") }, want: BadAudience},
		"two audiences":           {claims: func(c map[string]any) { c["aud"] = []string{oidctest.ClientID, "another"} }, want: BadAudience},
		"issued to another":       {claims: func(c map[string]any) { c["azp"] = "another" }, want: BadAudience},
		"expired":                 {claims: func(c map[string]any) { c["exp"] = time.Now().Add(-time.Second).Unix() }, want: Expired},
		"no expiry":               {claims: func(c map[string]any) { delete(c, "exp") }, want: Expired},
		"issued in the future":    {claims: func(c map[string]any) { c["iat"] = time.Now().Add(time.Hour).Unix() }, want: BadTime},
		"not valid yet":           {claims: func(c map[string]any) { c["nbf"] = time.Now().Add(time.Hour).Unix() }, want: BadSignature},
		"another nonce":           {claims: func(c map[string]any) { c["nonce"] = "another" }, want: BadNonce},
		"no nonce":                {claims: func(c map[string]any) { delete(c, "nonce") }, want: BadNonce},
		"no subject":              {claims: func(c map[string]any) { delete(c, "sub") }, want: BadClaims},
		"long subject":            {claims: func(c map[string]any) { c["sub"] = strings.Repeat("x", 256) }, want: BadClaims},
		"subject with NUL":        {claims: func(c map[string]any) { c["sub"] = "47\x0011" }, want: BadClaims},
		"e-mail that is a number": {claims: func(c map[string]any) { c["email"] = 1 }, want: BadClaims},
		"signed by a stranger": {forge: func(at *oidctest.Provider, _ string, c map[string]any) string { return at.Stranger(c) },
			want: BadSignature},
		"changed": {forge: func(_ *oidctest.Provider, honest string, c map[string]any) string {
			c["sub"] = "1"
			parts := strings.Split(honest, ".")
			return parts[0] + "." + part(c) + "." + parts[2]
		}, want: BadSignature},
		"alg none": {forge: func(_ *oidctest.Provider, _ string, c map[string]any) string {
			return part(map[string]string{"alg": "none"}) + "." + part(c) + "."
		}, want: BadSignature},
		"alg None": {forge: func(_ *oidctest.Provider, honest string, c map[string]any) string {
			return part(map[string]string{"alg": "None"}) + "." + part(c) + "." + strings.Split(honest, ".")[2]
		}, want: BadSignature},
		"signed with the public key": {forge: func(at *oidctest.Provider, _ string, c map[string]any) string {
			signed := part(map[string]string{"alg": "HS256", "kid": "one"}) + "." + part(c)
			mac := hmac.New(sha256.New, at.PublicKey())
			mac.Write([]byte(signed))
			return signed + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
		}, want: BadSignature},
		"signed with the client's secret": {forge: func(_ *oidctest.Provider, _ string, c map[string]any) string {
			signed := part(map[string]string{"alg": "HS256"}) + "." + part(c)
			mac := hmac.New(sha256.New, []byte(oidctest.ClientSecret))
			mac.Write([]byte(signed))
			return signed + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
		}, want: BadSignature},
		"no token":  {forge: func(*oidctest.Provider, string, map[string]any) string { return "" }, want: NoToken},
		"not a JWT": {forge: func(*oidctest.Provider, string, map[string]any) string { return "\xff.{}.." }, want: BadSignature},
	} {
		t.Run(name, func(t *testing.T) {
			at := oidctest.New(t)
			p := open(t, at)
			if _, err := signIn(t, p, at, grace); err != nil {
				t.Fatalf("an honest token: %v", err)
			}
			at.Change(func() {
				at.Claims = c.claims
				if c.forge != nil {
					at.Forge = func(honest string, claims map[string]any) string { return c.forge(at, honest, claims) }
				}
			})
			got, err := signIn(t, p, at, grace)
			wantReason(t, err, c.want)
			if diff := cmp.Diff(Identity{}, got); diff != "" {
				t.Errorf("an identity is returned: %s", diff)
			}
		})
	}
}

// D190: several audiences are allowed if the token says that it was issued to this client.
func TestExchange_AcceptsSeveralAudiences(t *testing.T) {
	at := oidctest.New(t)
	at.Claims = func(c map[string]any) {
		c["aud"], c["azp"] = []string{"another", oidctest.ClientID}, oidctest.ClientID
	}
	if _, err := signIn(t, open(t, at), at, grace); err != nil {
		t.Error(err)
	}
}

// D190: the issuer is compared exactly, also with Entra's addresses for accounts of every tenant.
func TestDiscovery_AnotherIssuer(t *testing.T) {
	for name, issuer := range map[string]func(string) string{
		"slash": func(s string) string { return s + "/" }, "another": func(string) string { return "https://evil.example" },
		"Entra's common": func(s string) string { return s + "/{tenantid}/v2.0" }, "none": func(string) string { return "" },
	} {
		t.Run(name, func(t *testing.T) {
			at := oidctest.New(t)
			at.Issuer = issuer(at.URL)
			_, err := open(t, at).Address(t.Context(), secrets)
			wantReason(t, err, WrongProvider)
		})
	}
}

// D190: a code works once, with its PKCE verifier alone.
func TestExchange_RefusesCodes(t *testing.T) {
	at := oidctest.New(t)
	p := open(t, at)
	code := begin(t, p, at, grace)
	if _, err := redeem(t, p, code); err != nil {
		t.Fatal(err)
	}
	_, err := redeem(t, p, code)
	wantReason(t, err, CodeRefused)
	_, err = redeem(t, p, "made up")
	wantReason(t, err, CodeRefused)
	other := secrets
	other.Verifier = strings.Repeat("another!", 8)
	_, err = p.Exchange(t.Context(), begin(t, p, at, grace), other)
	wantReason(t, err, CodeRefused)
	wrong := open(t, at, func(c *Config) { c.ClientSecret = "wrong" })
	_, err = signIn(t, wrong, at, grace)
	wantReason(t, err, CodeRefused)
	if strings.Contains(err.Error(), "wrong") {
		t.Errorf("the error has the secret: %v", err)
	}
}

// D190: new keys are found when a token needs them, and a token of an old key is not accepted after an hour.
func TestKeys_Rotate(t *testing.T) {
	at := oidctest.New(t)
	p := open(t, at)
	if _, err := signIn(t, p, at, grace); err != nil {
		t.Fatal(err)
	}
	at.Rotate()
	if _, err := signIn(t, p, at, grace); err != nil {
		t.Errorf("after the rotation: %v", err)
	}
	if n := at.Requests("/keys"); n != 2 {
		t.Errorf("the keys were read %d times", n)
	}
	if _, err := signIn(t, p, at, grace); err != nil || at.Requests("/keys") != 2 {
		t.Errorf("known keys: %v, read %d times", err, at.Requests("/keys"))
	}
}

// D190: a key set that is down is not a wrong signature.
func TestKeys_AreDown(t *testing.T) {
	at := oidctest.New(t)
	p := open(t, at)
	at.KeysOff = true
	_, err := signIn(t, p, at, grace)
	wantReason(t, err, Unavailable)
	at.Change(func() { at.KeysOff = false })
	if _, err := signIn(t, p, at, grace); err != nil {
		t.Errorf("once it is up: %v", err)
	}
}

// D190: the provider is asked lazily, not too often while it is down, and again later.
func TestDiscovery_WhileTheProviderIsDown(t *testing.T) {
	now := time.Now()
	at := oidctest.New(t)
	at.Off = true
	p := open(t, at, func(c *Config) { c.Now = func() time.Time { return now } })
	if n := at.Requests("/.well-known/openid-configuration"); n != 0 {
		t.Errorf("the provider was asked %d times before anybody signs in", n)
	}
	for range 5 {
		_, err := p.Address(t.Context(), secrets)
		wantReason(t, err, Unavailable)
	}
	if n := at.Requests("/.well-known/openid-configuration"); n != 1 {
		t.Errorf("the provider was asked %d times while it was down", n)
	}
	at.Change(func() { at.Off = false })
	now = now.Add(failedFor)
	if _, err := p.Address(t.Context(), secrets); err != nil {
		t.Fatal(err)
	}
	// The document is kept, and stays in use if the provider is down when it is read again.
	at.Change(func() { at.Off = true })
	now = now.Add(discoveredFor)
	if _, err := p.Address(t.Context(), secrets); err != nil {
		t.Error(err)
	}
	if n := at.Requests("/.well-known/openid-configuration"); n != 3 {
		t.Errorf("the document was read %d times", n)
	}
}

// D190: answers are bounded, in bytes and in time, and no redirect is followed.
func TestDiscovery_IsBounded(t *testing.T) {
	at := oidctest.New(t)
	at.Padding = strings.Repeat("x", mostAnswer)
	_, err := open(t, at).Address(t.Context(), secrets)
	wantReason(t, err, Unavailable)
	if len(err.Error()) > 300 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}

	asked := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer elsewhere.Close()
	redirect := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer redirect.Close()
	_, err = open(t, at, func(c *Config) { c.Issuer = redirect.URL }).Address(t.Context(), secrets)
	wantReason(t, err, Unavailable)
	if asked {
		t.Error("a redirect was followed")
	}
	if got := open(t, at).client.Timeout; got != answerWithin {
		t.Errorf("a request may take %v", got)
	}
}

// D190: while one request to a provider that hangs waits, others wait for the same, and none asks again.
func TestDiscovery_Hangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Config{Issuer: "https://id.example", ClientID: "a", Now: time.Now})
		asked := 0
		p.client.Transport = transport(func(r *http.Request) (*http.Response, error) {
			asked++
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		done := make(chan error)
		for range 5 {
			go func() { _, err := p.Address(t.Context(), secrets); done <- err }()
		}
		began := time.Now()
		for range 5 {
			wantReason(t, <-done, Unavailable)
		}
		if took := time.Since(began); took != answerWithin || asked != 1 {
			t.Errorf("it took %v and %d requests", took, asked)
		}
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// D190: an issuer with HTTPS has no address without.
func TestDiscovery_NoAddressWithoutTLS(t *testing.T) {
	p := New(Config{Issuer: "https://id.example", ClientID: "a", Now: time.Now})
	p.client.Transport = transport(func(*http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": "https://id.example", "authorization_endpoint": "https://id.example/a",
			"token_endpoint": "http://id.example/t", "jwks_uri": "https://id.example/k"})
		return w.Result(), nil
	})
	_, err := p.Address(t.Context(), secrets)
	wantReason(t, err, Unavailable)
}

// D190: providers that leave the e-mail out of the ID token are asked for the user info, which must be about the same
// person.
func TestUserInfo(t *testing.T) {
	at := oidctest.New(t)
	at.InUserInfo = true
	p := open(t, at)
	got, err := signIn(t, p, at, grace)
	if err != nil || got.Email != grace.Email || got.Name != grace.Name || got.Verified == nil || !*got.Verified {
		t.Errorf("%+v, %v", got, err)
	}
	at.Change(func() { at.UserInfo = func(c map[string]any) { c["sub"] = "1" } })
	_, err = signIn(t, p, at, grace)
	wantReason(t, err, OtherUserInfo)
}

// D190: only true, also as a text, verifies an e-mail, and only an absent claim leaves it open.
func TestIdentity_Verified(t *testing.T) {
	at := oidctest.New(t)
	p := open(t, at)
	for name, c := range map[string]struct {
		said any
		want string
	}{
		"absent": {nil, "open"}, "true": {true, "yes"}, "false": {false, "no"}, "text true": {"true", "yes"}, "text false": {"false", "no"},
		"one": {1, "no"}, "True": {"True", "no"}, "null": {json.RawMessage("null"), "no"}, "object": {map[string]any{}, "no"},
	} {
		who := grace
		who.Verified = c.said
		i, err := signIn(t, p, at, who)
		got := "open"
		if i.Verified != nil {
			got = map[bool]string{true: "yes", false: "no"}[*i.Verified]
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}
