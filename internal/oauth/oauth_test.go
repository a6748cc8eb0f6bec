package oauth_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"sheaf.dev/internal/oauth"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// D195: the official Go client connects by the address alone: it registers, or has a document, and a person agrees.
func TestConnect_OfficialClient(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		p := newOwner(t, a)
		const document = "https://app.example/client.json"
		a.Connecting.Document = func(context.Context, string) ([]byte, error) {
			return []byte(`{"client_id": "` + document + `", "client_name": "Documented", "redirect_uris": ["http://127.0.0.1/callback"]}`), nil
		}
		for name, change := range map[string]func(*auth.AuthorizationCodeHandlerConfig){
			"registered": func(c *auth.AuthorizationCodeHandlerConfig) {
				c.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
					ClientName: "Registered", RedirectURIs: []string{"http://127.0.0.1:8123/callback"}, GrantTypes: []string{"authorization_code", "refresh_token"}}}
			},
			"documented": func(c *auth.AuthorizationCodeHandlerConfig) {
				c.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: document}
			},
		} {
			asked := 0
			config := &auth.AuthorizationCodeHandlerConfig{RedirectURL: "http://127.0.0.1:8123/callback", Client: a.Server.Client(),
				AuthorizationCodeFetcher: func(_ context.Context, in *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
					asked++
					back := p.agree(in.URL, nil)
					if back.Host != "127.0.0.1:8123" || back.Path != "/callback" {
						return nil, errors.New("led to " + back.String())
					}
					q := back.Query()
					return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
				}}
			change(config)
			handler, err := auth.NewAuthorizationCodeHandler(config)
			if err != nil {
				t.Fatal(err)
			}
			session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
				&sdk.StreamableClientTransport{Endpoint: a.Server.URL + "/mcp", HTTPClient: a.Server.Client(), OAuthHandler: handler, MaxRetries: -1}, nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			tools, err := session.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var names []string
			for _, tool := range tools.Tools {
				names = append(names, tool.Name)
			}
			if all := strings.Join(names, " "); !strings.Contains(all, "propose_changes") || strings.Contains(all, "rewrite_document") || asked != 1 {
				t.Errorf("%s: the person was asked %d times, and the tools are %s", name, asked, all)
			}
			source, err := handler.TokenSource(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			first, err := source.Token()
			if err != nil {
				t.Fatal(err)
			}
			a.Clock.Advance(time.Hour)
			expired := *first
			expired.Expiry = time.Now().Add(-time.Minute)
			c := client{t: t, a: a, id: "", redirect: testRedirect}
			if status, _ := c.call("/mcp", expired.AccessToken); status != http.StatusUnauthorized {
				t.Errorf("%s: the access token works after an hour: %d", name, status)
			}
			session.Close()
		}
	}, apitest.WithConsole, withApps)
}

// D195: the documents tell an app where to go, and name no more than there is.
func TestMetadata(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		p := newOwner(t, a)
		for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"} {
			m, err := oauthex.GetProtectedResourceMetadata(t.Context(), a.Server.URL+path, a.Server.URL+"/mcp", a.Server.Client())
			if err != nil || len(m.AuthorizationServers) != 1 || m.AuthorizationServers[0] != a.Server.URL {
				t.Errorf("%s: %+v, %v", path, m, err)
			}
		}
		m, err := oauthex.GetAuthServerMeta(t.Context(), a.Server.URL+"/.well-known/oauth-authorization-server", a.Server.URL, a.Server.Client())
		if err != nil {
			t.Fatal(err)
		}
		for _, address := range []string{m.AuthorizationEndpoint, m.TokenEndpoint, m.RegistrationEndpoint, m.RevocationEndpoint} {
			if status, _, _ := p.get(address); status == http.StatusNotFound {
				t.Errorf("nothing is at %s", address)
			}
		}
		c := p.app()
		status, challenge := c.call("/mcp", "")
		if want := `Bearer resource_metadata="` + a.Server.URL + `/.well-known/oauth-protected-resource/mcp", scope="projects:read documents:read media:read proposals:read proposals:write releases:read"`; status != 401 || challenge != want {
			t.Errorf("got %d %s, want %s", status, challenge, want)
		}
		if _, challenge := c.call("/mcp", "sht_x"); !strings.HasPrefix(challenge, `Bearer error="invalid_token", resource_metadata="`) {
			t.Errorf("a wrong token gets %s", challenge)
		}
		if _, challenge := c.call("/api/v1/me", ""); challenge != "Bearer" {
			t.Errorf("the API leads apps to %s", challenge)
		}
	}, apitest.WithConsole, withApps)
}

