package sheaf

import (
	"encoding/base64"
	"io"
	"slices"
	"strings"
	"time"
)

// Limits of subscriptions.
const (
	MaxSubscriptionName = 100
	MaxURL              = 2048
	MaxHeaders          = 10
	MaxHeaderName       = 100
	MaxHeaderValue      = 1000
	MaxFailures         = 10                    // consecutive failed deliveries that deactivate it
	DefaultGrace        = 86_400 * time.Second  // how long an old secret also signs after a rotation
	MaxGrace            = 604_800 * time.Second // the largest grace
)

// Reasons why a subscription is inactive.
const (
	ByFailures = "failures"
	ByHand     = "manual"
)

// Header is one custom header of a subscription's requests.
type Header struct{ Name, Value string }

// Subscription sends a workspace's events to an endpoint. Its secret and the values of its headers,
// which cannot be read back, are stored separately, sealed.
type Subscription struct {
	ID                 SubscriptionID
	Name               string
	URL                string
	Events             []EventType
	Active             bool
	FailureCount       int64 // consecutive failed deliveries: see MaxFailures
	CreatedAt          time.Time
	UpdatedAt          time.Time
	DeactivatedAt      *time.Time // nil while it is active
	DeactivationReason *string    // ByFailures or ByHand; nil while it is active
	LastError          *string    // error of the last failed attempt; nil: a later one arrived
	HeldCount          int64      // number of held deliveries
	HeaderNames        []string   // names of its custom headers, sorted
	Filter             *Filter    // nil: it gets events about everything
	// Restriction is that of the key that created it. An event must pass it and the filter.
	Restriction *Restriction
	// MadeByKey is the key that creates the record, or NoKey. It is only written: no read returns it.
	MadeByKey KeyID

	// Number counts the records created in the workspace. Lists are sorted by it.
	Number int64
	// Revision rises when the subscription's own fields change. ETag and If-Match carry it.
	Revision int64
	// SinceEvent is the number of the newest event when the subscription was created. EventsSince
	// and FilterSince are the same for the last change of Events and of Filter. They explain why it
	// did not get an older event.
	SinceEvent, EventsSince, FilterSince int64
}

// Wants reports whether it is subscribed to events of that type.
func (s *Subscription) Wants(t EventType) bool { return slices.Contains(s.Events, t) }

// Gets reports whether it receives an event of a type that it wants: the event must pass its
// filter, and must not be about the subscription itself, which could not receive it while it fails.
func (s *Subscription) Gets(e *Event) bool {
	if e.Concerns(s) {
		return false
	}
	if s.Restriction != nil && !s.Restriction.Covers(e) {
		return false
	}
	return s.Filter == nil || s.Filter.Passes(e.ResourceID, e.Places)
}

// Fields appends the subscription as lists and answers show it.
func (s *Subscription) Fields(o *Object) {
	o.Text("id", string(s.ID))
	o.Text("name", s.Name)
	o.Text("url", s.URL)
	o.Texts("events", eventNames(s.Events))
	o.Bool("active", s.Active)
	o.Derived("failure_count", s.FailureCount)
	o.Time("created_at", s.CreatedAt)
	o.Time("updated_at", s.UpdatedAt)
	o.OptTime("deactivated_at", s.DeactivatedAt)
	o.OptText("deactivation_reason", s.DeactivationReason)
	o.OptText("last_error", s.LastError)
	o.Derived("held_count", s.HeldCount)
	o.Texts("header_names", s.HeaderNames)
	if s.Filter == nil {
		o.Null("filter")
	} else {
		o.Record("filter", s.Filter)
	}
}

// eventNames returns the types as texts.
func eventNames(types []EventType) []string {
	out := make([]string, len(types))
	for i, t := range types {
		out[i] = string(t)
	}
	return out
}

// NewSubscription is a subscription with its new secret, which is shown once. In a repetition of
// the request it is nil.
type NewSubscription struct {
	Subscription
	Secret *string
}

// Fields appends the subscription and its secret.
func (s *NewSubscription) Fields(o *Object) {
	s.Subscription.Fields(o)
	o.OptText("secret", s.Secret)
}

// WithoutSecret returns it as a repetition of the request shows it.
func (s NewSubscription) WithoutSecret() NewSubscription {
	s.Secret = nil
	return s
}

// NewSigningSecret returns the secret of a subscription: "whsec_" and the base64 of 42 random
// characters, so that there is no padding and the decoded key is printable.
func NewSigningSecret(random io.Reader) string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(RandomBase62(random, 42)))
}

