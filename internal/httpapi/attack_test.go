package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// halfSent begins a POST with the key, lets change happen while its body is still arriving, and
// returns the answer.
func halfSent(t *testing.T, a *apitest.API, key, path, body string, change func()) (int, string) {
	t.Helper()
	arriving, send := io.Pipe()
	req, err := http.NewRequest(http.MethodPost, a.Server.URL+path, arriving)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	// The server asks for the body once it has let the key in, and not before.
	req.Header.Set("Expect", "100-continue")
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: patience, DisableKeepAlives: true}}
	go func() {
		io.WriteString(send, body[:len(body)/2])
		change()
		io.WriteString(send, body[len(body)/2:])
		send.Close()
	}()
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// A thief who keeps a request open must not survive the revocation. // D55
func TestAttack_ARevokedKeyWithABodyOnItsWay(t *testing.T) {
	t.Parallel()
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		secret, k := ws.NewKey(func(k *sheaf.Key) { k.Scopes = sheaf.AllScopes })
		body := fmt.Sprintf(`{"name":"successor","scopes":["keys:write"],"padding":%q}`, strings.Repeat("x", 64<<10))
		status, text := halfSent(t, a, secret, "/api/v1/api-keys", body, func() { ws.Revoke(k.ID) })
		if status != 401 || !strings.Contains(text, "UNAUTHORIZED") {
			t.Errorf("got %d %s, want 401", status, text)
		}
	})
}

// D207: the same with a secret that is replaced meanwhile.
func TestAttack_ARotatedKeyWithABodyOnItsWay(t *testing.T) {
	t.Parallel()
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		for grace, want := range map[time.Duration]int{0: 401, time.Hour: 201} {
			secret, k := ws.NewKey(nil)
			body := fmt.Sprintf(`{"name":"late","padding":%q}`, strings.Repeat("x", 64<<10))
			status, text := halfSent(t, a, secret, "/api/v1/projects", body, func() { rotate(a, ws, k.ID, grace) })
			if status != want {
				t.Errorf("with a grace of %s: %d %s, want %d", grace, status, text, want)
			}
		}
	})
}

func TestAttack_APlanThatEndsWithABodyOnItsWay(t *testing.T) {
	t.Parallel()
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		body := fmt.Sprintf(`{"name":"late","padding":%q}`, strings.Repeat("x", 64<<10))
		status, text := halfSent(t, a, ws.Key(), "/api/v1/projects", body, func() { ws.SetPlan(sheaf.Free) })
		if status != 403 || !strings.Contains(text, "PLAN_REQUIRED") {
			t.Errorf("got %d %s, want 403", status, text)
		}
	})
}

// Two keys in one request: a proxy may judge the one and we the other.
func TestAttack_TwoAuthorizationHeaders(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	req, err := http.NewRequest(http.MethodGet, a.Server.URL+"/api/v1/me", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header["Authorization"] = []string{"Bearer " + a.Workspace(sheaf.Pro).Key(), "Bearer other"}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 401 {
		t.Errorf("got %d, want 401", res.StatusCode)
	}
}

func TestAttack_AStoppingServerClosesItsConnections(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	key := a.Workspace(sheaf.Pro).Key()
	a.Drain()
	req, err := http.NewRequest(http.MethodGet, a.Server.URL+"/api/v1/me", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 200 || !res.Close {
		t.Errorf("got %d, close %v: want an answer that closes its connection", res.StatusCode, res.Close)
	}
}
