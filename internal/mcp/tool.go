package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/obs"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// tool is one tool that agents can call.
type tool struct {
	name, title string
	about       string // for the language model: what it does, and when to use it
	kind        kind
	need        []sheaf.Scope // the key must have all of these
	oneOf       []sheaf.Scope // and one of these, unless the list is empty
	takes       []argument
	call        func(*call, *strict.Fields) (*sdk.CallToolResult, error)
	counted     *obs.Route
}

// kind is the effect of a tool. Hosts use it to decide whether to ask a person first.
type kind int

const (
	reads   kind = iota // it changes nothing
	adds                // it creates something
	sets                // it changes; a second call with the same arguments changes nothing more
	changes             // it changes, and a second call may change more
	removes             // it deletes something
)

// annotations returns the tool's kind in the terms of MCP. Only tools that publish act outside of Sheaf.
func (t *tool) annotations() *sdk.ToolAnnotations {
	destructive, open := t.kind == changes || t.kind == removes, slices.Contains(t.need, sheaf.SharesWrite)
	if t.kind == reads { // the other hints say how a tool changes something
		return &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &open}
	}
	return &sdk.ToolAnnotations{DestructiveHint: &destructive, IdempotentHint: t.kind == sets, OpenWorldHint: &open}
}

// authorize returns nil if the caller has the scopes that the tool needs.
func (t *tool) authorize(c app.Caller) error {
	for _, s := range t.need {
		if err := c.Authorize(s); err != nil {
			if s == sheaf.DocumentsWrite && c.May(sheaf.ProposalsWrite) {
				err = sheaf.Forbiddenf("this key lacks the scope %s: propose the change with propose_changes, and a person decides", s)
			}
			return err
		}
	}
	var err error
	for _, s := range t.oneOf {
		if err = c.Authorize(s); err == nil {
			return nil
		}
	}
	return err
}

// argument is an argument of a tool. It becomes a property of the JSON Schema and part of error texts.
type argument struct {
	name     string
	schema   map[string]any // without the description
	about    string
	required bool
}

// hint returns what to send for the argument.
func (a argument) hint() string {
	if strings.HasSuffix(a.name, "_id") {
		return "an id, which find and the lists return"
	}
	return cmp.Or(a.about, "the tool cannot work without it")
}

// text, number and choice return an argument of that type. The bounds of a number are not in the schema: a wrong one
// is refused with a text that names them.
func text(name, about string) argument {
	return argument{name: name, about: about, schema: map[string]any{"type": "string"}}
}

func number(name, about string) argument {
	return argument{name: name, about: about, schema: map[string]any{"type": "integer"}}
}

func choice(name string, values []string, about string) argument {
	return argument{name: name, about: about, schema: map[string]any{"type": "string", "enum": values}}
}

// must returns the argument, marked as required.
func must(a argument) argument {
	a.required = true
	return a
}

