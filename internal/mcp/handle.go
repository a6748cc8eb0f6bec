package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sheaf.dev/internal/door"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
)

// exchange is one request of an agent and its answer.
type exchange struct {
	door.Access
	server *Server
}

// call is what a tool gets beside its arguments.
type call struct {
	*exchange
	ctx  context.Context // ends when the client disconnects
	view *sdk.Server     // the tools that the caller may use

	panicked any // the value and the stack of a panic in a tool; nil: none
}

type callKey struct{}

// callOf returns the call that a request of the SDK belongs to.
func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// Serve makes all checks in the order of the contract (D140). Then the SDK reads the message and calls the
// tool, and Serve writes the answer.
func (s *Server) Serve(shared *front.Exchange) {
	x := s.exchange(shared)
	if err := x.checkOrigin(); err != nil {
		x.fail(message{}, err)
		return
	}
	if x.Request.Method != http.MethodPost {
		x.Header().Set("Allow", http.MethodPost)
		x.fail(message{}, &sheaf.Error{Kind: sheaf.MethodNotAllowed, Code: sheaf.CodeMethodNotAllowed,
			Text: "this address accepts only POST: there are no sessions, so there is no stream to listen to and no session to end"})
		return
	}
	if err := x.Admit(); err != nil {
		x.refuseEarly(x.Refusal(err))
		return
	}
	m, body, err := x.read()
	if err != nil {
		x.fail(m, x.Refusal(err))
		return
	}
	x.note(m)
	if m.unknown() {
		x.send(http.StatusAccepted, nil) // a notification is never refused
		return
	}
	x.answer(m, body, &call{exchange: x, ctx: x.Request.Context(), view: s.view(x.Caller)})
}

// checkOrigin refuses requests that a page of another site makes a browser send. Programs send no Origin.
func (x *exchange) checkOrigin() *sheaf.Error {
	origin := x.Request.Header.Get("Origin")
	if origin == "" || x.isOwn(origin) {
		return nil
	}
	return sheaf.Forbiddenf("the Origin %q is not this service's own: agents do not run in a browser, and a page of another site may not call this address", sheaf.Clip(origin))
}

// isOwn reports whether the Origin is an address of this service.
func (x *exchange) isOwn(origin string) bool {
	if u := x.server.PublicURL; u != nil {
		return strings.EqualFold(origin, (&url.URL{Scheme: u.Scheme, Host: u.Host}).String())
	}
	scheme, host := x.Origin()
	return strings.EqualFold(origin, scheme+"://"+host)
}

// read reads the body and parses its message.
func (x *exchange) read() (message, []byte, error) {
	body, err := x.ReadBody()
	var over *http.MaxBytesError
	var refusal *front.Refusal
	switch {
	case errors.As(err, &over):
		return message{}, nil, &sheaf.Error{Kind: sheaf.TooLarge, Code: sheaf.CodeTooLarge,
			Text: "the message is larger than 10 MB (10,485,760 bytes): send less at once"}
	case errors.As(err, &refusal):
		return message{}, nil, err
	case err != nil:
		return message{}, nil, sheaf.Invalidf("the message is incomplete: send it again")
	}
	m, err := readMessage(body)
	if err == nil && m.unknown() && m.id != nil {
		text := fmt.Sprintf("there is no method %q: this service has tools and resources", sheaf.Clip(m.method))
		if m.method == listenMethod {
			text = listenMethod + " is not offered, because there are no sessions; call list_changes to see what happened since"
		}
		m.wrong, err = methodNotFound, &sheaf.Error{Kind: sheaf.NotFound, Code: sheaf.CodeNotFound, Text: text}
	}
	return m, body, err
}

// note sets the tool or method for the log and the metrics.
func (x *exchange) note(m message) {
	switch t := x.server.byName[m.tool]; {
	case t != nil:
		x.Tool, x.Counted = t.name, t.counted
	case slices.Contains(loggedMethods, m.method):
		x.Tool = m.method
	}
}

// earlyBody is the largest body that is read of a request that is refused early. Most calls are smaller, so
// the refusal can carry the id of the call.
const earlyBody = 64 << 10

// refuseEarly answers a request that is refused for its key, its plan or the rate limit. If it is a tool
// call over the rate limit, the answer is a result, which the language model reads.
func (x *exchange) refuseEarly(e *sheaf.Error) {
	var m message
	if n := x.Request.ContentLength; n > 0 && n <= earlyBody {
		if got, _, err := x.read(); err == nil {
			m = got
			x.note(m)
		}
	}
	if e.Kind == sheaf.RateLimited && m.tool != "" && m.id != nil {
		x.Refused = string(e.Code)
		// The answer is the result of a tool call, as if the tool had refused.
		r := refused(e)
		x.send(http.StatusOK, reply(m, "result", sheaf.RecordFunc(func(o *sheaf.Object) {
			text := sheaf.Encode(sheaf.RecordFunc(func(o *sheaf.Object) {
				o.Text("type", "text")
				o.Text("text", r.Content[0].(*sdk.TextContent).Text)
			}))
			o.Raw("content", append(append([]byte{'['}, text...), ']'))
			o.Bool("isError", r.IsError)
		})))
		return
	}
	x.fail(m, e)
}

// answer lets the SDK answer the message and sends its answer. A panic of a tool is raised again here, on
// the goroutine of the request.
func (x *exchange) answer(m message, body []byte, c *call) {
	r := x.Request.Clone(context.WithValue(context.WithoutCancel(x.Request.Context()), callKey{}, c))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	// Answers are JSON, whatever the client accepts.
	r.Header.Set("Accept", "application/json, text/event-stream")
	if r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := &recorder{header: http.Header{}}
	x.server.handler.ServeHTTP(w, r)
	if c.panicked != nil {
		panic(c.panicked)
	}
	// Send the SDK's answer; if it is an error in plain text, as a JSON-RPC error.
	status := max(w.status, http.StatusOK)
	if status >= http.StatusBadRequest && !strings.HasPrefix(w.header.Get("Content-Type"), "application/json") {
		x.send(status, errorOf(m, invalidRequest, strings.TrimSpace(w.body.String()), sheaf.CodeValidation))
		return
	}
	if t := x.server.byName[m.tool]; t == nil || t.kind == reads {
		if err := x.HoldAnswer(w.body.Len()); err != nil {
			x.fail(m, x.Refusal(err))
			return
		}
	}
	x.send(status, w.body.Bytes())
}

// recorder is a ResponseWriter that keeps the answer until it is complete.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header returns the header of the answer. Only its Content-Type is used.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader keeps the status.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write keeps a part of the body.
func (w *recorder) Write(b []byte) (int, error) { return w.body.Write(b) }
