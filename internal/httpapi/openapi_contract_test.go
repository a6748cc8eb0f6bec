package httpapi_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The fields of each record in docs/contract.md are those of openapi.yaml.
func TestOpenAPI_HasTheFieldsOfTheContract(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	var api struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(fromYAML(t), &api); err != nil {
		t.Fatal(err)
	}
	// Where the page lists the fields of a schema: from after the first text to the second. Some are in two places.
	for schema, places := range map[string][][2]string{
		"Project":          {{"\n## Projects\n", "\n| Method"}},
		"EmbeddedDocument": {{"and `documents`: entries `{", "}`"}},
		"Folder":           {{"**D30 The record** is", ". "}},
		"Document":         {{"**D40 The record** is", ". "}},
		"Version":          {{"which is the present one:", ";"}},
		"Medium":           {{"201 is `{", "}`"}},
		"Hit":              {{"\n## Search\n", "\n| Method"}},
		"Share":            {{"\n## Shares\n", "\n| Method"}},
		"Branding":         {{"**D115 The record** is", ". "}},
		"DocumentEvent":    {{"| Field of the envelope", "\n| Method"}},
		"Subscription":     {{"\n## Webhook subscriptions\n", "\n| It is"}, {"**D64 The record** has", "; `secret`"}},
	} {
		var want []string
		for _, p := range places {
			_, rest, found := strings.Cut(string(page), p[0])
			text, _, ends := strings.Cut(rest, p[1])
			if !found || !ends {
				t.Fatalf("docs/contract.md has no %q … %q", p[0], p[1])
			}
			want = append(want, namedFields(text)...)
		}
		want = slices.DeleteFunc(want, func(name string) bool { return schema == "Subscription" && name == "secret" }) // in one answer only
		slices.Sort(want)
		got := slices.Sorted(maps.Keys(api.Components.Schemas[schema].Properties))
		if !slices.Equal(got, want) {
			t.Errorf("%s\nopenapi.yaml has %q\nthe contract has %q", schema, got, want)
		}
	}
}

// namedFields returns the fields that a part of the page names: in the first column of its table, in code
// outside of brackets, or, without any of these, as words.
func namedFields(text string) (names []string) {
	field := regexp.MustCompile("`([a-z_0-9]+)`")
	if rows := regexp.MustCompile("(?m)^\\| (`.*?) \\|").FindAllStringSubmatch(text, -1); rows != nil {
		for _, row := range rows {
			for _, m := range field.FindAllStringSubmatch(row[1], -1) {
				names = append(names, m[1])
			}
		}
		return names
	}
	for brackets := regexp.MustCompile(`\([^()]*\)`); brackets.MatchString(text); {
		text = brackets.ReplaceAllString(text, "")
	}
	for _, m := range field.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	if names == nil {
		return regexp.MustCompile(`[a-z_0-9]+`).FindAllString(text, -1)
	}
	return names
}
