package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"sheaf.dev/webhook"
)

const (
	exampleSecret    = "whsec_dGhlLW9uZS1hbmQtb25seS1zZWNyZXQtb2YtdGhpcy10ZXN0"
	exampleSignature = "t=1700000000,v1=1b7ae21eab39c9ca430c2f8f1aa9e86847d4eb5057309693c61eafbe5b3203e7"
	exampleStandard  = "v1,Lq59XyNmHGzaJBc0+E9gZiNvrWllPusd7OY4Y44xx7k="
	exampleBody      = `{"id":"evt_6e0d3f9c-4c56-4a0e-9d55-0f2a3a4c1b7e","type":"project.created","timestamp":"2023-11-14T22:13:20Z","user_id":"5f0c2a51-8a3e-4f0c-9f1d-2c9b7e6d1a43","workspace_id":null,"resource_type":"project","resource_id":"b7c1d2e3-0a4b-4c5d-8e6f-7a8b9c0d1e2f","payload":{"name":"Launch"}}`
)

// The examples use a delivery of the past, so they stop the clock at its time.
// A real receiver leaves this option out.
var exampleClock = webhook.WithClock(func() time.Time { return time.Unix(1700000000, 0) })

func ExampleHandler() {
	handler := webhook.Handler(exampleSecret, func(_ context.Context, e webhook.Event) error {
		switch e.Type {
		case webhook.ProjectCreated:
			fmt.Println("new project", e.ResourceID, string(e.Payload))
		}
		return nil
	}, exampleClock)

	// What the service sends.
	r := httptest.NewRequest(http.MethodPost, "/hooks/sheaf", strings.NewReader(exampleBody))
	r.Header.Set("webhook-id", "evt_6e0d3f9c-4c56-4a0e-9d55-0f2a3a4c1b7e")
	r.Header.Set("webhook-timestamp", "1700000000")
	r.Header.Set("webhook-signature", exampleStandard)
	r.Header.Set("X-Service-Signature", exampleSignature)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	fmt.Println(w.Code)
	// Output:
	// new project b7c1d2e3-0a4b-4c5d-8e6f-7a8b9c0d1e2f {"name":"Launch"}
	// 204
}

func ExampleParse() {
	header := http.Header{}
	header.Set("X-Service-Signature", exampleSignature)
	event, err := webhook.Parse(exampleSecret, header, []byte(exampleBody), exampleClock)
	fmt.Println(event.Type, event.Timestamp, err)
	// Output: project.created 2023-11-14 22:13:20 +0000 UTC <nil>
}

func ExampleVerify() {
	header := http.Header{}
	header.Set("X-Service-Signature", exampleSignature)
	altered := strings.Replace(exampleBody, "Launch", "Lunch", 1)
	err := webhook.Verify(exampleSecret, header, []byte(altered), exampleClock)
	fmt.Println(errors.Is(err, webhook.ErrMismatch))
	// Output: true
}