// SubscriptionChange is what a client sends to create or change a subscription.
type SubscriptionChange struct {
	Name    Opt[string]
	URL     Opt[string]
	Events  Opt[[]string]
	Active  Opt[bool]
	Headers Opt[[]Header]
	Filter  Opt[Filter]
}

// Empty reports whether no writable field was sent.
func (c SubscriptionChange) Empty() bool {
	return !(c.Name.Set || c.URL.Set || c.Events.Set || c.Active.Set || c.Headers.Set || c.Filter.Set)
}

// Check returns the first error of the fields that were sent. It does not check the address, which
// needs the operator's settings (guard).
func (c SubscriptionChange) Check() error {
	switch {
	case c.Name.Null:
		return InvalidField("name", "name must not be null: give it 1 to %d characters", MaxSubscriptionName)
	case c.URL.Null:
		return InvalidField("url", "url must not be null: give an https:// address")
	case c.Events.Null:
		return InvalidField("events", "events must not be null: name at least one event type")
	case c.Active.Null:
		return InvalidField("active", "active must be true or false")
	}
	if c.Name.Set {
		if err := CheckName("name", c.Name.Value, MaxSubscriptionName); err != nil {
			return err
		}
	}
	if c.Events.Set {
		if _, err := ParseEventTypes(c.Events.Value); err != nil {
			return err
		}
	}
	if c.Filter.Given() {
		if err := c.Filter.Value.Check(); err != nil {
			return err
		}
	}
	return checkHeaders(c.Headers.Value)
}

// ParseEventTypes returns the named types in the order given, each once.
func ParseEventTypes(names []string) ([]EventType, error) {
	if len(names) == 0 {
		return nil, InvalidField("events", "events must name at least one event type, such as project.created")
	}
	var out []EventType
	for _, n := range names {
		t := EventType(n)
		switch {
		case n == "*":
			return nil, InvalidField("events", "events: * is not possible: name each event type")
		case !t.Known():
			return nil, InvalidField("events", "events: %q is not an event type: choose from %s", Clip(n), EventNames(EventType.Known))
		case !slices.Contains(out, t):
			out = append(out, t)
		}
	}
	return out, nil
}

// checkHeaders returns the first error of a subscription's custom headers.
func checkHeaders(headers []Header) error {
	if len(headers) > MaxHeaders {
		return InvalidField("headers", "headers has %d entries, at most %d are allowed", len(headers), MaxHeaders)
	}
	seen := map[string]bool{}
	for _, h := range headers {
		lower := strings.ToLower(h.Name)
		switch {
		case !isToken(h.Name) || len(h.Name) > MaxHeaderName:
			return InvalidField("headers", "headers: %q is not a header name: use 1 to %d letters, digits and hyphens", Clip(h.Name), MaxHeaderName)
		case reservedHeader(lower):
			return InvalidField("headers", "headers: %s is set by HTTP or by the service itself: choose another name", h.Name)
		case seen[lower]:
			return InvalidField("headers", "headers: %s is given twice: header names are not case-sensitive", h.Name)
		case len(h.Value) > MaxHeaderValue || !visibleASCII(h.Value):
			return InvalidField("headers", "headers: the value of %s must be at most %d visible ASCII characters", h.Name, MaxHeaderValue)
		}
		seen[lower] = true
	}
	return nil
}

// reservedHeader reports whether subscriptions must not set a header, because we or HTTP itself set
// it.
func reservedHeader(lower string) bool {
	switch lower {
	case "host", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "accept-encoding",
		"user-agent", "cookie", "expect", "forwarded", "idempotency-key", "x-idempotency-key":
		return true
	}
	for _, prefix := range []string{"content-", "proxy-", "x-forwarded-", "webhook-"} {
		if strings.HasPrefix(lower, prefix) {
			return true
		}
	}
	return false
}

// isToken reports whether a text can be the name of a header.
func isToken(s string) bool {
	for _, c := range []byte(s) {
		alnum := '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
		if !alnum && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

// visibleASCII allows spaces inside, as in "Bearer x", but not at the ends, where HTTP would remove
// them.
func visibleASCII(s string) bool {
	for _, c := range []byte(s) {
		if c < 0x20 || c > 0x7e {
			return false
		}
	}
	return strings.TrimSpace(s) == s && s != ""
}
