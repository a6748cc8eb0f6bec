package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/httpapi"
)

// Generators of clients have these limits: oapi-codegen makes one type for each name, whatever its
// kind, and none for schemas that only webhooks refer to; tools that import the file need an
// address. make clients runs the tools themselves.
func TestOpenAPI_SuitsGenerators(t *testing.T) {
	root := openAPI(t)
	kinds, seen := map[string]string{}, map[string]string{}
	for _, kind := range []string{"schemas", "responses", "parameters"} {
		for _, name := range root.at("components", kind).keys() {
			if other, twice := seen[strings.ToLower(name)]; twice { // Go's generator writes each with a capital
				t.Errorf("%s is in %s and in %s", name, other, kind)
			}
			kinds[name], seen[strings.ToLower(name)] = kind, kind
		}
	}
	document := root.value.(map[string]any)
	delete(document, "webhooks")
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	for name, kind := range kinds {
		if !bytes.Contains(text, []byte(`"#/components/`+kind+`/`+name+`"`)) && kind != "responses" {
			t.Errorf("webhooks alone refer to %s of %s", name, kind)
		}
	}
	first := root.at("servers").items()[0].at("url").value.(string)
	if u, err := url.Parse(first); err != nil || !u.IsAbs() || u.Host == "" {
		t.Errorf("the first server is %q, which no tool can use", first)
	}
}

// Generators make a type of each schema with a name, and invent bad names for the rest. So every error
// and every choice of words has a name. A single word, which tells records apart, needs none.
func TestOpenAPI_NamesEveryErrorAndEveryEnum(t *testing.T) {
	root := openAPI(t)
	for name, op := range root.operations() {
		for _, status := range op.at("responses").keys() {
			body := op.at("responses", status, "content", "application/json").value
			if schema, ok := body.(object); ok && schema["schema"].(object)["$ref"] == nil {
				t.Errorf("%s: the body of %s has no name", name, status)
			}
		}
		body := op.at("requestBody", "content", "application/json").value
		if schema, ok := body.(object); ok && schema["schema"].(object)["$ref"] == nil {
			t.Errorf("%s: the body has no name", name)
		}
	}
	eachEnum(root.value, "", func(path string, words int) {
		named := strings.HasPrefix(path, "/components/schemas/") && strings.Count(path, "/") == 3
		header := strings.Contains(path, "/headers/") // no generator makes a type of one
		if words > 1 && !named && !header {
			t.Errorf("%s chooses of %d words and has no name: make it a schema of its own", path, words)
		}
	})
}

// eachEnum calls f with the place of every enum and how many words it has; null is none.
func eachEnum(v any, path string, f func(path string, words int)) {
	switch v := v.(type) {
	case object:
		if enum, ok := v["enum"].([]any); ok {
			f(path, len(slices.DeleteFunc(slices.Clone(enum), func(w any) bool { return w == nil })))
		}
		for name, part := range v {
			if name != "examples" && name != "example" {
				eachEnum(part, path+"/"+strings.ReplaceAll(name, "/", "~1"), f)
			}
		}
	case []any:
		for i, part := range v {
			eachEnum(part, fmt.Sprint(path, "/", i), f)
		}
	}
}

// Generators name methods by operationId: a verb, then what it is about. Their packages take the
// version of the document.
func TestOpenAPI_HasAVersionAndNamesToGenerateBy(t *testing.T) {
	root := openAPI(t)
	if v := root.at("info", "version").value.(string); !semver.MatchString(v) {
		t.Errorf("info.version is %q, not MAJOR.MINOR.PATCH", v)
	}
	seen := map[string]string{}
	for name, op := range root.operations() {
		id, _ := op.at("operationId").value.(string)
		if !operationID.MatchString(id) {
			t.Errorf("%s: operationId %q is no verb, or a verb and a noun, such as listProjects", name, id)
		}
		if other, twice := seen[id]; twice {
			t.Errorf("%s and %s are both %s", name, other, id)
		}
		seen[id] = name
	}
}

var (
	semver      = regexp.MustCompile(`^\d+\.\d+\.\d+$`)
	operationID = regexp.MustCompile(`^(accept|append|approve|batch|create|delete|diff|get|list|move|publish|purge|put|recover|redeliver|reject|restore|revoke|rotate|search|stream|test|update|upload|withdraw)([A-Z][a-z]+)*$`)
)

// collection is where the Postman collection lies.
const collection = "../../docs/recipes/postman.json"

