package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"sheaf.dev/client"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// attempts makes one call that fails n times before it succeeds, and returns
// how many attempts were made, how long they took, and the error.
func attempts(t *testing.T, n int, fail func(*http.Request) (*http.Response, error), call func(context.Context, *client.Client) error) (made []*http.Request, took time.Duration, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := offline(t, func(r *http.Request) (*http.Response, error) {
			made = append(made, r)
			if len(made) <= n {
				return fail(r)
			}
			return answer(r, 200, `{"id":"1"}`), nil
		})
		began := time.Now()
		err = call(t.Context(), c)
		took = time.Since(began)
	})
	return made, took, err
}

func refused(*http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
}

func broken(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }

func busy(r *http.Request) (*http.Response, error) {
	return answer(r, 429, `{"error":"slow down","code":"RATE_LIMITED"}`, "Retry-After", "7"), nil
}

func down(r *http.Request) (*http.Response, error) {
	return answer(r, 503, "<html>", "X-Request-Id", "r"), nil
}

func invalid(r *http.Request) (*http.Response, error) {
	return answer(r, 400, `{"error":"no","code":"VALIDATION_ERROR"}`), nil
}

func gone(r *http.Request) (*http.Response, error) {
	return answer(r, 404, `{"error":"no","code":"NOT_FOUND"}`), nil
}

func get(ctx context.Context, c *client.Client) error { _, err := c.Projects.Get(ctx, "1"); return err }
func create(ctx context.Context, c *client.Client) error {
	_, err := c.Projects.Create(ctx, client.NewProject{Name: "a"})
	return err
}
func update(ctx context.Context, c *client.Client) error {
	_, err := c.Projects.Update(ctx, "1", client.ProjectChange{Name: client.Set("a")})
	return err
}
func updateIf(ctx context.Context, c *client.Client) error {
	_, err := c.Projects.Update(ctx, "1", client.ProjectChange{Name: client.Set("a")}, client.IfMatch(`"1-x"`))
	return err
}
func remove(ctx context.Context, c *client.Client) error { return c.Projects.Delete(ctx, "1") }
func test(ctx context.Context, c *client.Client) error {
	_, err := c.Subscriptions.Test(ctx, "1")
	return err
}

func TestRetries_OnlyWhatMayBeRepeated(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fail func(*http.Request) (*http.Response, error)
		call func(context.Context, *client.Client) error
		want int
	}{
		"GET, 503":               {down, get, 3},
		"GET, broken":            {broken, get, 3},
		"GET, 400":               {invalid, get, 1},
		"POST, 503":              {down, create, 3},
		"POST, broken":           {broken, create, 3},
		"PATCH, 503":             {down, update, 3},
		"PATCH If-Match, 503":    {down, updateIf, 1},
		"PATCH If-Match, broken": {broken, updateIf, 1},
		"PATCH If-Match, 429":    {busy, updateIf, 3},
		"PATCH If-Match, dial":   {refused, updateIf, 3},
		"DELETE, broken":         {broken, remove, 3},
		"DELETE, 404":            {gone, remove, 1},
		"test, 503":              {down, test, 1},
		"test, broken":           {broken, test, 1},
		"test, 429":              {busy, test, 3},
		"test, dial":             {refused, test, 3},
	} {
		made, _, err := attempts(t, 2, tt.fail, tt.call)
		if len(made) != tt.want || (err == nil) != (tt.want == 3) {
			t.Errorf("%s: %d attempts, %v, want %d", name, len(made), err, tt.want)
		}
		key := made[0].Header.Get("Idempotency-Key")
		for _, r := range made {
			b, _ := io.ReadAll(r.Body)
			if r.Header.Get("Idempotency-Key") != key || r.Method == "POST" && (key == "") != (r.URL.Path == "/api/webhooks/subscriptions/1/test") {
				t.Errorf("%s: Idempotency-Key %q, first %q", name, r.Header.Get("Idempotency-Key"), key)
			}
			if r.Method == "PATCH" && string(b) != `{"name":"a"}`+"\n" {
				t.Errorf("%s: sent %q", name, b)
			}
		}
	}
}

func TestRetries_GiveUp(t *testing.T) {
	t.Parallel()
	made, took, err := attempts(t, 100, down, get)
	var e *client.Error
	if len(made) != 1+client.DefaultRetries || !errors.As(err, &e) || e.Status != 503 || e.Code != "" || e.RequestID != "r" {
		t.Errorf("%d attempts: %v", len(made), err)
	}
	if low, high := 1875*time.Millisecond, 3750*time.Millisecond; took < low || took > high {
		t.Errorf("took %v, want %v to %v", took, low, high)
	}
}

