package httpapi_test

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/httpapi"
)

// What generators of clients stumble over: oapi-codegen makes one type for each name, whatever kind
// it has, and none for what webhooks alone refer to; tools that import the file need an address.
// make clients runs the tools themselves.
func TestOpenAPI_SuitsGenerators(t *testing.T) {
	root := openAPI(t)
	kinds := map[string]string{}
	for _, kind := range []string{"schemas", "responses", "parameters"} {
		for _, name := range root.at("components", kind).keys() {
			if other, twice := kinds[name]; twice {
				t.Errorf("%s is in %s and in %s", name, other, kind)
			}
			kinds[name] = kind
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
	for _, r := range httpapi.New(httpapi.Config{}).Operations() {
		path := pathVariable.ReplaceAllString(r.Path, ":$1")
		if !bytes.Contains(got, []byte(`"raw": "{{baseUrl}}`+path)) {
			t.Errorf("the collection lacks %s %s", r.Method, r.Path)
		}
	}
}

var pathVariable = regexp.MustCompile(`\{(\w+)\}`)

// object is a part of the collection, whose names are sorted when it is written.
type object = map[string]any

// postman returns the document as a collection: a folder for each tag, a request for each
// operation.
func postman(root node) []byte {
	folders := map[string][]any{}
	for _, path := range root.at("paths").keys() {
		for _, method := range []string{"get", "post", "patch", "delete"} {
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
		switch p.at("in").value {
		case "query":
			query = append(query, object{"key": name, "value": "", "disabled": true, "description": about})
		case "path":
			variables = append(variables, object{"key": name, "value": "", "description": about})
		case "header":
			headers = append(headers, object{"key": name, "value": "", "disabled": true, "description": about})
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
