package strict_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

func TestParseObject_RefusesAndNamesTheField(t *testing.T) {
	t.Parallel()
	nest := func(n int) string { return `{"x":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}` }
	for _, tc := range []struct{ name, body, field, text string }{
		{"empty", "", "body", "empty"},
		{"white space alone", " \r\n\t", "body", "empty"},
		{"null", "null", "body", "must be a JSON object, not null"},
		{"array", "[1]", "body", "must be a JSON object, not an array"},
		{"string", `"a"`, "body", "must be a JSON object, not a string"},
		{"number", "1", "body", "must be a JSON object, not a number"},
		{"boolean", "true", "body", "must be a JSON object, not a boolean"},
		{"form", "name=a", "body", "line 1, column 2"},
		{"word", "hello", "body", "line 1, column 1"},
		{"byte order mark", "\ufeff{}", "body", "byte order mark"},
		{"UTF-16", "\xff\xfe{\x00}\x00", "body", "UTF-8"},
		{"closing alone", "}", "body", "not valid JSON"},
		{"open", "{", "body", "ends too early"},
		{"open after name", `{"a"`, "a", "ends too early"},
		{"open in string", `{"a":"b`, "a", "ends too early"},
		{"open in number", `{"a":1`, "body", "ends too early"},
		{"trailing object", `{"name":"a"} {"name":"b"}`, "body", "more data after"},
		{"trailing brace", `{}}`, "body", "more data after"},
		{"trailing comma", `{"a":1,}`, "body", "line 1, column 7"},
		{"comment", "{\n  // no\n}", "body", "line 2, column 3"},
		{"single quotes", `{'a':1}`, "body", "line 1, column 2"},
		{"NaN", `{"a":NaN}`, "a", "line 1, column 6"},
		{"leading zero", `{"a":01}`, "body", "line 1, column 7"},
		{"name not a string", `{1:2}`, "body", "name must be a string"},
		{"duplicate", `{"name":"a","name":"b"}`, "name", "appears twice"},
		{"duplicate by escape", `{"name":"a","n\u0061me":"b"}`, "name", "appears twice"},
		{"duplicate below", `{"payload":{"items":[0,{},{"name":1,"name":2}]}}`, "payload.items[2].name", "appears twice"},
		{"duplicate under digits", `{"0":{"1":[{"2":1,"2":2}]}}`, "0.1[0].2", "appears twice"},
		{"duplicate odd name", `{"a":{"b c":1,"b c":2}}`, `a["b c"]`, "appears twice"},
		{"duplicate empty name", `{"":1,"":2}`, `[""]`, "appears twice"},
		{"duplicate null", `{"a":null,"a":null}`, "a", "appears twice"},
		{"invalid UTF-8", "{\"name\":\"a\xffb\"}", "name", "UTF-8"},
		{"invalid UTF-8 in a name", "{\"a\":{\"b\xff\":1}}", "a", "UTF-8"},
		{"invalid UTF-8 below", "{\"a\":[\"\",\"\xc0\x80\"]}", "a[1]", "UTF-8"},
		{"UTF-8 of a surrogate", "{\"a\":\"\xed\xa0\x80\"}", "a", "UTF-8"},
		{"cut UTF-8", "{\"a\":\"\xe2\x82", "a", "UTF-8"},
		{"lone high surrogate", `{"name":"\ud800"}`, "name", "surrogate"},
		{"lone low surrogate", `{"name":"x\uDC00y"}`, "name", "surrogate"},
		{"two high surrogates", `{"a":["\ud800\ud800"]}`, "a[0]", "surrogate"},
		{"lone surrogate in a name", `{"\ud800":1}`, "body", "surrogate"},
		{"NUL escape", `{"name":"a\u0000b"}`, "name", "NUL"},
		{"NUL escape after a backslash", `{"name":"\\\u0000"}`, "name", "NUL"},
		{"NUL escape below", `{"p":{"i":[{"n":"\u0000"}]}}`, "p.i[0].n", "NUL"},
		{"NUL escape in a name", `{"p":{"a\u0000":1}}`, `p["a\x00"]`, "NUL"},
		{"raw NUL", "{\"name\":\"a\x00b\"}", "name", "NUL"},
		{"raw NUL in a name", "{\"a\x00\":1}", "body", "NUL"},
		{"raw NUL between", "{\"a\":1\x00}", "body", "NUL"},
		{"raw NUL after", "{}\x00", "body", "more data after"},
		{"control character", "{\"a\":\"\n\"}", "a", "control"},
		{"33 deep", nest(33), "x" + strings.Repeat("[0]", 31), "32 levels"},
		{"10000 deep", nest(10000), "x" + strings.Repeat("[0]", 31), "32 levels"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := strict.ParseObject([]byte(tc.body))
			wantFieldError(t, err, tc.field, tc.text)
		})
	}
}