// D195: pages of other sites may call every address of the edge, and none of the others.
func TestCORS(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		p := newOwner(t, a)
		c := p.app()
		ask := func(method, path string) *http.Response {
			r, err := http.NewRequestWithContext(t.Context(), method, a.Server.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Origin", "https://inspector.example")
			r.Header.Set("Access-Control-Request-Method", http.MethodPost)
			answer := c.do(r)
			answer.Body.Close()
			return answer
		}
		for path, method := range map[string]string{"/.well-known/oauth-protected-resource": "GET", "/.well-known/oauth-protected-resource/mcp": "GET",
			"/.well-known/oauth-authorization-server": "GET", "/oauth/token": "POST", "/oauth/register": "POST", "/oauth/revoke": "POST"} {
			got := ask(http.MethodOptions, path)
			if h := got.Header; got.StatusCode != 204 || h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Access-Control-Allow-Methods") != method+", OPTIONS" || h.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("%s: %d %v", path, got.StatusCode, h)
			}
			if got := ask(method, path); got.Header.Get("Access-Control-Allow-Origin") != "*" || got.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s %s: %v", method, path, got.Header)
			}
			if got := ask(http.MethodDelete, path); got.StatusCode != 405 || got.Header.Get("Allow") != method+", OPTIONS" {
				t.Errorf("DELETE %s: %d %v", path, got.StatusCode, got.Header)
			}
		}
		for _, path := range []string{"/oauth/authorize", "/w/" + string(p.ws) + "/connect"} {
			if got := ask(http.MethodGet, path); got.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("pages of other sites may read %s", path)
			}
		}
	}, apitest.WithConsole, withApps)
}

// D195: what is wrong with a request for consent is told to the app only if the redirect address is its own.
func TestAuthorize_BadRequests(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		p := newOwner(t, a)
		c := p.app()
		for name, change := range map[string]func(url.Values){
			"an unknown app":            func(q url.Values) { q.Set("client_id", "x") },
			"no app":                    func(q url.Values) { q.Del("client_id") },
			"two apps":                  func(q url.Values) { q.Add("client_id", "x") },
			"another redirect address":  func(q url.Values) { q.Set("redirect_uri", "https://evil.example/") },
			"another path":              func(q url.Values) { q.Set("redirect_uri", testRedirect+"/x") },
			"two redirect addresses":    func(q url.Values) { q.Add("redirect_uri", "https://evil.example/") },
			"a very long request":       func(q url.Values) { q.Set("state", strings.Repeat("x", 5000)) },
			"a document in the network": func(q url.Values) { q.Set("client_id", "https://169.254.169.254/latest/") },
		} {
			status, location, body := p.get("/oauth/authorize?" + c.query(change))
			if status != http.StatusBadRequest || location != "" || strings.Contains(body, "evil.example") {
				t.Errorf("%s: %d, to %q", name, status, location)
			}
		}
		for name, test := range map[string]struct {
			change func(url.Values)
			code   string
		}{
			"no response type":      {func(q url.Values) { q.Del("response_type") }, "invalid_request"},
			"a token":               {func(q url.Values) { q.Set("response_type", "token") }, "unsupported_response_type"},
			"no challenge":          {func(q url.Values) { q.Del("code_challenge") }, "invalid_request"},
			"a plain challenge":     {func(q url.Values) { q.Set("code_challenge_method", "plain") }, "invalid_request"},
			"no challenge method":   {func(q url.Values) { q.Del("code_challenge_method") }, "invalid_request"},
			"a malformed challenge": {func(q url.Values) { q.Set("code_challenge", "abc") }, "invalid_request"},
			"another resource":      {func(q url.Values) { q.Set("resource", a.Server.URL+"/api/v1") }, "invalid_target"},
			"a repeated parameter":  {func(q url.Values) { q.Add("scope", "x") }, "invalid_request"},
		} {
			status, location, body := p.get("/oauth/authorize?" + c.query(test.change))
			link := attribute(body, backLink.String())
			to, err := url.Parse(link)
			if err != nil || status != http.StatusBadRequest || location != "" || !strings.HasPrefix(link, testRedirect+"?") || to.Query().Get("error") != test.code || to.Query().Get("state") != "st&te" || to.Query().Get("iss") != a.Server.URL {
				t.Errorf("%s: %d, to %q", name, status, link)
			}
		}
		back := p.agree(a.Server.URL+"/oauth/authorize?"+c.query(nil), func(form url.Values) { form.Set("answer", "no") })
		if q := back.Query(); q.Get("error") != "access_denied" || q.Get("state") != "st&te" || q.Get("iss") != a.Server.URL || q.Has("code") {
			t.Errorf("a refusal leads to %s", back)
		}
		// On this device any port goes, and a registered address is needed if none is given and there are several.
		back = p.agree(a.Server.URL+"/oauth/authorize?"+c.query(func(q url.Values) { q.Set("redirect_uri", "http://127.0.0.1:50123/callback") }), nil)
		if back.Host != "127.0.0.1:50123" || back.Query().Get("code") == "" {
			t.Errorf("another port leads to %s", back)
		}
	}, apitest.WithConsole, withApps)
}

