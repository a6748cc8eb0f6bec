package httpapi_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"sheaf.dev/internal/httpapi"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/openapitest"
)

var update = flag.Bool("update", false, "write openapi.json and the Postman collection from openapi.yaml")

func TestOpenAPI_JSON_IsTheYAML(t *testing.T) {
	want := append(fromYAML(t), '\n')
	if *update {
		if err := os.WriteFile("openapi.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(httpapi.OpenAPIJSON(), want) {
		t.Error("openapi.json is not openapi.yaml, run: go test ./internal/httpapi -run TestOpenAPI_JSON -update")
	}
}

// fromYAML is openapi.yaml as JSON.
func fromYAML(t *testing.T) []byte {
	t.Helper()
	var document yaml.Node
	if err := yaml.Unmarshal(httpapi.OpenAPI(), &document); err != nil {
		t.Fatal(err)
	}
	b, err := appendNode(nil, document.Content[0])
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// appendNode writes YAML as JSON, in its own order.
func appendNode(b []byte, n *yaml.Node) (_ []byte, err error) {
	switch n.Kind {
	case yaml.MappingNode:
		b = append(b, '{')
		for i := 0; i < len(n.Content); i += 2 {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendText(b, n.Content[i].Value), ':')
			if b, err = appendNode(b, n.Content[i+1]); err != nil {
				return b, err
			}
		}
		return append(b, '}'), nil
	case yaml.SequenceNode:
		b = append(b, '[')
		for i, c := range n.Content {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendNode(b, c); err != nil {
				return b, err
			}
		}
		return append(b, ']'), nil
	case yaml.AliasNode:
		return appendNode(b, n.Alias)
	case yaml.ScalarNode:
		switch n.Tag {
		case "!!str", "!!timestamp":
			return appendText(b, n.Value), nil
		case "!!int", "!!float", "!!bool", "!!null":
			if json.Valid([]byte(n.Value)) {
				return append(b, n.Value...), nil
			}
		}
	}
	return b, fmt.Errorf("line %d: %s %q has no plain form in JSON", n.Line, n.Tag, n.Value)
}

func appendText(b []byte, s string) []byte {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string has a form
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

func TestOpenAPI_IsAnOpenAPIDocument(t *testing.T) {
	if err := openapitest.Valid(httpapi.OpenAPI()); err != nil {
		t.Error(err)
	}
}

// node is a part of the OpenAPI document. Its methods follow references.
type node struct {
	root, value any
}

func openAPI(t *testing.T) node {
	t.Helper()
	text := httpapi.OpenAPIJSON()
	if *update {
		text = fromYAML(t) // what is embedded is about to be written anew
	}
	var root any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	return node{root, root}
}

func (n node) at(path ...string) node {
	for _, name := range path {
		n = n.resolved()
		m, _ := n.value.(map[string]any)
		n.value = m[name]
	}
	return n.resolved()
}

func (n node) resolved() node {
	m, _ := n.value.(map[string]any)
	if ref, ok := m["$ref"].(string); ok {
		return node{n.root, n.root}.at(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	return n
}

func (n node) keys() []string {
	m, _ := n.value.(map[string]any)
	return slices.Sorted(maps.Keys(m))
}

func (n node) items() (out []node) {
	list, _ := n.value.([]any)
	for _, v := range list {
		out = append(out, node{n.root, v}.resolved())
	}
	return out
}

func (n node) texts() []string {
	out := []string{}
	for _, v := range n.items() {
		out = append(out, fmt.Sprint(v.value))
	}
	return out
}

// operations are all of the document under paths, by "METHOD path".
func (n node) operations() map[string]node {
	out := map[string]node{}
	for _, path := range n.at("paths").keys() {
		for _, method := range n.at("paths", path).keys() {
			if method != "parameters" {
				out[strings.ToUpper(method)+" "+path] = n.at("paths", path, method)
			}
		}
	}
	return out
}

// parameters are the names of an operation's own.
func (n node) parameters() (out []string) {
	for _, p := range n.at("parameters").items() {
		out = append(out, fmt.Sprint(p.at("name").value))
	}
	return out
}

func table() []httpapi.Operation { return httpapi.New(httpapi.Config{}).Operations() }

func TestOpenAPI_HasEveryRouteAndNothingElse(t *testing.T) {
	var want []string
	for _, r := range table() {
		want = append(want, r.Method+" "+r.Path)
	}
	slices.Sort(want)
	got := slices.Sorted(maps.Keys(openAPI(t).operations()))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the document has other operations than the routes (-routes +document):\n%s", diff)
	}
}

func TestOpenAPI_SaysWhatEachRouteNeeds(t *testing.T) {
	operations := openAPI(t).operations()
	for _, r := range table() {
		name := r.Method + " " + r.Path
		op, need := operations[name], sheaf.Scopes(r.Need).Strings()
		var schemes []string
		for _, s := range op.at("security").items() {
			schemes = append(schemes, s.keys()...)
			if diff := cmp.Diff(need, s.at(s.keys()[0]).texts()); diff != "" {
				t.Errorf("%s: the scopes of %s differ (-route +document):\n%s", name, s.keys()[0], diff)
			}
		}
		want := []string{"bearer", "basic"}
		if r.Public {
			want = nil
		}
		if !slices.Equal(schemes, want) {
			t.Errorf("%s: is opened by %q", name, schemes)
		}
		for _, scope := range need {
			if text := fmt.Sprint(op.at("description").value); !strings.Contains(text, "`"+scope+"`") {
				t.Errorf("%s: the description %q does not name %s", name, text, scope)
			}
		}
	}
}

// hasExternalID matches the routes of records that may have an external_id.
var hasExternalID = regexp.MustCompile(`^/api/v1/(projects|folders|documents)\b`)

func TestOpenAPI_SaysWhatEachRouteTakes(t *testing.T) {
	operations := openAPI(t).operations()
	for _, r := range table() {
		name := r.Method + " " + r.Path
		op := operations[name]
		is := func(what string, got, want bool) {
			if got != want {
				t.Errorf("%s: %s: the document says %v, the route %v", name, what, got, want)
			}
		}
		status := op.at("responses").keys()
		takes := op.parameters()
		is("body", op.at("requestBody").value != nil, r.Body)
		announces := r.Method == "POST" && r.Path == uploadsPath // the size of a body that comes later
		is("413", slices.Contains(status, "413"), r.Body || announces)
		is("a body that is required", op.at("requestBody", "required").value == true, r.Body && !r.Optional)
		is("Idempotency-Key", slices.Contains(takes, "Idempotency-Key"), r.Once)
		// Whatever writes an external id may find it taken.
		conflicts := r.Method == "PUT" && !strings.HasSuffix(r.Path, "/content") || r.Method == "PATCH" && hasExternalID.MatchString(r.Path) || strings.HasSuffix(r.Path, "/permanent") ||
			strings.HasPrefix(r.Path, "/api/v1/proposals/") && r.Method != "GET" || // it may be decided
			r.Method == "DELETE" && strings.HasPrefix(r.Path, "/api/v1/releases/") // a share may name it
		// An upload has a place to go on from.
		goesOn := strings.HasPrefix(r.Path, uploadsPath+"/") && r.Method != "HEAD" && !r.Public
		is("409", slices.Contains(status, "409"), r.Once || conflicts || goesOn)
		is("412", slices.Contains(status, "412"), slices.Contains(takes, "If-Match") || slices.Contains(takes, "Tus-Resumable") || r.Path == batchPath)
		is("304", slices.Contains(status, "304"), slices.Contains(takes, "If-None-Match"))
		if r.Public {
			continue
		}
		for _, always := range []string{"400", "401", "403", "429", "500", "503"} {
			is(always, slices.Contains(status, always), true)
		}
		codes := op.codes("403")
		is("FORBIDDEN", slices.Contains(codes, "FORBIDDEN"), len(r.Need)+len(r.OneOf) > 0)
		is("PLAN_REQUIRED", slices.Contains(codes, "PLAN_REQUIRED"), true)
	}
}

func (n node) codes(status string) []string {
	return n.at("responses", status, "content", "application/json", "schema", "properties", "code", "enum").texts()
}

// Each operation shows what is sent and what comes back.
func TestOpenAPI_HasAnExampleForEveryOperation(t *testing.T) {
	document := openAPI(t)
	operations := document.operations()
	for _, name := range document.at("webhooks").keys() {
		operations["webhook "+name] = document.at("webhooks", name, "post")
	}
	for name, op := range operations {
		bodies := map[string]node{"request": op.at("requestBody", "content")}
		for _, status := range op.at("responses").keys() {
			bodies[status] = op.at("responses", status, "content")
		}
		for what, content := range bodies {
			for _, media := range content.keys() {
				if len(content.at(media, "examples").keys()) == 0 {
					t.Errorf("%s: no example of %s %s", name, what, media)
				}
			}
		}
	}
}

func TestOpenAPI_HasEveryErrorCode(t *testing.T) {
	document := openAPI(t)
	used := map[string]bool{}
	for _, op := range document.operations() {
		for _, status := range op.at("responses").keys() {
			for _, code := range op.codes(status) {
				used[code] = true
			}
		}
	}
	text := fmt.Sprint(document.at("info", "description").value)
	codes := errorCodes(t)
	for _, code := range codes {
		if !strings.Contains(text, "`"+code+"`") {
			t.Errorf("the table of errors lacks %s", code)
		}
		// No operation answers 405: it is the answer to a method that is none.
		if !used[code] && code != string(sheaf.CodeMethodNotAllowed) {
			t.Errorf("no operation has %s", code)
		}
		delete(used, code)
	}
	if len(codes) < 14 || len(used) > 0 {
		t.Errorf("found %d codes; unknown to the program: %v", len(codes), used)
	}
}

// errorCodes reads the constants of sheaf/error.go, so that a new one is not forgotten.
func errorCodes(t *testing.T) (out []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../sheaf/error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if kind, isIdent := specType(spec, ok); isIdent && kind.Name == "Code" {
			code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, code)
		}
		return true
	})
	return out
}

