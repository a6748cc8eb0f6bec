package mcp

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// message is what is looked at of a message before the SDK reads it: how to answer it, and what the
// log calls it.
type message struct {
	id     jsontext.Value // nil where no answer is asked for
	method string
	tool   string // that is to be called; empty for everything else
}

// The methods that are treated in a way of their own.
const (
	callMethod   = "tools/call"
	listenMethod = "subscriptions/listen"
	listMethod   = "resources/list"
)

// loggedMethods are those that the log names beside the tools. A client may send any other text,
// which does not belong there.
var loggedMethods = []string{"initialize", "server/discover", "tools/list", "resources/list", "resources/templates/list", "resources/read", "ping"}

// readMessage reads a body that is one message of JSON-RPC. It is as strict as the API is with its
// bodies, so that what the SDK reads has one meaning.
func readMessage(body []byte) (m message, err error) {
	if start := bytes.TrimLeft(body, " \t\r\n"); len(start) > 0 && start[0] == '[' {
		return m, sheaf.Invalidf("several messages in one request are not taken: send them one after the other")
	}
	object, err := strict.ParseObject(body)
	if err != nil {
		return m, err
	}
	// Of these three JSON-RPC knows no other kind than a string, a number and null.
	if id := object.Value("id"); id != nil && (id.Kind() == '"' || id.Kind() == '0') {
		m.id = id
	}
	fields := object.Fields()
	m.method = fields.Text("method").Value
	if m.method != callMethod {
		return m, fields.Err()
	}
	params := fields.Raw("params")
	if err := fields.Err(); err != nil || !params.Given() {
		return m, err
	}
	inner, err := strict.ParseObject(params.Value)
	if err != nil {
		return m, err
	}
	call := inner.Fields()
	m.tool = call.Text("name").Value
	return m, call.Err()
}
