package httpapi_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

var linkPattern = regexp.MustCompile(`^<([^<>]+)>; rel="(next|prev)"$`)

// links returns the addresses of the Link header by their relation.
func links(t *testing.T, r *apitest.Response) map[string]string {
	t.Helper()
	out := map[string]string{}
	header := r.Header.Get("Link")
	if header == "" {
		return out
	}
	for _, part := range strings.Split(header, ", ") {
		m := linkPattern.FindStringSubmatch(part)
		if m == nil {
			t.Fatalf("Link has %q", part)
		}
		if u, err := url.Parse(m[1]); err != nil || !u.IsAbs() || u.Host == "" {
			t.Fatalf("Link has %q, which is not absolute", m[1])
		}
		out[m[2]] = m[1]
	}
	return out
}

// D17: following next reads everything once, and following prev from there leads back.
func TestLink_WalksAList(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		var made []string
		for i := range 7 {
			made = append(made, c.POST("/api/v1/projects", fmt.Sprintf(`{"name":"n %d & é"}`, i)).Text(t, "id"))
		}
		for _, query := range []string{"limit=3", "limit=3&q=%26+%C3%A9", "limit=100&unknown=a%20b&limit=3", "limit=3&folder_id=null&offset=0", "limit=7", "limit=100"} {
			var seen []string
			pages := 0
			at := a.Server.URL + "/api/v1/projects?" + query
			last := at
			for at != "" {
				page := c.GET(strings.TrimPrefix(at, a.Server.URL)).Want(t, 200)
				seen = append(seen, page.IDs(t)...)
				l := links(t, page)
				if _, has := l["prev"]; has != (pages > 0) {
					t.Errorf("%s: page %d has prev: %t", query, pages, has)
				}
				last, at = at, l["next"]
				if pages++; pages > 10 {
					t.Fatalf("%s: there is no end", query)
				}
			}
			if !slices.Equal(seen, made) {
				t.Errorf("%s: read %q, want %q", query, seen, made)
			}
			for back := last; back != ""; pages-- {
				back = links(t, c.GET(strings.TrimPrefix(back, a.Server.URL)).Want(t, 200))["prev"]
			}
			if pages != 0 {
				t.Errorf("%s: prev takes another number of steps than next: %d", query, pages)
			}
		}
	})
}

// D17: limit and offset are in the link once, whatever was sent, and filters stay.
func TestLink_KeepsTheQuery(t *testing.T) {
	c := apitest.SQLite(t).Workspace(sheaf.Pro).Client("")
	for range 5 {
		c.POST("/api/v1/projects", `{"name":"<a> & b"}`).Want(t, 201)
	}
	l := links(t, c.GET("/api/v1/projects?limit=5&q=zzz&q=%3Ca%3E+%26&limit=2&offset=0&offset=2&sort=name").Want(t, 200))
	for rel, offset := range map[string]string{"next": "4", "prev": "0"} {
		u, err := url.Parse(l[rel])
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		want := url.Values{"limit": {"2"}, "offset": {offset}, "q": {"<a> &"}, "sort": {"name"}}
		if q.Encode() != want.Encode() || u.Path != "/api/v1/projects" {
			t.Errorf("%s is %s", rel, l[rel])
		}
	}
	if l := links(t, c.GET("/api/v1/projects?offset=1&limit=3")); l["prev"] == "" || !strings.Contains(l["prev"], "offset=0") {
		t.Errorf("prev of an odd offset is %q", l["prev"])
	}
	for path, want := range map[string]string{"/api/v1/projects?limit=5": "", "/api/v1/projects?limit=4": "next", "/api/v1/projects?limit=4&offset=1": "prev",
		"/api/v1/projects?q=none": "", "/api/v1/icons?limit=60&offset=60": "prev"} {
		l := links(t, c.GET(path).Want(t, 200))
		if len(l) > 1 || want == "" && len(l) != 0 || want != "" && l[want] == "" {
			t.Errorf("%s: the links are %q, want %q", path, l, want)
		}
	}
}

// D17, D63a: behind after the offset must be 0, so that the next page begins after the last event.
func TestLink_FollowsTheEventsAfterOne(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		for range 6 {
			c.POST("/api/v1/projects", `{"name":"a"}`).Want(t, 201)
		}
		all := c.GET("/api/v1/events").IDs(t)
		var seen []string
		for path := "/api/v1/events?limit=2&type=project.created&after=" + all[0]; path != ""; {
			page := c.GET(path).Want(t, 200)
			seen = append(seen, page.IDs(t)...)
			path = strings.TrimPrefix(links(t, page)["next"], a.Server.URL)
		}
		if !slices.Equal(seen, all[1:]) {
			t.Errorf("read %q, want %q", seen, all[1:])
		}
		if l := links(t, c.GET("/api/v1/events?order=desc&limit=2&after="+all[0]).Want(t, 200)); len(l) != 0 {
			t.Errorf("a reversed page links to %q", l)
		}
	})
}