// An envelope may hold NUL characters, and nothing else that an object may not: what is inside is parsed again.
func TestParseEnvelope_LetsNULPassAndNothingElse(t *testing.T) {
	t.Parallel()
	o, err := strict.ParseEnvelope([]byte(`{"p":{"n":"a\u0000"}}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = strict.ParseObject(o.Value("p"))
	wantFieldError(t, err, "n", "NUL")
	_, err = strict.ParseEnvelope([]byte(`{"p":{"n":"\u0000","n":1}}`))
	wantFieldError(t, err, "p.n", "appears twice")
}

func TestParseObject_FindsDuplicatesAmongManyNames(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 15, 16, 17, 31, 32, 33, 64, 65, 1000, 5000} {
		for _, twice := range []int{0, n / 2, n - 1} {
			var b strings.Builder
			b.WriteString(`{"before":{`)
			writeMembers(&b, n)
			b.WriteString(`},"again":[{`)
			writeMembers(&b, n)
			body := b.String()
			if _, err := strict.ParseObject([]byte(body + `}]}`)); err != nil {
				t.Fatalf("%d different names: %v", n, err)
			}
			name := fmt.Sprintf("n%d", twice)
			_, err := strict.ParseObject([]byte(body + `,"\u006e` + name[1:] + `":0}]}`))
			wantFieldError(t, err, "again[0]."+name, "appears twice")
		}
	}
}

// writeMembers writes n members, every third name with an escape.
func writeMembers(b *strings.Builder, n int) {
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		if i%3 == 0 {
			fmt.Fprintf(b, `"\u006e%d":{"n0":0}`, i)
		} else {
			fmt.Fprintf(b, `"n%d":{"n0":0}`, i)
		}
	}
}

func wantFieldError(t *testing.T, err error, field, text string) {
	t.Helper()
	var fe *strict.FieldError
	if !errors.As(err, &fe) {
		t.Fatalf("got error %v, want a FieldError on %s", err, field)
	}
	if fe.Field != field || !strings.Contains(fe.Text, text) {
		t.Fatalf("got field %q, text %q; want field %q and %q in the text", fe.Field, fe.Text, field, text)
	}
	if want := "`" + fe.Field + "` " + fe.Text; fe.Error() != want {
		t.Fatalf("got sentence %q, want %q", fe.Error(), want)
	}
}

func TestParseObject_Accepts(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		"{}",
		" \r\n\t{ } \n",
		`{"a":"\ud83d\ude00 \\u0000 \/"}`,
		`{"A":1,"a":2,"ſ":3,"s":4}`,
		`{"a":{"b":1},"c":{"b":2}}`,
		`{"x":` + strings.Repeat("[", 31) + strings.Repeat("]", 31) + `}`,
		`{"x":1e400,"y":99999999999999999999999,"z":-0.0}`,
		"{\"a\":\"\u2028\ufeff\"}",
	} {
		if _, err := strict.ParseObject([]byte(body)); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestParseObject_ErrorsStayShortWhateverWasSent(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 1<<20)
	for _, body := range []string{
		`{"` + long + `":1,"` + long + `":2}`,
		strings.Repeat(`{"`+long[:10000]+`":`, 33),
		strings.Repeat(`{"\u0007\u0007\u0007\u0007\u0007\u0007\u0007\u0007\u0007\u0007":`, 33),
	} {
		_, err := strict.ParseObject([]byte(body))
		if err == nil || len(err.Error()) > 500 {
			t.Errorf("got an error of %d bytes, want 1 to 500", len(fmt.Sprint(err)))
		}
	}
}

func parse(t testing.TB, body string) strict.Object {
	t.Helper()
	o, err := strict.ParseObject([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// one reads one field.
func one[T any](o strict.Object, read func(*strict.Fields, string) strict.Opt[T], name string) (strict.Opt[T], error) {
	f := o.Fields()
	return read(f, name), f.Err()
}

func whole(o strict.Object, name string, min, max int64) (strict.Opt[int64], error) {
	return one(o, func(f *strict.Fields, name string) strict.Opt[int64] { return f.Int(name, min, max) }, name)
}

func TestObject_ReadsValues(t *testing.T) {
	t.Parallel()
	o := parse(t, ` { "t":"a\u00e9\"\n" , "n\u0061me":"x","i":-3,"b":true,"f":false,"l":["a","\u0062"],"e":[],
		"m":{"z":"1","a\n":"2"},"r":{ "n" : 1.50 , "x":[ ] },"none":null }`)
	check := func(what string, got, want any, err error) {
		t.Helper()
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: error %v, (-want +got)\n%s", what, err, diff)
		}
	}
	text, err := one(o, (*strict.Fields).Text, "t")
	check("Text", text, strict.Opt[string]{Set: true, Value: "aé\"\n"}, err)
	text, err = one(o, (*strict.Fields).Text, "name")
	check("Text of an escaped name", text, strict.Opt[string]{Set: true, Value: "x"}, err)
	text, err = one(o, (*strict.Fields).Text, "Name")
	check("Text by another case", text, strict.Opt[string]{}, err)
	text, err = one(o, (*strict.Fields).Text, "none")
	check("null", text, strict.Opt[string]{Set: true, Null: true}, err)
	i, err := whole(o, "i", -3, 0)
	check("Int", i, strict.Opt[int64]{Set: true, Value: -3}, err)
	b, err := one(o, (*strict.Fields).Bool, "b")
	check("Bool", b, strict.Opt[bool]{Set: true, Value: true}, err)
	b, err = one(o, (*strict.Fields).Bool, "f")
	check("Bool", b, strict.Opt[bool]{Set: true}, err)
	l, err := one(o, (*strict.Fields).Texts, "l")
	check("Texts", l, strict.Opt[[]string]{Set: true, Value: []string{"a", "b"}}, err)
	l, err = one(o, (*strict.Fields).Texts, "e")
	check("no Texts", l, strict.Opt[[]string]{Set: true, Value: []string{}}, err)
	m, err := one(o, (*strict.Fields).TextMap, "m")
	check("TextMap", m, strict.Opt[[]strict.Pair]{Set: true, Value: []strict.Pair{{"z", "1"}, {"a\n", "2"}}}, err)
	r, err := one(o, (*strict.Fields).Raw, "r")
	check("Raw", r, strict.Opt[jsontext.Value]{Set: true, Value: jsontext.Value(`{ "n" : 1.50 , "x":[ ] }`)}, err)
	n, err := one(o, (*strict.Fields).Int32, "i")
	check("Int32", n, strict.Opt[int32]{Set: true, Value: -3}, err)
	check("Has", []bool{o.Has("none"), o.Has("name"), o.Has("nome")}, []bool{true, true, false}, nil)
}

func TestObjectRaw_AppendingDoesNotReachTheBody(t *testing.T) {
	t.Parallel()
	o := parse(t, `{"r":{},"n":"kept"}`)
	r, _ := one(o, (*strict.Fields).Raw, "r")
	_ = append(r.Value, "overwritten"...)
	if n, err := one(o, (*strict.Fields).Text, "n"); err != nil || n.Value != "kept" {
		t.Errorf("got %q, %v, want the text as sent", n.Value, err)
	}
}

func TestFields_ReadsIdentifiersAndTimes(t *testing.T) {
	t.Parallel()
	o := parse(t, `{"id":"01A1DDAF-e259-73b2-9c89-ccb127ef2bea","at":"2026-11-15T11:00:00.123456+01:00","none":null,"n":1,"s":"x"}`)
	id, err := one(o, strict.ID[sheaf.FolderID], "id")
	if err != nil || id != sheaf.Some[sheaf.FolderID]("01a1ddaf-e259-73b2-9c89-ccb127ef2bea") {
		t.Errorf("got %v, %v", id, err)
	}
	at, err := one(o, (*strict.Fields).Time, "at")
	if want := time.Date(2026, 11, 15, 10, 0, 0, 123e6, time.UTC); err != nil || !at.Set || at.Value != want {
		t.Errorf("got %v, %v", at, err)
	}
	if at, err := one(o, (*strict.Fields).Time, "none"); err != nil || !at.Null || at.Pointer() != nil {
		t.Errorf("got %v, %v", at, err)
	}
	for name, want := range map[string][2]string{
		"n": {"`n` must be a string, not a number", "`n` must be a string, not a number"},
		"s": {"s must be a UUID or null", "s must be an RFC 3339 time such as 2026-11-15T10:00:00.000Z"},
	} {
		_, id := one(o, strict.ID[string], name)
		_, at := one(o, (*strict.Fields).Time, name)
		if got := [2]string{id.Error(), at.Error()}; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestFields_KeepsTheFirstErrorInTheOrderOfAsking(t *testing.T) {
	t.Parallel()
	f := parse(t, `{"a":1,"b":2,"c":"x"}`).Fields()
	if f.Refuse(nil); f.Text("c").Value != "x" || f.Err() != nil {
		t.Fatalf("got %v", f.Err())
	}
	f.Text("b")
	f.Refuse(errors.New("mine"))
	f.Text("a")
	if got := f.Err().Error(); got != "`b` must be a string, not a number" {
		t.Errorf("got %s", got)
	}
	f = parse(t, `{"a":1}`).Fields()
	f.Refuse(errors.New("mine"))
	if f.Text("a"); f.Err().Error() != "mine" {
		t.Errorf("got %v", f.Err())
	}
}

func TestObject_WrongTypeNamesFieldAndTypes(t *testing.T) {
	t.Parallel()
	o := parse(t, `{"s":"a","n":1,"o":{"k":"v","q r":1},"a":["x",null],"b":true,"neg":{"k":null}}`)
	text := func(_ strict.Opt[string], err error) error { return err }
	number := func(_ strict.Opt[int64], err error) error { return err }
	boolean := func(_ strict.Opt[bool], err error) error { return err }
	texts := func(_ strict.Opt[[]string], err error) error { return err }
	pairs := func(_ strict.Opt[[]strict.Pair], err error) error { return err }
	raw := func(_ strict.Opt[jsontext.Value], err error) error { return err }
	for _, tc := range []struct {
		err  error
		want string
	}{
		{text(one(o, (*strict.Fields).Text, "n")), "`n` must be a string, not a number"},
		{text(one(o, (*strict.Fields).Text, "a")), "`a` must be a string, not an array"},
		{number(whole(o, "s", 0, 9)), "`s` must be a whole number, not a string"},
		{number(whole(o, "n", 2, 9)), "`n` must be a whole number from 2 to 9"},
		{number(whole(o, "n", 2, math.MaxInt64)), "`n` must be a whole number of at least 2"},
		{number(whole(o, "n", math.MinInt64, 0)), "`n` must be a whole number of at most 0"},
		{boolean(one(o, (*strict.Fields).Bool, "s")), "`s` must be true or false, not a string"},
		{texts(one(o, (*strict.Fields).Texts, "s")), "`s` must be an array of strings, not a string"},
		{texts(one(o, (*strict.Fields).Texts, "a")), "`a[1]` must be a string, not null"},
		{pairs(one(o, (*strict.Fields).TextMap, "a")), "`a` must be an object of strings, not an array"},
		{pairs(one(o, (*strict.Fields).TextMap, "o")), "`o[\"q r\"]` must be a string, not a number"},
		{pairs(one(o, (*strict.Fields).TextMap, "neg")), "`neg.k` must be a string, not null"},
		{raw(one(o, (*strict.Fields).Raw, "a")), "`a` must be an object, not an array"},
		{raw(one(o, (*strict.Fields).Raw, "b")), "`b` must be an object, not a boolean"},
	} {
		if tc.err == nil || tc.err.Error() != tc.want {
			t.Errorf("got %v, want %s", tc.err, tc.want)
		}
	}
}

