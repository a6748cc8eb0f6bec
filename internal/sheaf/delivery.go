package sheaf

import (
	"time"
)

// DeliveryState is the state of a delivery.
type DeliveryState string

// The states. A delivery is also Waiting between attempts. A Held one waits until its subscription
// is active again and a caller asks for recovery.
const (
	Waiting   DeliveryState = "waiting"
	Sending   DeliveryState = "sending"
	Delivered DeliveryState = "delivered"
	Failed    DeliveryState = "failed"
	Held      DeliveryState = "held"
)

// DeliveryStates are all states.
var DeliveryStates = []DeliveryState{Waiting, Sending, Delivered, Failed, Held}

// Delivery is one event for one subscription.
type Delivery struct {
	ID             DeliveryID
	EventID        EventID
	EventType      EventType
	SubscriptionID SubscriptionID
	State          DeliveryState
	AttemptCount   int64      // attempts made so far
	NextAttemptAt  *time.Time // when the next attempt is due; nil unless it is waiting
	LastStatusCode *int64     // status of the last attempt; nil: there was no answer
	LastError      *string    // error of the last attempt; nil: it arrived
	CreatedAt      time.Time
	FinishedAt     *time.Time // when it was delivered or failed for good
}

// NewDeliveryID returns the identifier of the delivery of an event to a subscription, from their
// numbers in the workspace. So a delivery can be found without a row or an index of identifiers. It
// is a UUID of version 8 that reveals nothing about other workspaces; in another workspace it may
// name another delivery.
func NewDeliveryID(subscription, event int64) DeliveryID {
	var b [16]byte
	for i := range 6 {
		b[i] = byte(subscription >> (40 - 8*i))
	}
	for i := range 8 {
		b[8+i] = byte(event >> (56 - 8*i))
	}
	return DeliveryID(UUIDv8(b))
}

// Numbers returns the numbers from which NewDeliveryID made the identifier. ok is false if it did
// not make it.
func (d DeliveryID) Numbers() (subscription, event int64, ok bool) {
	b, ok := UUIDBytes(string(d))
	for i := range 6 {
		subscription = subscription<<8 | int64(b[i])
	}
	event = int64(b[8] & 0x3f)
	for i := range 7 {
		event = event<<8 | int64(b[9+i])
	}
	return subscription, event, ok && NewDeliveryID(subscription, event) == d
}

// Fields appends the delivery as lists and answers show it.
func (d *Delivery) Fields(o *Object) {
	o.Text("id", string(d.ID))
	o.Text("event_id", string(d.EventID))
	o.Text("event_type", string(d.EventType))
	o.Text("subscription_id", string(d.SubscriptionID))
	o.Text("state", string(d.State))
	o.Int("attempt_count", d.AttemptCount)
	o.OptTime("next_attempt_at", d.NextAttemptAt)
	o.OptInt("last_status_code", d.LastStatusCode)
	o.OptText("last_error", d.LastError)
	o.Time("created_at", d.CreatedAt)
	o.OptTime("finished_at", d.FinishedAt)
}

// DeliveryDetail is a delivery with its attempts.
type DeliveryDetail struct {
	Delivery
	Attempts []Attempt
}

// Fields appends the delivery and its attempts.
func (d *DeliveryDetail) Fields(o *Object) {
	d.Delivery.Fields(o)
	list := []byte{'['}
	for i := range d.Attempts {
		if i > 0 {
			list = append(list, ',')
		}
		list = AppendJSON(list, &d.Attempts[i])
	}
	o.Raw("attempts", append(list, ']'))
}

// Attempt is one HTTP POST of a delivery.
type Attempt struct {
	Number        int64
	StartedAt     time.Time
	Duration      time.Duration
	StatusCode    int    // 0: no answer
	Class         string // stable code of the error; empty if it arrived
	Error         string // the class as a sentence
	RemoteAddress string // address that was dialled; empty if there was none, or if it is not shown
	Timings       Timings
	ResponseBody  string // beginning of the body of the answer
}

// OK reports whether the endpoint accepted the delivery.
func (a *Attempt) OK() bool { return a.Class == "" }

// Timings are the durations of an attempt's phases; zero if a phase was not reached.
type Timings struct{ DNS, Connect, TLS, FirstByte, Body time.Duration }

// Fields appends the phases in milliseconds.
func (t *Timings) Fields(o *Object) {
	o.Millis("dns_ms", t.DNS)
	o.Millis("connect_ms", t.Connect)
	o.Millis("tls_ms", t.TLS)
	o.Millis("first_byte_ms", t.FirstByte)
	o.Millis("body_ms", t.Body)
}

// Fields appends the attempt.
func (a *Attempt) Fields(o *Object) {
	o.Int("number", a.Number)
	o.Time("started_at", a.StartedAt)
	o.Int("duration_ms", a.Duration.Milliseconds())
	o.OptInt("status_code", nonZero(int64(a.StatusCode)))
	o.OptText("error_class", nonEmpty(a.Class))
	o.OptText("error", nonEmpty(a.Error))
	o.OptText("remote_address", nonEmpty(a.RemoteAddress))
	o.Record("timings", &a.Timings)
	o.Text("response_body", a.ResponseBody)
}

// nonEmpty returns nil for an empty text, which becomes null in JSON.
func nonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// nonZero returns nil for 0, which becomes null in JSON.
func nonZero(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// Outgoing is the request of an attempt.
type Outgoing struct {
	EventID EventID
	URL     string
	Body    []byte   // the event's envelope, as it is stored
	Secrets []string // secrets that sign it, the newest first
	Headers []Header // custom headers of the subscription
}

// TestResult is the answer of the test endpoint.
type TestResult struct {
	EventID EventID
	Attempt Attempt
}

// Fields appends the result.
func (t *TestResult) Fields(o *Object) {
	o.Text("event_id", string(t.EventID))
	o.Bool("delivered", t.Attempt.OK())
	o.OptInt("status_code", nonZero(int64(t.Attempt.StatusCode)))
	o.Int("duration_ms", t.Attempt.Duration.Milliseconds())
	o.OptText("error", nonEmpty(t.Attempt.Error))
	o.OptText("response_body", nonEmpty(t.Attempt.ResponseBody))
}

// Fate is the delivery of an event to one subscription, or why there is none.
type Fate struct {
	SubscriptionID   SubscriptionID
	SubscriptionName string
	Delivery         *Delivery // nil if there is none
	Reason           string    // reason in words for a person
}

// Fields appends the fate.
func (f *Fate) Fields(o *Object) {
	o.Text("subscription_id", string(f.SubscriptionID))
	o.Text("subscription_name", f.SubscriptionName)
	if f.Delivery == nil {
		o.Null("delivery")
	} else {
		o.Record("delivery", f.Delivery)
	}
	o.Text("reason", f.Reason)
}

// Schedule has the delays before the second and each further attempt.
type Schedule []time.Duration

// DefaultSchedule has 4 attempts: at once, and 1, 10 and 60 seconds after the previous one ended.
var DefaultSchedule = Schedule{time.Second, 10 * time.Second, time.Minute}

// Next returns the delay before the next attempt after `made` attempts. It returns false if there
// is none.
func (s Schedule) Next(made int64) (time.Duration, bool) {
	if made < 1 || made > int64(len(s)) {
		return 0, false
	}
	return s[made-1], true
}