// D195: without a session the person signs in first, and comes back to the request.
func TestAuthorize_SignsInFirst(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		p := newOwner(t, a)
		c := p.app()
		p.post("/sign-out", nil)
		status, location, _ := p.get("/oauth/authorize?" + c.query(nil))
		if status != http.StatusSeeOther || !strings.HasPrefix(location, "/sign-in?next=") {
			t.Fatalf("%d, to %q", status, location)
		}
		next, err := url.Parse(location)
		if err != nil {
			t.Fatal(err)
		}
		status, location, _ = p.post("/sign-in", url.Values{"email": {"ada@example.com"}, "password": {"long enough"}, "next": {next.Query().Get("next")}})
		if status != http.StatusSeeOther || !strings.HasPrefix(location, "/oauth/authorize?") {
			t.Fatalf("after signing in: %d, to %q", status, location)
		}
		if back := p.agree(a.Server.URL+location, nil); back.Query().Get("code") == "" {
			t.Errorf("led to %s", back)
		}
	}, apitest.WithConsole, withApps)
}

// D195, D197: the errors of the token endpoint are those of its RFCs, and a token works only at its resource.
func TestToken(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		p := newOwner(t, a)
		c := p.app()
		code := p.agree(a.Server.URL+"/oauth/authorize?"+c.query(nil), nil).Query().Get("code")
		for name, test := range map[string]struct {
			form url.Values
			code string
		}{
			"nothing":              {url.Values{}, "invalid_request"},
			"another grant":        {url.Values{"grant_type": {"password"}}, "unsupported_grant_type"},
			"no code":              {url.Values{"grant_type": {"authorization_code"}, "client_id": {c.id}}, "invalid_request"},
			"no verifier":          {url.Values{"grant_type": {"authorization_code"}, "client_id": {c.id}, "code": {code}, "redirect_uri": {testRedirect}}, "invalid_request"},
			"no app":               {url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"x"}}, "invalid_request"},
			"a repeated parameter": {url.Values{"grant_type": {"refresh_token", "refresh_token"}}, "invalid_request"},
			"a made-up token":      {url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"x"}, "client_id": {c.id}}, "invalid_grant"},
		} {
			status, got := c.form("/oauth/token", test.form)
			c.want(name, status, got, 400, test.code)
		}
		status, got := c.json(c.send("/oauth/token", "application/json", `{}`))
		c.want("JSON", status, got, 400, "invalid_request")
		status, got = c.json(c.send("/oauth/token", "application/x-www-form-urlencoded", "grant_type=x&a="+strings.Repeat("a", 70<<10)))
		c.want("a large body", status, got, 413, "invalid_request")

		status, got = c.redeem(code)
		access, _ := got["access_token"].(string)
		refresh, _ := got["refresh_token"].(string)
		if status != 200 || got["token_type"] != "Bearer" || got["expires_in"] != 3600.0 || got["scope"] != "projects:read" {
			t.Fatalf("%d %v", status, got) // documents:write is not ticked though it was asked for
		}
		if status, _ := c.call("/mcp", access); status != 200 {
			t.Errorf("the token is refused: %d", status)
		}
		if status, challenge := c.call("/api/v1/me", access); status != 401 || !strings.Contains(challenge, "invalid_token") {
			t.Errorf("the token works at another resource: %d %s", status, challenge)
		}
		resource := a.Connecting.Resource
		a.Connecting.Resource = "https://moved.example/mcp"
		if status, _ := c.call("/mcp", access); status != 401 {
			t.Errorf("the token works after the service has moved: %d", status)
		}
		a.Connecting.Resource = resource
		status, got = c.form("/oauth/revoke", url.Values{"token": {"unknown"}, "client_id": {c.id}})
		if status != 200 || len(got) != 0 {
			t.Errorf("ending an unknown token was answered %d %v", status, got)
		}
		c.form("/oauth/revoke", url.Values{"token": {refresh}, "client_id": {"other"}})
		if status, _ := c.call("/mcp", access); status != 200 {
			t.Errorf("another app ended the grant: %d", status)
		}
		if status, got := c.form("/oauth/revoke", url.Values{"token": {refresh}, "client_id": {c.id}, "token_type_hint": {"access_token"}}); status != 200 {
			t.Errorf("%d %v", status, got)
		}
		if status, _ := c.call("/mcp", access); status != 401 {
			t.Errorf("the token works after its app ended it: %d", status)
		}
		log := a.Log()
		for what, secret := range map[string]string{"code": code, "access token": access, "refresh token": refresh, "verifier": c.verifier} {
			if strings.Contains(log, secret) {
				t.Errorf("the log has the %s", what)
			}
		}
	}, apitest.WithConsole, withApps)
}

