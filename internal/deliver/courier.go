package deliver

import (
	"context"
	"net/http"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
)

// Courier signs a request and makes the attempt, for deliveries and for the test endpoint. It is safe
// for concurrent use.
type Courier struct {
	Client *Client
	Signer Signer
	Now    func() time.Time
}

// Send makes one attempt now.
func (c *Courier) Send(ctx context.Context, out sheaf.Outgoing) sheaf.Attempt {
	h := make(http.Header, 8+len(out.Headers))
	for _, custom := range out.Headers {
		h.Set(custom.Name, custom.Value)
	}
	h["Content-Type"] = []string{"application/json"}
	c.Signer.Sign(h, string(out.EventID), c.Now(), out.Body, out.Secrets)
	r := c.Client.Attempt(ctx, Request{URL: out.URL, Header: h, Body: out.Body, Redact: func() []string { return append(hidden(out), c.Signer.signatures(h)...) }})
	return sheaf.Attempt{StartedAt: r.StartedAt, Duration: r.Duration, StatusCode: r.StatusCode, Class: string(r.Class), Error: r.Error,
		RemoteAddress: r.RemoteAddress, Timings: sheaf.Timings(r.Timings), ResponseBody: r.ResponseBody}
}

// hidden returns the strings that must be masked in a stored answer, besides the signatures: the
// secrets in each form that a receiver computes (whole, without their prefix, decoded), and the header
// values, whole and without a leading scheme such as Bearer.
func hidden(out sheaf.Outgoing) []string {
	var words []string
	for _, secret := range out.Secrets {
		words = append(words, secret, strings.TrimPrefix(secret, secretPrefix))
		if key, ok := signingKey(secret); ok {
			words = append(words, string(key))
		}
	}
	for _, custom := range out.Headers {
		words = append(words, custom.Value)
		if _, token, found := strings.Cut(custom.Value, " "); found {
			words = append(words, strings.TrimSpace(token))
		}
	}
	return words
}
