package model

import (
	"encoding/json"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// operation describes a route for the model.
type operation struct {
	need   []string
	fields rules // of the body; nil: it takes none
	must   []string
	some   bool // at least one of the fields must be there
	empty  bool // the body may be left out
	raw    bool // the body is a text, and no JSON
	bytes  bool // the body is a file, which is not empty
	// types are wider than fields: what is of the right type, and wrong, is refused after demand.
	types  rules
	demand func(*model, *call) answer
	same   func(*call) string // what a repetition has in common with the first; nil: the body
	params params
	path   func(id string) bool
	before func(*model, *call) answer // checks that come before a replay
	act    func(*model, *call) answer
}

// call is a request whose syntax is right.
type call struct {
	request request
	key     *key
	id      string
	version string            // the number in the path, where there is one
	in      record            // the writable fields that were sent
	query   map[string]string // the last of each
	faulty  bool              // a field is of the right type, and wrong
}

type (
	// rules say of each field whether a value is valid.
	rules map[string]func(any) bool
	// params say the same of parameters.
	params map[string]func(string) bool
)

var operations = map[string]map[string]*operation{}

// handle adds an operation to the table of routes, where {} stands for an id.
func handle(method, path string, o operation) {
	if operations[path] == nil {
		operations[path] = map[string]*operation{}
	}
	if o.path == nil {
		o.path = isID
	}
	operations[path][method] = &o
}

// route finds the operation, and in the path the id and the number of a version (D12).
func route(method, path string) (o *operation, id, version string, refused answer) {
	parts := strings.Split(path, "/")
	if len(parts) > 4 && parts[4] != "stream" {
		id, parts[4] = parts[4], "{}"
	}
	if len(parts) > 6 && parts[5] == "versions" {
		version, parts[6] = parts[6], "{n}"
	}
	methods, found := operations[strings.Join(parts, "/")]
	switch {
	case !found, strings.HasSuffix(path, "/"):
		return nil, "", "", notFound
	case methods[method] == nil:
		return nil, "", "", notAllowed
	}
	return methods[method], id, version, answer{}
}

// read checks the syntax of path, query and body.
func (c *call) read(o *operation) bool {
	if c.id != "" && !o.path(c.id) || c.version != "" && !within(1, math.MaxInt)(c.version) {
		return false
	}
	c.query = map[string]string{}
	for _, pair := range c.request.query {
		name, value, _ := strings.Cut(pair, "=")
		value, err := url.QueryUnescape(value)
		if err != nil {
			return false
		}
		c.query[name] = value
	}
	for name, valid := range o.params {
		if v, sent := c.query[name]; sent && !valid(v) {
			return false
		}
	}
	if n := len(c.request.once); c.request.method == "POST" && n > 255 {
		return false
	}
	if o.raw {
		c.in = record{"content": c.request.text}
		return isContent(c.request.text)
	}
	if o.bytes {
		return c.request.text != ""
	}
	return o.fields == nil || c.readBody(o)
}

func (c *call) readBody(o *operation) bool {
	text := c.request.text
	if o.empty && text == "" {
		text = "{}"
	}
	var body record
	if c.request.malformed && !(o.empty && c.request.text == "") || json.Unmarshal([]byte(text), &body) != nil || body == nil {
		return false
	}
	c.in = record{}
	for name, valid := range o.fields {
		if v, sent := body[name]; sent {
			if !valid(v) {
				if o.demand == nil || !o.types[name](v) {
					return false
				}
				c.faulty = true
			}
			c.in[name] = v
		}
	}
	for _, name := range o.must {
		if _, sent := c.in[name]; !sent {
			c.faulty = true
		}
	}
	c.faulty = c.faulty || o.some && len(c.in) == 0
	return !c.faulty || o.demand != nil
}

var wellFormed = regexp.MustCompile(`^(\{[a-z]+\d+\}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$`)

func isID(id string) bool { return wellFormed.MatchString(id) }

func isEventID(id string) bool {
	return strings.HasPrefix(id, "{e") || strings.HasPrefix(id, "{xe") || isID(strings.TrimPrefix(id, "evt_")) && strings.HasPrefix(id, "evt_")
}

func idOrNull(s string) bool { return s == "null" || isID(s) }

func within(least, most int) func(string) bool {
	return func(s string) bool {
		n, err := strconv.Atoi(s)
		return err == nil && least <= n && n <= most
	}
}

func oneOf(values ...string) func(string) bool {
	return func(s string) bool {
		for _, v := range values {
			if v == s {
				return true
			}
		}
		return false
	}
}

func paging(more params) params {
	all := params{"limit": within(1, 100), "offset": within(0, 1<<53-1), "order": oneOf("asc", "desc")}
	for name, valid := range more {
		all[name] = valid
	}
	return all
}