func TestObjectInt_TakesEveryWholeNumberAndNoOther(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat("0", 1_000_000)
	for number, want := range map[string]int64{
		"0": 0, "-0": 0, "0.0": 0, "-0e9": 0, "0e99999999999999999999": 0, "1": 1, "1.0": 1, "1e3": 1000, "1E+3": 1000,
		"100e-2": 1, "1.50e1": 15, "0.001e3": 1, "10.5e1": 105, "9223372036854775807": math.MaxInt64,
		"-9223372036854775808": math.MinInt64, "922337203685477580.7e1": math.MaxInt64,
		"1" + zeros + "e-1000000": 1, "0." + zeros + "1e1000001": 1, "7." + zeros: 7,
	} {
		got, err := whole(parse(t, `{"n":`+number+`}`), "n", math.MinInt64, math.MaxInt64)
		if err != nil || got.Value != want {
			t.Errorf("%.40s: got %d, %v, want %d", number, got.Value, err, want)
		}
	}
	for _, number := range []string{
		"1.5", "1e-1", "0.1", "15e-1", "9223372036854775808", "-9223372036854775809", "1e19", "1e400", "1e99999999999999999999",
		"1e-99999999999999999999", "1" + zeros, zeros[1:2] + "." + zeros + "1", strings.Repeat("9", 1_000_000),
	} {
		_, err := whole(parse(t, `{"n":`+number+`}`), "n", math.MinInt64, math.MaxInt64)
		if err == nil || err.Error() != "`n` must be a whole number" {
			t.Errorf("%.40s: got %v, want a refusal", number, err)
		}
	}
}