func specType(spec *ast.ValueSpec, ok bool) (*ast.Ident, bool) {
	if !ok {
		return nil, false
	}
	kind, ok := spec.Type.(*ast.Ident)
	return kind, ok
}

func TestOpenAPI_HasTheWordsOfTheProgram(t *testing.T) {
	document := openAPI(t)
	var events, elsewhere, states []string
	for _, e := range sheaf.EventTypes {
		events = append(events, string(e))
		if e.Elsewhere() {
			elsewhere = append(elsewhere, string(e))
		}
	}
	for _, s := range sheaf.DeliveryStates {
		states = append(states, string(s))
	}
	for schema, want := range map[string][]string{"EventType": events, "Scope": sheaf.AllScopes.Strings(), "DeliveryState": states} {
		if diff := cmp.Diff(want, document.at("components", "schemas", schema, "enum").texts()); diff != "" {
			t.Errorf("%s (-program +document):\n%s", schema, diff)
		}
	}
	if diff := cmp.Diff(elsewhere, document.at("components", "schemas", "NewEvent", "properties", "type", "enum").texts()); diff != "" {
		t.Errorf("NewEvent (-program +document):\n%s", diff)
	}
	slices.Sort(events)
	if diff := cmp.Diff(events, document.at("webhooks").keys()); diff != "" {
		t.Errorf("webhooks (-program +document):\n%s", diff)
	}
	for _, name := range events {
		hook := document.at("webhooks", name, "post", "requestBody", "content", "application/json")
		if got := fmt.Sprint(hook.at("examples", "Example", "value", "type").value, " ", hook.at("examples", "Example", "value", "resource_type").value); got != name+" "+sheaf.EventType(name).Resource() {
			t.Errorf("webhook %s has an example of %s", name, got)
		}
		if types := hook.at("schema", "properties", "type", "enum").texts(); !slices.Contains(types, name) {
			t.Errorf("webhook %s has the schema of %q", name, types)
		}
	}
}