// D17: the links begin as the client came, unless a trusted proxy or the operator says otherwise.
func TestLink_BeginsWithTheAddressOfTheService(t *testing.T) {
	public := func(address string) apitest.Option {
		return func(c *apitest.Config) { c.PublicURL, _ = url.Parse(address) }
	}
	trust := func(cidr string) apitest.Option {
		return func(c *apitest.Config) { c.TrustedProxy = []netip.Prefix{netip.MustParsePrefix(cidr)} }
	}
	forwarded := []string{"Host: inner:8080", "X-Forwarded-Proto: https", "X-Forwarded-Host: docs.example.com"}
	for name, test := range map[string]struct {
		options []apitest.Option
		headers []string
		want    string
	}{
		"the Host":                       {nil, []string{"Host: inner:8080"}, "http://inner:8080"},
		"no proxy is trusted":            {nil, forwarded, "http://inner:8080"},
		"another is trusted":             {[]apitest.Option{trust("10.0.0.0/8")}, forwarded, "http://inner:8080"},
		"the proxy is trusted":           {[]apitest.Option{trust("127.0.0.0/8")}, forwarded, "https://docs.example.com"},
		"a list that the proxy added to": {[]apitest.Option{trust("127.0.0.1/32")}, []string{"Host: in", "X-Forwarded-Proto: http, https", "X-Forwarded-Host: evil.example, b.example"}, "https://b.example"},
		"lines that the proxy added to":  {[]apitest.Option{trust("127.0.0.1/32")}, []string{"Host: in", "X-Forwarded-Proto: http", "X-Forwarded-Proto: https", "X-Forwarded-Host: evil.example", "X-Forwarded-Host: b.example"}, "https://b.example"},
		"a chain of trusted proxies":     {[]apitest.Option{trust("127.0.0.0/8")}, []string{"Host: in", "X-Forwarded-For: 192.0.2.1, 127.0.0.2", "X-Forwarded-Proto: https, http", "X-Forwarded-Host: a.example, b.example"}, "https://a.example"},
		"the proxy says nonsense":        {[]apitest.Option{trust("127.0.0.0/8")}, []string{"Host: inner", "X-Forwarded-Proto: ftp", `X-Forwarded-Host: a"><b`}, "http://inner"},
		"the operator":                   {[]apitest.Option{public("https://sheaf.example.com/base")}, []string{"Host: inner"}, "https://sheaf.example.com/base"},
		"the operator against the proxy": {[]apitest.Option{public("https://sheaf.example.com"), trust("127.0.0.0/8")}, forwarded, "https://sheaf.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := apitest.SQLite(t, test.options...).Workspace(sheaf.Pro).Client("")
			made := c.POST("/api/v1/projects", `{"name":"a"}`, test.headers...).Want(t, 201)
			if got, want := made.Header.Get("Location"), test.want+"/api/v1/projects/"+made.Text(t, "id"); got != want {
				t.Errorf("Location is %q, want %q", got, want)
			}
			c.POST("/api/v1/projects", `{"name":"a"}`).Want(t, 201)
			got := links(t, c.GET("/api/v1/projects?limit=1", test.headers...).Want(t, 200))["next"]
			if want := test.want + "/api/v1/projects?limit=1&offset=1"; got != want {
				t.Errorf("next is %q, want %q", got, want)
			}
			// The page may come from the cache now, the link not.
			other := links(t, c.GET("/api/v1/projects?limit=1", "Host: other").Want(t, 200))["next"]
			if strings.HasPrefix(test.want, "http://inner") && !strings.HasPrefix(other, "http://other/") {
				t.Errorf("for another Host, next is %q", other)
			}
		})
	}
}

// D17: a client of HTTP/1.0 that names no host gets absolute links too: by the operator's word,
// else by the address that it connected to.
func TestLink_IsAbsoluteWithoutAHost(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]apitest.Option{
		"":                          nil,
		"https://sheaf.example.com": {func(c *apitest.Config) { c.PublicURL, _ = url.Parse("https://sheaf.example.com") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := apitest.SQLite(t, options...)
			ws := a.Workspace(sheaf.Pro)
			ws.Client("").POST("/api/v1/projects", `{"name":"a"}`).Want(t, 201)
			want := name
			if want == "" {
				want = a.Server.URL
			}
			ask := func(method, path, body string) *http.Response {
				conn, err := net.Dial("tcp", a.Server.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { conn.Close() })
				fmt.Fprintf(conn, "%s %s HTTP/1.0\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", method, path, ws.Key(), len(body), body)
				res, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				return res
			}
			if got := ask("POST", "/api/v1/projects", `{"name":"b"}`).Header.Get("Location"); !strings.HasPrefix(got, want+"/api/v1/projects/") {
				t.Errorf("Location is %q, want it under %s", got, want)
			}
			if got := ask("GET", "/api/v1/projects?limit=1", "").Header.Get("Link"); got != "<"+want+`/api/v1/projects?limit=1&offset=1>; rel="next"` {
				t.Errorf("Link is %q, want it under %s", got, want)
			}
		})
	}
}