func TestParseObject_LeavesTheBodyAloneAndMayRunConcurrently(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 200 {
				body := fmt.Appendf(nil, `{"n":"%d-%d","p":{"q":[1,2,"%s"]}}`, i, j, strings.Repeat("x", j))
				sent := bytes.Clone(body)
				o, err := strict.ParseObject(body)
				got, _ := one(o, (*strict.Fields).Text, "n")
				if err != nil || got.Value != fmt.Sprintf("%d-%d", i, j) || !bytes.Equal(body, sent) {
					t.Errorf("got %q, %v, body %s", got.Value, err, body)
				}
			}
		})
	}
	wg.Wait()
}

const smallBody = `{"name":"Quarterly report","description":"Numbers for the third quarter","icon":"chart",` +
	`"color":"#3366ff","folder_id":"0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b","visibility":"private","sort_order":12}`

func BenchmarkParseObject_SmallCreate(b *testing.B) {
	body := []byte(smallBody)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		o, err := strict.ParseObject(body)
		if err != nil {
			b.Fatal(err)
		}
		for _, name := range []string{"name", "description", "icon", "color", "folder_id", "visibility"} {
			if _, err := one(o, (*strict.Fields).Text, name); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := whole(o, "sort_order", 0, 1000); err != nil {
			b.Fatal(err)
		}
	}
}
