package httpapi_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pythonTypes is where the types of the Python client lie.
const pythonTypes = "../../clients/python/src/sheaf/types.py"

// The Python client has no generator at run time and needs none to build: its types are written here,
// by the same command as the document's other forms.
func TestOpenAPI_JSON_IsInThePythonTypes(t *testing.T) {
	want := newPython(openAPI(t)).file()
	if *update {
		if err := os.WriteFile(filepath.FromSlash(pythonTypes), want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(filepath.FromSlash(pythonTypes))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("clients/python's types.py is not made of openapi.yaml, run: go test ./internal/httpapi -run TestOpenAPI_JSON -update")
	}
}

// python writes the schemas as Python's types: an object is a TypedDict, and a choice of words is a
// Literal. A schema that is plain text or a number gets no name, because Python has no use for one.
type python struct {
	schemas object
	written map[string]bool
	nested  map[string]bool // classes of objects inside other schemas
	choices strings.Builder // Literals, which all others may use
	classes strings.Builder // TypedDicts, each behind those that it extends
	unions  strings.Builder // what is one of several TypedDicts
}

func newPython(document node) *python {
	p := &python{schemas: document.at("components", "schemas").value.(object), written: map[string]bool{}, nested: map[string]bool{}}
	names := slices.Sorted(maps.Keys(p.schemas))
	for _, name := range names {
		if p.schemas[name].(object)["enum"] != nil {
			p.write(name)
		}
	}
	for _, name := range names {
		p.write(name)
	}
	return p
}

func (p *python) file() []byte {
	return []byte(`"""What the API takes and answers, made of its OpenAPI document: do not edit."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict, Union

` + p.choices.String() + p.classes.String() + p.unions.String())
}

// write gives a schema its name in Python, once.
func (p *python) write(name string) {
	if p.written[name] {
		return
	}
	p.written[name] = true
	schema := p.schemas[name].(object)
	switch {
	case schema["enum"] != nil:
		fmt.Fprintf(&p.choices, "%s = %s\n", name, p.literal(schema))
	case schema["oneOf"] != nil:
		fmt.Fprintf(&p.unions, "\n%s = Union[%s]\n", name, strings.Join(p.each(schema["oneOf"].([]any), name), ", "))
	case schema["allOf"] != nil:
		p.extension(name, schema)
	case schema["properties"] != nil:
		p.class(name, "TypedDict", schema)
	}
}

// extension writes a class that has the fields of another one, and more.
func (p *python) extension(name string, schema object) {
	base, fields := "TypedDict", object{"properties": object{}, "required": []any{}, "description": schema["description"]}
	for _, part := range schema["allOf"].([]any) {
		part := part.(object)
		if ref, ok := part["$ref"].(string); ok {
			base = last(ref)
			p.write(base)
			continue
		}
		maps.Copy(fields["properties"].(object), part["properties"].(object))
		required, _ := part["required"].([]any)
		fields["required"] = append(fields["required"].([]any), required...)
	}
	p.class(name, base, fields)
}

func (p *python) class(name, base string, schema object) {
	var b strings.Builder
	fmt.Fprintf(&b, "\n\nclass %s(%s):\n", name, base)
	if text, ok := schema["description"].(string); ok {
		fmt.Fprintf(&b, "    \"\"\"%s\"\"\"\n\n", strings.Join(strings.Fields(text), " "))
	}
	required, _ := schema["required"].([]any)
	properties := schema["properties"].(object)
	for _, field := range slices.Sorted(maps.Keys(properties)) {
		kind := p.kind(properties[field].(object), name+pascal(field))
		if !slices.Contains(required, any(field)) {
			kind = "NotRequired[" + kind + "]"
		}
		fmt.Fprintf(&b, "    %s: %s\n", field, kind)
	}
	p.classes.WriteString(b.String())
}

// kind is how Python writes a schema inside another one; an object without a name gets the one given.
func (p *python) kind(schema object, name string) string {
	if ref, ok := schema["$ref"].(string); ok {
		p.write(last(ref))
		return p.referred(last(ref))
	}
	if schema["enum"] != nil || schema["const"] != nil {
		return p.literal(schema)
	}
	if one, ok := schema["oneOf"].([]any); ok {
		return strings.Join(p.each(one, name), " | ")
	}
	var kinds []string
	for _, word := range words(schema["type"]) {
		kinds = append(kinds, p.plain(word, schema, name))
	}
	if len(kinds) == 0 {
		return "Any"
	}
	return strings.Join(kinds, " | ")
}

// referred returns the name of a schema or, if it has none in Python, the type that it stands for.
func (p *python) referred(name string) string {
	schema := p.schemas[name].(object)
	if schema["properties"] != nil && slices.Contains(words(schema["type"]), "null") {
		return name + " | None" // a class has no null in it, as a choice of words has
	}
	for _, named := range []string{"enum", "oneOf", "allOf", "properties"} {
		if schema[named] != nil {
			return name
		}
	}
	return p.kind(schema, name)
}

// plain is one of JSON's types.
func (p *python) plain(word string, schema object, name string) string {
	switch word {
	case "string":
		return "str"
	case "integer":
		return "int"
	case "number":
		return "float"
	case "boolean":
		return "bool"
	case "null":
		return "None"
	case "array":
		return "list[" + p.kind(schema["items"].(object), name+"Item") + "]"
	}
	if schema["properties"] != nil {
		if !p.nested[name] { // an array that several schemas refer to is written once
			p.nested[name] = true
			p.class(name, "TypedDict", schema)
		}
		return name
	}
	values := "Any"
	if v, ok := schema["additionalProperties"].(object); ok {
		values = p.kind(v, name+"Value")
	}
	for _, v := range asObject(schema["patternProperties"]) {
		values = p.kind(v.(object), name+"Value")
	}
	return "dict[str, " + values + "]"
}

// literal is a choice of words; None is one of them where null is.
func (p *python) literal(schema object) string {
	values, _ := schema["enum"].([]any)
	if values == nil {
		values = []any{schema["const"]}
	}
	var out []string
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			out = append(out, "None")
		case string:
			out = append(out, fmt.Sprintf("%q", v))
		default:
			out = append(out, fmt.Sprint(v)) // a number
		}
	}
	return "Literal[" + strings.Join(out, ", ") + "]"
}

func (p *python) each(schemas []any, name string) (out []string) {
	for _, s := range schemas {
		out = append(out, p.kind(s.(object), name))
	}
	return out
}

func last(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }

// words returns the one or more types of a schema.
func words(v any) (out []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, w := range v {
			out = append(out, w.(string))
		}
	}
	return out
}

// pascal writes rate_limit as RateLimit.
func pascal(field string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(field, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

func asObject(v any) object {
	o, _ := v.(object)
	return o
}
