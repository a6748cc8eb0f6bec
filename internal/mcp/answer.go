package mcp

import (
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
)

// The codes of JSON-RPC that are used here. What a program needs to know stands in the data beside
// them: the code that the API has for it.
const (
	parseError     int64 = -32700
	invalidRequest int64 = -32600
	methodNotFound int64 = -32601
	invalidParams  int64 = -32602
	internalError  int64 = -32603
	serverError    int64 = -32000
)

// fail answers with an error of JSON-RPC, with the status that the API has for it. What is wrong with
// the method or its parameters has the status of the protocol.
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

// codeOf returns the code of JSON-RPC for an error of that kind; invalid is the one for what the
// client has to put right.
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
// Before version 2026-07-28 it is 200: clients read no error of JSON-RPC in any other. From then on it
// is what that version says, and what the SDK answers too.
func (x *exchange) protocolStatus(code int64) int {
	switch {
	case x.Request.Header.Get("MCP-Protocol-Version") < "2026-07-28":
		return http.StatusOK
	case code == methodNotFound:
		return http.StatusNotFound
	}
	return http.StatusBadRequest
}

// send writes an answer, and takes what was not needed of the request.
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

// errorOf is an error of JSON-RPC: for whoever reads it a sentence, for a program the code that the
// API has for the same.
func errorOf(m message, code int64, text string, name sheaf.Code) []byte {
	return reply(m, "error", sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Int("code", code)
		o.Text("message", text)
		o.Raw("data", errorData(name))
	}))
}

// errorData returns what a program reads of an error of JSON-RPC.
func errorData(name sheaf.Code) []byte {
	return sheaf.Encode(sheaf.RecordFunc(func(o *sheaf.Object) { o.Text("code", string(name)) }))
}

// resultOf is the result of a tool that was not called.
func resultOf(m message, r *sdk.CallToolResult) []byte {
	return reply(m, "result", sheaf.RecordFunc(func(o *sheaf.Object) {
		text := sheaf.Encode(sheaf.RecordFunc(func(o *sheaf.Object) {
			o.Text("type", "text")
			o.Text("text", r.Content[0].(*sdk.TextContent).Text)
		}))
		o.Raw("content", append(append([]byte{'['}, text...), ']'))
		o.Bool("isError", r.IsError)
	}))
}

// reply is an answer to the message: one without a number has null, as JSON-RPC asks.
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

// told is the result of a tool: a record as JSON, and behind it a text as it is, where there is one.
func told(r sheaf.Record, text *string) *sdk.CallToolResult {
	out := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(sheaf.Encode(r))}}}
	if text != nil {
		out.Content = append(out.Content, &sdk.TextContent{Text: *text})
	}
	return out
}

// refused is the result of a tool that did nothing, in the one shape that the API's errors have. It
// is a result and no error of the protocol, since these do not reach the language model.
func refused(e *sheaf.Error) *sdk.CallToolResult {
	out := told(sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Text("error", e.Text)
		o.Text("code", string(e.Code))
		if e.Field != "" {
			o.Text("field", e.Field)
		}
	}), nil)
	out.IsError = true
	return out
}

// page is a part of a list: short records, how many there are, and where to go on.
func page[T any](p sheaf.Page[T], each func(*T, *sheaf.Object)) sheaf.Record {
	list := []byte{'['}
	for i := range p.Items {
		if i > 0 {
			list = append(list, ',')
		}
		list = sheaf.AppendJSON(list, sheaf.RecordFunc(func(o *sheaf.Object) { each(&p.Items[i], o) }))
	}
	return sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Raw("data", append(list, ']'))
		o.Int("total", p.Total)
		if p.More() && len(p.Items) > 0 {
			o.Int("next_offset", int64(p.Offset+len(p.Items)))
		}
	})
}

// given appends a text that is there, and nothing for one that is not: what is missing need not be
// read.
func given[T ~string](o *sheaf.Object, name string, v *T) {
	if v != nil && *v != "" {
		o.Text(name, string(*v))
	}
}
