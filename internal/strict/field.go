package strict

import (
	"bytes"
	"math"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sheaf.dev/internal/sheaf"
)

// Has reports whether the field is there, null included.
func (o Object) Has(name string) bool { return o.find(name) != nil }

// Names returns the names of the fields in the order they were sent.
func (o Object) Names() []string {
	names := make([]string, len(o.members))
	for i, m := range o.members {
		names[i] = string(m.name.in(o.body, o.escaped))
	}
	return names
}

// Fields reads the fields of an object one after the other and keeps the first error, so that a
// whole body is read in one expression, and the caller asks Err once:
//
//	f := object.Fields()
//	change := sheaf.DocumentChange{Title: f.Text("title"), ProjectID: strict.ID[sheaf.ProjectID](f, "project_id")}
//	return change, f.Err()
//
// Every method returns the field absent, null or with its value. After an error, the returned
// values have no meaning. If there are several errors, the order of the calls decides which one
// is reported, not the order in the body.
type Fields struct {
	object Object
	err    error
	// stands reports whether a text may stand for an identifier; nil: none may.
	stands func(text string) bool
}

// Fields begins to read the object's fields.
func (o Object) Fields() *Fields { return &Fields{object: o} }

// LetStand makes ID take also texts that are no identifiers and stand for one, as they are.
func (f *Fields) LetStand(may func(text string) bool) *Fields {
	f.stands = may
	return f
}

// Err returns the first error: a *FieldError, or what was given to Refuse.
func (f *Fields) Err() error { return f.err }

// Refuse keeps an error of the caller's own, such as that a field is required, unless there is one
// already or it is nil.
func (f *Fields) Refuse(err error) {
	if f.err == nil {
		f.err = err
	}
}

// Text reads a string, decoded and otherwise exactly as sent.
func (f *Fields) Text(name string) Opt[string] {
	return read(f, name, text)
}

// Int reads a whole number from min to max. JSON has one type of number, so 1.0 and 1e3 are whole;
// a fraction or a number outside the range is refused, however many digits it has.
func (f *Fields) Int(name string, min, max int64) Opt[int64] {
	return read(f, name, func(name string, v jsontext.Value) (int64, error) {
		if v.Kind() != jsontext.KindNumber {
			return 0, wrongType(name, "a whole number", v)
		}
		n, ok := integer(v)
		if !ok || n < min || n > max {
			return 0, &FieldError{shown(name), wholeNumber(min, max)}
		}
		return n, nil
	})
}

// Int32 is Int for whatever 32 bits hold.
func (f *Fields) Int32(name string) Opt[int32] {
	n := f.Int(name, math.MinInt32, math.MaxInt32)
	return Opt[int32]{Set: n.Set, Null: n.Null, Value: int32(n.Value)}
}

// Bool reads true or false.
func (f *Fields) Bool(name string) Opt[bool] {
	return read(f, name, func(name string, v jsontext.Value) (bool, error) {
		if kind := v.Kind(); kind != jsontext.KindTrue && kind != jsontext.KindFalse {
			return false, wrongType(name, "true or false", v)
		}
		return v[0] == 't', nil
	})
}

// Texts reads an array of strings. A null among them is refused. The slice is never nil when there
// is a value.
func (f *Fields) Texts(name string) Opt[[]string] {
	return read(f, name, texts)
}

// TextMap reads an object whose values are strings, in the order they were sent. A null among them
// is refused. The slice is never nil when there is a value; names are unique.
func (f *Fields) TextMap(name string) Opt[[]Pair] {
	return read(f, name, pairs)
}

// TextPatch is TextMap for what is merged: a null among the values is one that is to go.
func (f *Fields) TextPatch(name string) Opt[[]PatchPair] {
	return read(f, name, patchPairs)
}

