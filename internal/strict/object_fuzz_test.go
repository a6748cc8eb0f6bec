package strict_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"sheaf.dev/internal/strict"
)

// FuzzParseObject holds ParseObject against encoding/json: what is accepted means the same there,
// and what is refused breaks a rule that encoding/json, or a second look at its tokens, also sees.
func FuzzParseObject(f *testing.F) {
	for _, seed := range []string{
		smallBody, `{"name":"a","name":"b"}`, `{"NAME":"a","AdMiN":true}`, "{\"ſ\":1}", "{\"name\":\"a\xffb\"}",
		`{"name":"\ud800"}`, `{"name":"\ud83d\ude00"}`, `{"name":"a\u0000b","x":"\\u0000"}`, "{\"name\":\"a\x00b\"}",
		"\ufeff{\"name\":\"a\"}", `{"name":"a"} {"name":"b"}`, `null`, `{"n":99999999999999999999999}`, `{"n":1e3}`,
		`{"n":-12.50e1}`, `{"f":1e400}`, `{"n\u0061me":"x"}`, `{"x":` + strings.Repeat("[", 31) + strings.Repeat("]", 31) + `}`,
		`{"x":` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + `}`, `{"l":["a",null],"m":{"a":"b","c":1},"r":{"x":{}}}`,
		`{"":{"":[[],{"":1}]}}`, `{"a":1,}`, `{"a"`, "", " ",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		sent := bytes.Clone(body)
		o, err := strict.ParseObject(body)
		if !bytes.Equal(sent, body) {
			t.Fatal("the body was changed")
		}
		if err != nil {
			checkRefusal(t, body, err)
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatalf("accepted what encoding/json refuses: %v", err)
		}
		for name, raw := range want {
			checkField(t, o, name, raw)
		}
	})
}

// checkRefusal fails if nothing is wrong with the body.
func checkRefusal(t *testing.T, body []byte, err error) {
	if len(err.Error()) > 700 || !utf8.ValidString(err.Error()) || strings.ContainsRune(err.Error(), 0) {
		t.Fatalf("an unfit sentence: %q", err)
	}
	if json.Valid(body) && utf8.Valid(body) && bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) && obeys(body) {
		t.Fatalf("refused without cause: %v", err)
	}
}

// obeys reports whether valid JSON has unique names, no NUL, no half surrogate and at most 32
// levels. It may err towards false: a replacement character counts as a half surrogate.
func obeys(body []byte) bool {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	type level struct {
		names map[string]bool // nil for an array
		value bool            // a value comes next
	}
	var stack []level
	for {
		token, err := d.Token()
		if err != nil {
			return true
		}
		top := len(stack) - 1
		name, isText := token.(string)
		if isText && strings.ContainsAny(name, "\x00\ufffd") {
			return false
		}
		switch {
		case token == json.Delim('}') || token == json.Delim(']'):
			stack = stack[:top]
			continue
		case top >= 0 && stack[top].names != nil && !stack[top].value:
			if stack[top].names[name] {
				return false
			}
			stack[top].names[name], stack[top].value = true, true
			continue
		case top >= 0:
			stack[top].value = false
		}
		switch token {
		case json.Delim('{'):
			stack = append(stack, level{names: map[string]bool{}})
		case json.Delim('['):
			stack = append(stack, level{})
		}
		if len(stack) > strict.MaxDepth {
			return false
		}
	}
}

// checkField reads a field by every accessor and compares what is accepted with encoding/json.
func checkField(t *testing.T, o strict.Object, name string, raw json.RawMessage) {
	var want any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&want); err != nil {
		t.Fatal(err)
	}
	text, textErr := one(o, (*strict.Fields).Text, name)
	truth, boolErr := one(o, (*strict.Fields).Bool, name)
	n, intErr := whole(o, name, math.MinInt64, math.MaxInt64)
	object, rawErr := one(o, (*strict.Fields).Raw, name)
	if !o.Has(name) {
		t.Fatalf("%q is not there", name)
	}
	if want == nil {
		if !text.Null || !truth.Null || !n.Null || !object.Null {
			t.Fatalf("%q is not null", name)
		}
		return
	}
	s, isText := want.(string)
	b, isBool := want.(bool)
	number, isNumber := want.(json.Number)
	_, isObject := want.(map[string]any)
	if (textErr == nil) != isText || text.Value != s || (boolErr == nil) != isBool || truth.Value != b {
		t.Fatalf("%q: got text %q, %v, boolean %v, %v, want %v", name, text.Value, textErr, truth.Value, boolErr, want)
	}
	if (rawErr == nil) != isObject || isObject && !bytes.Equal(object.Value, raw) {
		t.Fatalf("%q: got raw %s, %v, want %s", name, object.Value, rawErr, raw)
	}
	if !isNumber {
		if intErr == nil {
			t.Fatalf("%q: got whole number %d, want a refusal", name, n.Value)
		}
	} else if exact := exactInt(number.String()); exact != nil {
		if whole := exact.IsInt() && exact.Num().IsInt64(); whole != (intErr == nil) || whole && exact.Num().Int64() != n.Value {
			t.Fatalf("%q: got whole number %d, %v, want %s", name, n.Value, intErr, number)
		}
	}
	checkTexts(t, o, name, want)
}

var smallExponent = regexp.MustCompile(`^[^eE]*([eE][+-]?0*[0-9]{1,3})?$`)

// exactInt is the exact value of a JSON number, or nil if its exponent is too large to write out.
func exactInt(number string) *big.Rat {
	if !smallExponent.MatchString(number) {
		return nil
	}
	exact, _ := new(big.Rat).SetString(number)
	return exact
}

func checkTexts(t *testing.T, o strict.Object, name string, want any) {
	list, listErr := one(o, (*strict.Fields).Texts, name)
	elements, isList := want.([]any)
	for i, element := range elements {
		s, isText := element.(string)
		isList = isList && isText
		if listErr == nil && list.Value[i] != s {
			t.Fatalf("%q[%d]: got %q, want %v", name, i, list.Value[i], element)
		}
	}
	if (listErr == nil) != isList || listErr == nil && len(list.Value) != len(elements) {
		t.Fatalf("%q: got %q, %v, want %v", name, list.Value, listErr, want)
	}
	pairs, pairsErr := one(o, (*strict.Fields).TextMap, name)
	members, isMap := want.(map[string]any)
	for _, member := range members {
		_, isText := member.(string)
		isMap = isMap && isText
	}
	if (pairsErr == nil) != isMap || pairsErr == nil && len(pairs.Value) != len(members) {
		t.Fatalf("%q: got %q, %v, want %v", name, pairs.Value, pairsErr, want)
	}
	for _, pair := range pairs.Value {
		if members[pair.Name] != pair.Value {
			t.Fatalf("%q.%q: got %q, want %v", name, pair.Name, pair.Value, members[pair.Name])
		}
	}
}