// D195: a thousand registrations are bounded, and bad ones get the error of RFC 7591.
func TestRegister(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		p := newOwner(t, a)
		c := p.app()
		for name, test := range map[string]struct{ body, code string }{
			"no JSON":           {"x", "invalid_client_metadata"},
			"another form":      {`{"redirect_uris": "x"}`, "invalid_client_metadata"},
			"no address":        {`{"client_name": "x"}`, "invalid_redirect_uri"},
			"an unsafe address": {`{"client_name": "x", "redirect_uris": ["javascript:alert(1)"]}`, "invalid_redirect_uri"},
			"too many":          {`{"redirect_uris": [` + strings.Repeat(`"https://a.example/",`, 20) + `"https://a.example/"]}`, "invalid_redirect_uri"},
			"another grant":     {`{"redirect_uris": ["https://a.example/"], "grant_types": ["implicit"]}`, "invalid_client_metadata"},
			"a long name":       {`{"client_name": "` + strings.Repeat("x", 101) + `", "redirect_uris": ["https://a.example/"]}`, "invalid_client_metadata"},
		} {
			status, got := c.json(c.send("/oauth/register", "application/json", test.body))
			c.want(name, status, got, 400, test.code)
		}
		const good = `{"redirect_uris": ["https://a.example/"], "token_endpoint_auth_method": "client_secret_basic"}`
		status, got := c.json(c.send("/oauth/register", "application/json", good))
		if status != 201 || got["token_endpoint_auth_method"] != "none" || got["client_secret"] != nil || got["client_name"] == "" {
			t.Errorf("%d %v", status, got)
		}
		refused := 0
		for range 30 {
			answer := c.send("/oauth/register", "application/json", good)
			answer.Body.Close()
			if answer.StatusCode == http.StatusTooManyRequests && answer.Header.Get("Retry-After") != "" {
				refused++
			}
		}
		if refused != 12 { // 20 registrations an hour, and 2 were made above
			t.Errorf("%d of 30 registrations were refused, want 12", refused)
		}
	}, apitest.WithConsole, withApps)
}

// Without a public address over https, or on this machine, apps cannot be connected.
func TestSettings(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{"https://docs.example.com": "https://docs.example.com/mcp", "https://docs.example.com/sheaf/": "https://docs.example.com/sheaf/mcp",
		"http://127.0.0.1:8080": "http://127.0.0.1:8080/mcp", "http://localhost:8080": "http://localhost:8080/mcp", "http://docs.example.com": "", "http://192.0.2.1": ""} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if s := oauth.Settings(u); s != nil {
			got = s.Resource
		}
		if got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
	if oauth.Settings(nil) != nil {
		t.Error("apps can be connected to a service without an address")
	}
}

// No body makes the edge fail, and every refusal has the form of RFC 6749.
func FuzzToken(f *testing.F) {
	f.Add("grant_type=refresh_token&client_id=a&refresh_token=shr_0190b0a000007000800000000000dead_1_" + strings.Repeat("a", 40))
	f.Add("grant_type=authorization_code&client_id=a&code=b&code_verifier=c&redirect_uri=d")
	f.Add("%zz&&=&a=%00")
	a := apitest.SQLite(f, withApps)
	a.SetIssuer(a.Server.URL)
	f.Fuzz(func(t *testing.T, body string) {
		for _, path := range []string{"/oauth/token", "/oauth/revoke", "/oauth/register"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.Server.URL+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			answer, err := a.Server.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			var refused struct {
				Error string `json:"error"`
			}
			if err != nil || answer.StatusCode >= 500 || answer.StatusCode >= 400 && (json.Unmarshal(b, &refused) != nil || refused.Error == "") {
				t.Errorf("%s: %d %s, %v", path, answer.StatusCode, b, err)
			}
		}
	})
}

// A refresh token reads as what it was written.
func FuzzRefreshToken(f *testing.F) {
	f.Add(sheaf.NewRefreshToken("0190b0a0-0000-7000-8000-00000000dead", 7, strings.NewReader(strings.Repeat("abcdefgh", 30))).String())
	f.Add("shr___")
	f.Fuzz(func(t *testing.T, s string) {
		if token, ok := sheaf.ParseRefreshToken(s); ok && token.String() != strings.ToLower(s[:36])+s[36:] {
			t.Errorf("%q reads as %q", s, token)
		}
	})
}
