package webhook

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

// signed returns a request with body, signed by the first scheme.
func signed(body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set(DefaultHeader, "t=1700000000,v1="+hex.EncodeToString(sign([]byte(testSecret), "1700000000", []byte(body))))
	return r
}

func TestHandler_Answers(t *testing.T) {
	t.Parallel()
	unsigned := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(testBody))
	forged := signed(testBody)
	forged.Body = io.NopCloser(strings.NewReader(testBody + " "))
	get := signed(testBody)
	get.Method = http.MethodGet
	broken := signed(testBody)
	broken.Body = io.NopCloser(iotest.ErrReader(errors.New("cut")))
	large := strings.Repeat(" ", maxBody-len(testBody)) + testBody
	tests := []struct {
		name   string
		r      *http.Request
		secret string
		err    error
		status int
		called bool
	}{
		{"good", signed(testBody), testSecret, nil, 204, true},
		{"1 MiB", signed(large), testSecret, nil, 204, true},
		{"fn fails", signed(testBody), testSecret, errors.New("disk full at 10.0.0.1"), 500, true},
		{"unsigned", unsigned, testSecret, nil, 400, false},
		{"forged", forged, testSecret, nil, 400, false},
		{"no event", signed(`[]`), testSecret, nil, 400, false},
		{"over 1 MiB", signed(large + " "), testSecret, nil, 413, false},
		{"GET", get, testSecret, nil, 405, false},
		{"broken body", broken, testSecret, nil, 400, false},
		{"no secret", signed(testBody), "", nil, 500, false},
	}
	for _, tt := range tests {
		called := false
		h := Handler(tt.secret, func(ctx context.Context, e Event) error {
			called = e.ID == "evt_1" && ctx == tt.r.Context()
			return tt.err
		}, at(testTime))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, tt.r)
		if w.Code != tt.status || called != tt.called {
			t.Errorf("%s: status %d, called %v, want %d, %v: %s", tt.name, w.Code, called, tt.status, tt.called, w.Body)
		}
		if tt.err != nil && strings.Contains(w.Body.String(), tt.err.Error()) {
			t.Errorf("%s: the answer shows fn's error: %s", tt.name, w.Body)
		}
	}
}

func TestParse_Bodies(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		``, `null`, `[]`, `{}`, `{"id":"evt_1"}`, `{"type":"project.created"}`, testBody + `x`,
		`{"id":"evt_1","type":"project.created","timestamp":"yesterday"}`,
	} {
		e, err := Parse(testSecret, signed(body).Header, []byte(body), at(testTime))
		if !errors.Is(err, ErrBody) || e.ID != "" {
			t.Errorf("%q: %v, %v, want the zero Event and ErrBody", body, e, err)
		}
	}
}

func TestParse_KeepsThePayloadAndUnknownFieldsDoNotMatter(t *testing.T) {
	t.Parallel()
	body := `{"id":"evt_1","type":"share.created","workspace_id":"w","payload":{"n":1.000000000000000000001},"new_field":1}`
	e, err := Parse(testSecret, signed(body).Header, []byte(body), at(testTime))
	if err != nil || e.WorkspaceID == nil || *e.WorkspaceID != "w" || string(e.Payload) != `{"n":1.000000000000000000001}` {
		t.Errorf("%+v, %v", e, err)
	}
}