// schema returns the tool's arguments as JSON Schema. It says nothing that the name of an argument says already,
// because every agent reads the schemas of all tools.
func (t *tool) schema() json.RawMessage {
	properties, required := map[string]any{}, []string{}
	for _, a := range t.takes {
		property := maps.Clone(a.schema)
		if a.about != "" {
			property["description"] = a.about
		}
		properties[a.name] = property
		if a.required {
			required = append(required, a.name)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	b, err := json.Marshal(schema)
	if err != nil {
		panic(err) // values of our own
	}
	return b
}

// arguments parses the arguments of a call. All required ones must be there, and unknown names at any depth
// are an error.
func (t *tool) arguments(raw json.RawMessage) (*strict.Fields, error) {
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	object, err := strict.ParseObject(raw)
	if err != nil {
		return nil, err
	}
	for _, name := range object.Names() {
		if !slices.ContainsFunc(t.takes, func(a argument) bool { return a.name == name }) {
			return nil, sheaf.Invalidf("%q is not an argument of %s, which takes %s", sheaf.Clip(name), t.name, t.argumentNames())
		}
	}
	for _, a := range t.takes {
		v := object.Value(a.name)
		if a.required && (v == nil || v.Kind() == 'n') {
			return nil, sheaf.InvalidField(a.name, "%s is required: %s", a.name, a.hint())
		}
	}
	return object.Fields(), nil
}

func (t *tool) argumentNames() string {
	names := make([]string, len(t.takes))
	for i, a := range t.takes {
		names[i] = a.name
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// run calls the tool for an authorized caller. It returns errors as a result, because the language model
// reads results.
func (t *tool) run(c *call, raw json.RawMessage) *sdk.CallToolResult {
	result, err := t.try(c, raw)
	if err == nil {
		return result
	}
	e := c.Refusal(err)
	c.Refused = string(e.Code)
	return refused(e)
}

func (t *tool) try(c *call, raw json.RawMessage) (*sdk.CallToolResult, error) {
	if err := t.authorize(c.Caller); err != nil {
		return nil, err
	}
	in, err := t.arguments(raw)
	if err != nil {
		return nil, err
	}
	return t.call(c, in)
}

// view returns the SDK server with exactly the tools that the caller may use. Callers with the same tools
// share one.
func (s *Server) view(caller app.Caller) *sdk.Server {
	var allowed []*tool
	var names strings.Builder
	for i := range s.tools {
		if t := &s.tools[i]; t.authorize(caller) == nil {
			allowed = append(allowed, t)
			names.WriteString(t.name + " ")
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.views[names.String()]
	if v == nil {
		v = s.newView(allowed, caller.May(sheaf.DocumentsRead))
		s.views[names.String()] = v
	}
	return v
}

// newView returns an SDK server with these tools, and with documents as resources if documents is true.
func (s *Server) newView(tools []*tool, documents bool) *sdk.Server {
	has := &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}
	if documents {
		has.Resources = &sdk.ResourceCapabilities{}
	}
	v := sdk.NewServer(&sdk.Implementation{Name: "sheaf", Title: "Sheaf", Version: s.Version},
		&sdk.ServerOptions{Instructions: instructions, Capabilities: has, SetCacheable: private})
	for _, t := range tools {
		v.AddTool(&sdk.Tool{Name: t.name, Title: t.title, Description: t.about, InputSchema: t.schema(), Annotations: t.annotations()},
			func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return t.run(callOf(ctx), r.Params.Arguments), nil
			})
	}
	if documents {
		v.AddResourceTemplate(documentTemplate, readResource)
	}
	v.AddReceivingMiddleware(catch, s.explainTool, listResources)
	return v
}

// private forbids shared caches to keep a result, because results depend on the key.
func private(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" }

// catch recovers a panic of a tool and keeps it for the goroutine of the request, where the front handles
// it. Here it would end the process.
func catch(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (result sdk.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				callOf(ctx).panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
				result, err = nil, fmt.Errorf("an unexpected error happened")
			}
		}()
		return next(ctx, method, r)
	}
}

// explainTool improves two errors: a call of a tool for which the key lacks a scope names that scope, and a
// call of an unknown tool lists the existing ones.
func (s *Server) explainTool(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		p, ok := r.GetParams().(*sdk.CallToolParamsRaw)
		if method != callMethod || !ok || p == nil {
			return next(ctx, method, r)
		}
		c := callOf(ctx)
		t := s.byName[p.Name]
		if t == nil {
			t = &tool{call: func(*call, *strict.Fields) (*sdk.CallToolResult, error) {
				return nil, sheaf.Invalidf("there is no tool %q: tools/list returns those that this key may use", sheaf.Clip(p.Name))
			}}
			return t.run(c, nil), nil
		}
		if t.authorize(c.Caller) != nil {
			return t.run(c, p.Arguments), nil
		}
		return next(ctx, method, r)
	}
}