// Raw reads an object and returns its bytes as sent: white space, the order of names and the digits
// of numbers untouched. The bytes are part of the parsed body and must not be changed.
func (f *Fields) Raw(name string) Opt[jsontext.Value] {
	return read(f, name, func(name string, v jsontext.Value) (jsontext.Value, error) {
		if v.Kind() != jsontext.KindBeginObject {
			return nil, wrongType(name, "an object", v)
		}
		return v, nil
	})
}

// RawArray is Raw for an array.
func (f *Fields) RawArray(name string) Opt[jsontext.Value] {
	return read(f, name, func(name string, v jsontext.Value) (jsontext.Value, error) {
		if v.Kind() != jsontext.KindBeginArray {
			return nil, wrongType(name, "an array", v)
		}
		return v, nil
	})
}

// Objects reads an array of objects. A null among them is refused. The slice is never nil when there is a
// value; each object is a view of the parsed body, as the whole is.
func (f *Fields) Objects(name string) Opt[[]Object] {
	return read(f, name, func(name string, v jsontext.Value) ([]Object, error) {
		if v.Kind() != jsontext.KindBeginArray {
			return nil, wrongType(name, "an array of objects", v)
		}
		list := []Object{}
		for d := inside(v); d.PeekKind() != jsontext.KindEndArray; {
			v, err := d.ReadValue()
			if err != nil {
				return nil, err
			}
			if v.Kind() != jsontext.KindBeginObject {
				return nil, &FieldError{shown(name) + "[" + strconv.Itoa(len(list)) + "]", "must be an object, not " + noun(v.Kind())}
			}
			o, err := ParseObject(bytes.Clone(v)) // the decoder's buffer changes
			if err != nil {
				return nil, err
			}
			list = append(list, o)
		}
		return list, nil
	})
}

// Object reads an object.
func (f *Fields) Object(name string) Opt[Object] {
	raw := f.Raw(name)
	if !raw.Given() {
		return Opt[Object]{Set: raw.Set, Null: raw.Null}
	}
	o, err := ParseObject(raw.Value)
	if err != nil {
		f.Refuse(err)
	}
	return Opt[Object]{Set: true, Value: o}
}

// IntIn reads the whole number `name`, from min to max, in the object `object`, where it is required. It is null
// if the object is null.
func (f *Fields) IntIn(object, name string, min, max int64) Opt[int64] {
	o := f.Object(object)
	if !o.Given() || f.err != nil {
		return Opt[int64]{Set: o.Set, Null: o.Null}
	}
	in := o.Value.Fields()
	n := in.Int(name, min, max)
	if !n.Given() || in.Err() != nil {
		f.Refuse(sheaf.InvalidField(object, "%s must be null, or {%q: %d to %d}", object, name, min, max))
	}
	return n
}

// Time reads a time as Time does, cut to milliseconds: more than that is not kept.
func (f *Fields) Time(name string) Opt[time.Time] {
	return read(f, name, func(name string, v jsontext.Value) (time.Time, error) {
		s, err := text(name, v)
		if err != nil {
			return time.Time{}, err
		}
		t, err := Time(s)
		if err != nil {
			return t, sheaf.InvalidField(name, "%s %s", name, err)
		}
		return t.Truncate(time.Millisecond), nil
	})
}

// ID reads an identifier.
func ID[T ~string](f *Fields, name string) Opt[T] {
	return read(f, name, func(name string, v jsontext.Value) (T, error) {
		s, err := text(name, v)
		if err != nil {
			return "", err
		}
		id, ok := sheaf.ParseUUID(s)
		switch {
		case ok:
			return T(id), nil
		case f.stands != nil && f.stands(s):
			return T(s), nil
		}
		return "", sheaf.InvalidField(name, "%s must be a UUID or null", name)
	})
}

// IDs reads an array of identifiers. A null among them is refused.
func IDs[T ~string](f *Fields, name string) Opt[[]T] {
	return read(f, name, func(name string, v jsontext.Value) ([]T, error) {
		list, err := texts(name, v)
		if err != nil {
			return nil, err
		}
		out := make([]T, len(list))
		for i, s := range list {
			id, ok := sheaf.ParseUUID(s)
			if !ok {
				return nil, sheaf.InvalidField(name+"["+strconv.Itoa(i)+"]", "%s[%d] must be a UUID", name, i)
			}
			out[i] = T(id)
		}
		return out, nil
	})
}

