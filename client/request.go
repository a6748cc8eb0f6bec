package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// request is one operation, as a method of the public types describes it.
type request struct {
	method, path string
	query        url.Values
	body         any    // nil: none
	wrap         string // the member of the answer that holds the record
	header       http.Header
	unkeyed      bool // a POST that takes no Idempotency-Key, so that repeating it has another effect
}

// Received is part of each record: its ETag, and the JSON as the server sent it.
type Received struct {
	// ETag is what [IfMatch] and [IfNoneMatch] take. Records in lists have none.
	ETag string `json:"-"`
	raw  json.RawMessage
}

// Raw returns the record as the server sent it, with fields that this package does not know; nil
// for a record that is part of another.
func (r *Received) Raw() json.RawMessage { return r.raw }

func (r *Received) receive(raw json.RawMessage, etag string) { r.raw, r.ETag = raw, etag }

// send makes the request and reads the record in its answer.
func send[T any](ctx context.Context, c *Client, r request, opts []Option) (T, error) {
	var out T
	res, err := c.do(ctx, r, opts)
	if err != nil {
		return out, err
	}
	raw := json.RawMessage(res.body)
	if r.wrap != "" {
		var outer map[string]json.RawMessage
		if err := json.Unmarshal(raw, &outer); err != nil {
			return out, c.unreadable(err)
		}
		raw = outer[r.wrap]
	}
	if err := decode(raw, res.header.Get("Etag"), &out); err != nil {
		return out, c.unreadable(err)
	}
	return out, nil
}

// decode reads a record, and keeps its bytes and its ETag where the type embeds [Received].
func decode[T any](raw json.RawMessage, etag string, out *T) error {
	if err := json.Unmarshal(raw, out); err != nil {
		return err
	}
	if r, ok := any(out).(interface {
		receive(json.RawMessage, string)
	}); ok {
		r.receive(raw, etag)
	}
	return nil
}

// unreadable is the error for an answer of 2xx that is no record: some other program answered.
func (c *Client) unreadable(err error) error {
	return fmt.Errorf("the answer of %s is not Sheaf's: %w", c.base, err)
}

// exec makes a request whose answer has no body.
func (c *Client) exec(ctx context.Context, r request, opts []Option) error {
	_, err := c.do(ctx, r, opts)
	return err
}

// response is an answer of 2xx, read whole.
type response struct {
	header http.Header
	body   []byte
}

// do makes the request, again where that may help, and reads the answer.
func (c *Client) do(ctx context.Context, r request, opts []Option) (*response, error) {
	body, err := r.prepare(opts)
	if err != nil {
		return nil, err
	}
	unknown := false // an attempt may have had its effect
	for try := 0; ; try++ {
		res, err := c.attempt(ctx, r, body)
		if err == nil || unknown && r.method == http.MethodDelete && errors.Is(err, ErrNotFound) {
			return res, nil
		}
		again, maybe := r.repeatable(err)
		unknown = unknown || maybe
		if !again || try >= c.config.Retries || ctx.Err() != nil {
			return nil, err
		}
		if err := c.pause(ctx, err, try); err != nil {
			return nil, err
		}
	}
}

// prepare applies the options and encodes the body. A POST gets a random Idempotency-Key, so that
// every attempt of it is the same request; an option may set another.
func (r *request) prepare(opts []Option) ([]byte, error) {
	r.header = http.Header{}
	if r.method == http.MethodPost && !r.unkeyed {
		r.header.Set("Idempotency-Key", rand.Text())
	}
	for _, o := range opts {
		o(r)
	}
	if r.unkeyed {
		r.header.Del("Idempotency-Key")
	}
	if r.body == nil {
		return nil, nil
	}
	if text, raw := r.body.(markdown); raw {
		r.header.Set("Content-Type", "text/markdown; charset=utf-8")
		return []byte(text), nil
	}
	if content, raw := r.body.(file); raw {
		r.header.Set("Content-Type", "application/octet-stream")
		return content, nil
	}
	if part, raw := r.body.(piece); raw {
		r.header.Set("Content-Type", "application/offset+octet-stream")
		return part, nil
	}
	r.header.Set("Content-Type", "application/json")
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r.body); err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return b.Bytes(), nil
}

// attempt makes the request once, and reads the whole answer.
func (c *Client) attempt(ctx context.Context, r request, body []byte) (*response, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	res, err := c.open(ctx, &c.http, r, body)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, refusal(res)
	}
	read, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", c.base, err)
	}
	return &response{res.Header, read}, nil
}

// open makes the request once; the answer's body is still to be read.
func (c *Client) open(ctx context.Context, h *http.Client, r request, body []byte) (*http.Response, error) {
	address := c.base + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	req.Header.Set("Authorization", "Bearer "+c.config.Key)
	req.Header.Set("User-Agent", c.config.UserAgent)
	res, err := h.Do(req)
	if err != nil {
		// The text of *url.Error repeats the address, query and all.
		if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return nil, fmt.Errorf("%s does not answer: %w", c.base, err)
	}
	return res, nil
}

// escape makes one segment of a path of whatever a caller gives as an id.
func escape(id string) string {
	if id == "" || id == "." || id == ".." {
		return "-" // refused by the server, and not another address
	}
	return url.PathEscape(id)
}

// set adds a parameter unless it is empty.
func set(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

// timeFormat is what the service writes and reads.
const timeFormat = "2006-01-02T15:04:05.000Z"

// setTime sets a parameter unless the time is zero.
func setTime(q url.Values, name string, t time.Time) {
	if !t.IsZero() {
		q.Set(name, t.UTC().Format(time.RFC3339Nano))
	}
}
