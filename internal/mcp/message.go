package mcp

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// message has the parts of a JSON-RPC message that are read before the SDK: how to answer it, and its name
// in the log.
type message struct {
	id     jsontext.Value // nil: the client expects no answer
	method string
	calls  bool   // it has a method; otherwise it is an answer, which needs no reply
	tool   string // the tool to call; empty if this is no tool call
	// wrong is the JSON-RPC code of a refusal of the message. If it is 0, codeOf decides.
	wrong int64
}

// The methods with special handling.
const (
	callMethod   = "tools/call"
	listenMethod = "subscriptions/listen"
	listMethod   = "resources/list"
)

// loggedMethods are the methods that the log names, beside tools. Other method names could be any text of
// the client, and are not logged.
var loggedMethods = []string{"initialize", "server/discover", "tools/list", "resources/list", "resources/templates/list", "resources/read", "ping"}

// sdkMethods are the other methods that the SDK answers, most of them by saying that there is nothing.
var sdkMethods = []string{callMethod, "prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "resources/subscribe", "resources/unsubscribe",
	"notifications/initialized", "notifications/cancelled", "notifications/progress", "notifications/roots/list_changed"}

// readMessage parses a body that must be one JSON-RPC message. It is as strict as the API with its bodies,
// so that the SDK cannot read the message in another way. Only a NUL is allowed in the parameters: the tool
// refuses it like any other bad argument.
func readMessage(body []byte) (m message, err error) {
	if start := bytes.TrimLeft(body, " \t\r\n"); len(start) > 0 && start[0] == '[' && isJSON(body) {
		return m, sheaf.Invalidf("a request can have only one message: send them one after the other")
	}
	object, err := strict.ParseEnvelope(body)
	if err != nil {
		if !isJSON(body) {
			m.wrong = parseError
		}
		return m, err
	}
	if object.Has("id") {
		if m.id = exactID(object.Value("id")); m.id == nil {
			return m, sheaf.InvalidField("id", "`id` must be a string, or a whole number from -%d to %d without fraction and exponent: others cannot be answered exactly as they were sent", maxOffset, maxOffset)
		}
	}
	fields := object.Fields()
	version, method := fields.Text("jsonrpc"), fields.Text("method")
	m.method, m.calls = method.Value, method.Given()
	switch {
	case fields.Err() != nil:
		return m, fields.Err()
	case version.Value != "2.0":
		return m, sheaf.InvalidField("jsonrpc", "`jsonrpc` must be \"2.0\", not %q", sheaf.Clip(version.Value))
	case !method.Given() && (method.Null || !object.Has("result") && !object.Has("error")):
		return m, sheaf.InvalidField("method", "`method` is missing: send the method that is called")
	case m.method != callMethod || m.id == nil:
		return m, nil
	}
	m.tool, err = readTool(fields)
	if err != nil {
		m.wrong = invalidParams
	}
	return m, err
}

// readTool reads the name of the tool that is called.
func readTool(message *strict.Fields) (string, error) {
	params := message.Raw("params")
	if !params.Given() {
		return "", sheaf.InvalidField("params", "`params` is missing: send the name of the tool, and its arguments")
	}
	if kind := params.Value.Kind(); kind != '{' {
		return "", sheaf.InvalidField("params", "`params` must be an object: send the name of the tool, and its arguments")
	}
	inner, err := strict.ParseEnvelope(params.Value)
	if err != nil {
		return "", err
	}
	call := inner.Fields()
	name := call.Text("name")
	if call.Err() == nil && !name.Given() {
		return "", sheaf.InvalidField("name", "`name` is missing: send the name of the tool")
	}
	return name.Value, call.Err()
}

// exactID returns the id if the SDK can return it exactly as it was sent, otherwise nil. The SDK reads a
// number as float64 and returns its integer part.
func exactID(id jsontext.Value) jsontext.Value {
	switch id.Kind() {
	case '"':
		return id
	case '0':
		if n, err := strconv.ParseInt(string(id), 10, 64); err == nil && max(n, -n) <= maxOffset && strconv.FormatInt(n, 10) == string(id) {
			return id
		}
	}
	return nil
}

// isJSON reports whether the body is one JSON value, by its syntax alone.
func isJSON(body []byte) bool {
	return jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true))
}

// unknown reports whether the message names a method that is not offered.
func (m message) unknown() bool {
	return m.calls && !slices.Contains(loggedMethods, m.method) && !slices.Contains(sdkMethods, m.method)
}
