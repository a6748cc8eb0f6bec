package client_test

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"sheaf.dev/client"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }

// connect returns a client of a workspace with every scope.
func connect(t testing.TB, a *apitest.API) *client.Client {
	t.Helper()
	return with(t, a, a.Workspace(sheaf.Business).Key())
}

func with(t testing.TB, a *apitest.API, key string) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{Server: a.Server.URL, Key: key, HTTP: a.Server.Client()})
	return must(t, c, err)
}

func must[T any](t testing.TB, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// collect reads an iterator to its end.
func collect[T any](t testing.TB, seq iter.Seq2[T, error]) []T {
	t.Helper()
	var out []T
	for v, err := range seq {
		out = append(out, must(t, v, err))
	}
	return out
}

// transport answers without a network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(b))
	}
	return f(r)
}

func answer(r *http.Request, status int, body string, headers ...string) *http.Response {
	res := &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{}, Request: r,
		Body: io.NopCloser(bytes.NewReader([]byte(body)))}
	for i := 0; i < len(headers); i += 2 {
		res.Header.Set(headers[i], headers[i+1])
	}
	return res
}

func offline(t testing.TB, f transport, change ...func(*client.Config)) *client.Client {
	t.Helper()
	config := client.Config{Server: "http://sheaf.test/", Key: "shf_key", HTTP: &http.Client{Transport: f}}
	for _, c := range change {
		c(&config)
	}
	c, err := client.New(config)
	return must(t, c, err)
}

func fieldsOf(t testing.TB, raw []byte) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