// read finds a field, and parses it unless it is absent or null.
func read[T any](f *Fields, name string, parse func(string, jsontext.Value) (T, error)) Opt[T] {
	v := f.object.find(name)
	if v == nil {
		return Opt[T]{}
	}
	if v.Kind() == jsontext.KindNull {
		return Opt[T]{Set: true, Null: true}
	}
	value, err := parse(name, v)
	if err != nil {
		f.Refuse(err)
		return Opt[T]{}
	}
	return Opt[T]{Set: true, Value: value}
}

// find returns the value of a field, or nil. The capacity ends with the value, so that appending to
// it copies.
func (o Object) find(name string) jsontext.Value {
	for _, m := range o.members {
		if string(m.name.in(o.body, o.escaped)) == name {
			return jsontext.Value(o.body[m.value:m.end:m.end])
		}
	}
	return nil
}

func wrongType(field, want string, got jsontext.Value) error {
	return &FieldError{shown(field), "must be " + want + ", not " + noun(got.Kind())}
}

// text reads a string.
func text(field string, v jsontext.Value) (string, error) {
	if v.Kind() != jsontext.KindString {
		return "", wrongType(field, "a string", v)
	}
	return unquote(v), nil
}

// unquote decodes a string literal that ParseObject has accepted.
func unquote(literal []byte) string {
	if bytes.IndexByte(literal, '\\') < 0 {
		return string(literal[1 : len(literal)-1])
	}
	b, _ := jsontext.AppendUnquote(nil, literal)
	return string(b)
}

// texts decodes an array that ParseObject has accepted.
func texts(field string, v jsontext.Value) ([]string, error) {
	if v.Kind() != jsontext.KindBeginArray {
		return nil, wrongType(field, "an array of strings", v)
	}
	d := inside(v)
	list := []string{}
	for d.PeekKind() != jsontext.KindEndArray {
		v, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		if v.Kind() != jsontext.KindString {
			return nil, &FieldError{shown(field) + "[" + strconv.Itoa(len(list)) + "]", "must be a string, not " + noun(v.Kind())}
		}
		list = append(list, unquote(v))
	}
	return list, nil
}

// pairs decodes an object that ParseObject has accepted, and refuses a null in it.
func pairs(field string, v jsontext.Value) ([]Pair, error) {
	merged, err := patchPairs(field, v)
	if err != nil {
		return nil, err
	}
	list := make([]Pair, len(merged))
	for i, p := range merged {
		if p.Value == nil {
			return nil, &FieldError{shown(field, p.Name), "must be a string, not null"}
		}
		list[i] = Pair{p.Name, *p.Value}
	}
	return list, nil
}

// patchPairs decodes an object that ParseObject has accepted.
func patchPairs(field string, v jsontext.Value) ([]PatchPair, error) {
	if v.Kind() != jsontext.KindBeginObject {
		return nil, wrongType(field, "an object of strings", v)
	}
	d := inside(v)
	list := []PatchPair{}
	for d.PeekKind() != jsontext.KindEndObject {
		v, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		name := unquote(v)
		if v, err = d.ReadValue(); err != nil {
			return nil, err
		}
		switch v.Kind() {
		case jsontext.KindString:
			text := unquote(v)
			list = append(list, PatchPair{name, &text})
		case jsontext.KindNull:
			list = append(list, PatchPair{name, nil})
		default:
			return nil, &FieldError{shown(field, name), "must be a string, not " + noun(v.Kind())}
		}
	}
	return list, nil
}

// inside returns a decoder that has read the opening delimiter of v.
func inside(v jsontext.Value) *jsontext.Decoder {
	d := jsontext.NewDecoder(bytes.NewBuffer(v), jsontext.AllowDuplicateNames(true))
	_, _ = d.ReadToken()
	return d
}