func TestRetries_HonourRetryAfter(t *testing.T) {
	t.Parallel()
	if _, took, err := attempts(t, 2, busy, get); err != nil || took < 14*time.Second || took > 16*time.Second {
		t.Errorf("took %v: %v", took, err)
	}
	dated := func(r *http.Request) (*http.Response, error) {
		return answer(r, 503, "", "Date", "Sun, 15 Nov 2026 10:00:00 GMT", "Retry-After", "Sun, 15 Nov 2026 10:00:20 GMT"), nil
	}
	if _, took, err := attempts(t, 1, dated, get); err != nil || took < 20*time.Second || took > 21*time.Second {
		t.Errorf("by a date it took %v: %v", took, err)
	}
	long := func(r *http.Request) (*http.Response, error) {
		return answer(r, 503, "", "Retry-After", "99999999999"), nil
	}
	if made, took, err := attempts(t, 1, long, get); err == nil || len(made) != 1 || took != 0 {
		t.Errorf("a pause of ages: %d attempts, %v, %v", len(made), took, err)
	}
}

func TestRetries_EndWithTheContext(t *testing.T) {
	t.Parallel()
	made, took, err := attempts(t, 100, busy, func(ctx context.Context, c *client.Client) error {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		return get(ctx, c)
	})
	if len(made) != 2 || took != 10*time.Second || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, client.ErrRateLimited) {
		t.Errorf("%d attempts in %v: %v", len(made), took, err)
	}
}

// The first attempt may have been the one that deleted it.
func TestDelete_NotFoundAfterAnUnknownOutcomeIsDone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		first func(*http.Request) (*http.Response, error)
		done  bool
	}{"broken": {broken, true}, "503": {down, true}, "429": {busy, false}, "dial": {refused, false}} {
		n := 0
		_, _, err := attempts(t, 2, func(r *http.Request) (*http.Response, error) {
			if n++; n == 1 {
				return tt.first(r)
			}
			return gone(r)
		}, remove)
		if (err == nil) != tt.done || err != nil && !errors.Is(err, client.ErrNotFound) {
			t.Errorf("%s, then 404: %v", name, err)
		}
	}
}

// On the wire: what was lost on the way back happens once.
func TestRetries_OfACreationHaveOneEffect(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	key := a.Workspace(sheaf.Business).Key()
	lose := true
	h := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		res, err := a.Server.Client().Transport.RoundTrip(r)
		if err == nil && r.Method == http.MethodPost && lose {
			lose = false
			res.Body.Close()
			return nil, io.ErrUnexpectedEOF
		}
		return res, err
	})}
	c := must2(client.New(client.Config{Server: a.Server.URL, Key: key, HTTP: h}))(t)
	k := must2(c.Keys.Create(t.Context(), client.NewKey{Name: "once", Scopes: []string{"projects:read"}}))(t)
	if k.Secret != nil {
		t.Error("a repetition shows the key")
	}
	if all := collect(t, c.Keys.All(t.Context(), client.Paging{})); len(all) != 2 {
		t.Errorf("%d keys", len(all))
	}
}

func TestNew_RefusesAnAddressThatIsNone(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"", "localhost:8080", "ftp://a", "http://", "https://a?b", "http://a#b"} {
		if _, err := client.New(client.Config{Server: server, Key: "k"}); err == nil {
			t.Errorf("%q is taken", server)
		}
	}
	if _, err := client.New(client.Config{Server: "http://a"}); err == nil {
		t.Error("no key is taken")
	}
}

func TestAnswers_ThatAreNotSheafs(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]transport{
		"a page": func(r *http.Request) (*http.Response, error) { return answer(r, 200, "<html>"), nil },
		"a redirect": func(r *http.Request) (*http.Response, error) {
			return answer(r, 301, "", "Location", "https://b/"), nil
		},
		"a 404": func(r *http.Request) (*http.Response, error) { return answer(r, 404, "not here"), nil },
	} {
		if err := create(t.Context(), offline(t, f)); err == nil || errors.Is(err, client.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestID_StaysOneSegment(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", ".", "..", "a/b", "../folders", "a?b=c", "%2e%2e"} {
		var path string
		c := offline(t, func(r *http.Request) (*http.Response, error) {
			path = r.URL.EscapedPath()
			return gone(r)
		})
		_ = remove2(t.Context(), c, id)
		if n := len("/api/v1/projects/"); len(path) <= n || path[:n] != "/api/v1/projects/" || containsSlash(path[n:]) || path[n:] == ".." || path[n:] == "." {
			t.Errorf("%q leads to %s", id, path)
		}
	}
}

func remove2(ctx context.Context, c *client.Client, id string) error {
	return c.Projects.Delete(ctx, id)
}

func containsSlash(s string) bool {
	for _, c := range s {
		if c == '/' {
			return true
		}
	}
	return false
}
