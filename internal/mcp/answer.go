package mcp

import (
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
)

// The JSON-RPC codes in use. An error's data also has the code of the API, for programs.
const (
	parseError     int64 = -32700
	invalidRequest int64 = -32600
	methodNotFound int64 = -32601
	invalidParams  int64 = -32602
	internalError  int64 = -32603
	serverError    int64 = -32000
)

// fail answers with a JSON-RPC error and the API's status for it. Errors of the method or its parameters
// have the status of the protocol.
func (x *exchange) fail(m message, e *sheaf.Error) {
	code, status := codeOf(e.Kind, invalidRequest), front.Status(e.Kind)
	if m.wrong != 0 {
		code = m.wrong
	}
	if code == methodNotFound || code == invalidParams {
		status = x.protocolStatus(code)
	}
	x.Refused = string(e.Code)
	x.send(status, errorOf(m, code, e.Text, e.Code))
}

// codeOf returns the JSON-RPC code for an error of kind k. Errors that the client must correct have the
// code `invalid`.
func codeOf(k sheaf.Kind, invalid int64) int64 {
	switch k {
	case sheaf.Invalid, sheaf.MethodNotAllowed, sheaf.TooLarge:
		return invalid
	case sheaf.Internal:
		return internalError
	}
	return serverError
}

// protocolStatus returns the status of an answer to a message whose method or parameters are wrong.
// Before version 2026-07-28 it is 200, because clients ignore JSON-RPC errors in answers of any other
// status. From that version on it is what the protocol says, as in the SDK's own answers.
func (x *exchange) protocolStatus(code int64) int {
	switch {
	case x.Request.Header.Get("MCP-Protocol-Version") < "2026-07-28":
		return http.StatusOK
	case code == methodNotFound:
		return http.StatusNotFound
	}
	return http.StatusBadRequest
}

// send writes an answer and discards the unread rest of the request.
func (x *exchange) send(status int, body []byte) {
	h := x.Header()
	h.Set("Cache-Control", "no-store")
	if len(body) > 0 {
		h.Set("Content-Type", "application/json; charset=utf-8")
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	x.WriteHeader(status)
	if len(body) > 0 && x.Request.Method != http.MethodHead {
		_, _ = x.Write(body)
	}
	x.DiscardBody()
}

// errorOf returns a JSON-RPC error: a sentence for people, and the API's code for programs.
func errorOf(m message, code int64, text string, name sheaf.Code) []byte {
	return reply(m, "error", sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Int("code", code)
		o.Text("message", text)
		o.Raw("data", errorData(name))
	}))
}

// errorData returns the data of a JSON-RPC error, which programs read.
func errorData(name sheaf.Code) []byte {
	return sheaf.Encode(sheaf.RecordFunc(func(o *sheaf.Object) { o.Text("code", string(name)) }))
}

// replyResult returns the answer of a tool call that was refused before the tool ran.
func replyResult(m message, r *sdk.CallToolResult) []byte {
	return reply(m, "result", sheaf.RecordFunc(func(o *sheaf.Object) {
		text := sheaf.Encode(sheaf.RecordFunc(func(o *sheaf.Object) {
			o.Text("type", "text")
			o.Text("text", r.Content[0].(*sdk.TextContent).Text)
		}))
		o.Raw("content", append(append([]byte{'['}, text...), ']'))
		o.Bool("isError", r.IsError)
	}))
}

// reply returns the answer to the message. If the message has no id, that of the answer is null.
func reply(m message, name string, r sheaf.Record) []byte {
	id := m.id
	if id == nil {
		id = jsontext.Value("null")
	}
	return sheaf.Encode(sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Text("jsonrpc", "2.0")
		o.Raw("id", id)
		o.Record(name, r)
	}))
}

// recordResult returns the result of a tool: a record as JSON, followed by a raw text unless that is nil.
func recordResult(r sheaf.Record, text *string) *sdk.CallToolResult {
	out := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(sheaf.Encode(r))}}}
	if text != nil {
		out.Content = append(out.Content, &sdk.TextContent{Text: *text})
	}
	return out
}

// refused returns the result of a tool that did nothing, in the form of the API's errors. It is a result
// and not a protocol error, because protocol errors do not reach the language model.
func refused(e *sheaf.Error) *sdk.CallToolResult {
	out := recordResult(sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Text("error", e.Text)
		o.Text("code", string(e.Code))
		if e.Field != "" {
			o.Text("field", e.Field)
		}
	}), nil)
	out.IsError = true
	return out
}

// page returns a page of a list: short records, their total number, and the offset of the next page.
func page[T any](p sheaf.Page[T], each func(int, *T, *sheaf.Object)) sheaf.Record {
	list := arrayOf(p.Items, each)
	return sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Raw("data", list)
		pageEnd(p, o)
	})
}

// arrayOf returns a JSON array of the items.
func arrayOf[T any](items []T, each func(int, *T, *sheaf.Object)) []byte {
	list := []byte{'['}
	for i := range items {
		if i > 0 {
			list = append(list, ',')
		}
		list = sheaf.AppendJSON(list, sheaf.RecordFunc(func(o *sheaf.Object) { each(i, &items[i], o) }))
	}
	return append(list, ']')
}

// pageEnd appends the total number of records, and the offset of the next page.
func pageEnd[T any](p sheaf.Page[T], o *sheaf.Object) {
	o.Int("total", p.Total)
	if p.More() && len(p.Items) > 0 {
		o.Int("next_offset", int64(p.Offset+len(p.Items)))
	}
}

// optionalText appends the field unless it is nil or empty, so that agents read no empty fields.
func optionalText[T ~string](o *sheaf.Object, name string, v *T) {
	if v != nil && *v != "" {
		o.Text(name, string(*v))
	}
}