func TestPostman_HasEveryOperation(t *testing.T) {
	want := append(postman(openAPI(t)), '\n')
	if *update {
		if err := os.WriteFile(filepath.FromSlash(collection), want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(filepath.FromSlash(collection))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/recipes/postman.json is not made of openapi.yaml, run: go test ./internal/httpapi -run TestPostman -update")
	}
	has := requestsOf(t, got)
	for _, r := range httpapi.New(httpapi.Config{}).Operations() {
		if !has[r.Method+" {{baseUrl}}"+pathVariable.ReplaceAllString(r.Path, ":$1")] {
			t.Errorf("the collection lacks %s %s", r.Method, r.Path)
		}
	}
}

// requestsOf are the requests of a collection, each as its method and address. Whatever one needs beside its
// path it has.
func requestsOf(t *testing.T, collection []byte) map[string]bool {
	t.Helper()
	type pair struct {
		Key, Value string
		Disabled   bool
	}
	var all struct {
		Item []struct {
			Item []struct {
				Request struct {
					Method string
					Header []pair
					URL    struct {
						Raw   string
						Query []pair
					}
				}
			}
		}
	}
	if err := json.Unmarshal(collection, &all); err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, folder := range all.Item {
		for _, item := range folder.Item {
			r := item.Request
			out[r.Method+" "+r.URL.Raw] = true
			for _, p := range slices.Concat(r.URL.Query, r.Header) {
				if !p.Disabled && (p.Value == "" || p.Value == "<nil>") {
					t.Errorf("%s %s sends %s without a value: give it an example in openapi.yaml", r.Method, r.URL.Raw, p.Key)
				}
			}
		}
	}
	return out
}

var pathVariable = regexp.MustCompile(`\{(\w+)\}`)

// object is a part of the collection, whose names are sorted when it is written.
type object = map[string]any

// postman returns the document as a collection: a folder for each tag, a request for each
// operation.
func postman(root node) []byte {
	folders := map[string][]any{}
	for _, path := range root.at("paths").keys() {
		for _, method := range []string{"get", "head", "options", "post", "put", "patch", "delete"} {
			op := root.at("paths", path, method)
			if op.value == nil {
				continue
			}
			tag := op.at("tags").texts()[0]
			folders[tag] = append(folders[tag], postmanItem(root, op, method, path))
		}
	}
	var items []any
	for _, tag := range root.at("tags").items() {
		if name := tag.at("name").value.(string); len(folders[name]) > 0 {
			items = append(items, object{"name": name, "description": tag.at("description").value, "item": folders[name]})
		}
	}
	bearer := object{"type": "bearer", "bearer": []any{object{"key": "token", "value": "{{apiKey}}", "type": "string"}}}
	b, err := json.MarshalIndent(object{
		"info": object{"name": "Sheaf API", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json",
			"description": "Set the variables baseUrl and apiKey, then send \"Who am I\"."},
		"auth": bearer,
		"variable": []any{
			object{"key": "baseUrl", "value": root.at("servers").items()[0].at("url").value},
			object{"key": "apiKey", "value": ""},
		},
		"item": items,
	}, "", "  ")
	if err != nil {
		panic(err) // it was JSON before
	}
	return b
}

func postmanItem(root, op node, method, path string) any {
	address := pathVariable.ReplaceAllString(path, ":$1")
	where := object{"raw": "{{baseUrl}}" + address, "host": []any{"{{baseUrl}}"},
		"path": strings.Split(strings.TrimPrefix(address, "/"), "/")}
	var query, variables, headers []any
	for _, p := range slices.Concat(root.at("paths", path, "parameters").items(), op.at("parameters").items()) {
		name, about := p.at("name").value, p.at("description").value
		part := object{"key": name, "value": "", "description": about}
		if p.at("in").value == "path" {
			variables = append(variables, part)
			continue
		}
		if p.at("required").value == true { // it is sent, with the value of the example
			part["value"] = fmt.Sprint(p.at("example").value)
		} else {
			part["disabled"] = true
		}
		if p.at("in").value == "query" {
			query = append(query, part)
		} else {
			headers = append(headers, part)
		}
	}
	request := object{"method": strings.ToUpper(method), "url": where, "description": op.at("description").value}
	if len(query) > 0 {
		where["query"] = query
	}
	if len(variables) > 0 {
		where["variable"] = variables
	}
	if example := op.at("requestBody", "content", "application/json", "examples"); example.value != nil {
		headers = append(headers, object{"key": "Content-Type", "value": "application/json"})
		body, err := json.MarshalIndent(example.at(example.keys()[0], "value").value, "", "  ")
		if err != nil {
			panic(err) // it was JSON before
		}
		request["body"] = object{"mode": "raw", "raw": string(body), "options": object{"raw": object{"language": "json"}}}
	}
	if len(headers) > 0 {
		request["header"] = headers
	}
	return object{"name": op.at("summary").value, "request": request, "response": []any{}}
}
