package strict

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
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

// Text reads a string, decoded and otherwise exactly as sent.
func (o Object) Text(name string) (Opt[string], error) {
	return read(o, name, func(v jsontext.Value) (string, error) { return text(name, v) })
}

// Int reads a whole number from min to max. JSON has one type of number, so 1.0 and 1e3 are whole; a fraction or a
// number outside the range is refused, however many digits it has.
func (o Object) Int(name string, min, max int64) (Opt[int64], error) {
	return read(o, name, func(v jsontext.Value) (int64, error) {
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

// Bool reads true or false.
func (o Object) Bool(name string) (Opt[bool], error) {
	return read(o, name, func(v jsontext.Value) (bool, error) {
		if kind := v.Kind(); kind != jsontext.KindTrue && kind != jsontext.KindFalse {
			return false, wrongType(name, "true or false", v)
		}
		return v[0] == 't', nil
	})
}

// Texts reads an array of strings. A null among them is refused. The slice is never nil when there is a value.
func (o Object) Texts(name string) (Opt[[]string], error) {
	return read(o, name, func(v jsontext.Value) ([]string, error) {
		if v.Kind() != jsontext.KindBeginArray {
			return nil, wrongType(name, "an array of strings", v)
		}
		return texts(name, v)
	})
}

// TextMap reads an object whose values are strings, in the order they were sent. A null among them is refused. The
// slice is never nil when there is a value; names are unique.
func (o Object) TextMap(name string) (Opt[[]Pair], error) {
	return read(o, name, func(v jsontext.Value) ([]Pair, error) {
		if v.Kind() != jsontext.KindBeginObject {
			return nil, wrongType(name, "an object of strings", v)
		}
		return pairs(name, v)
	})
}

// Raw reads an object and returns its bytes as sent: white space, the order of names and the digits of numbers
// untouched. The bytes are part of the parsed body and must not be changed.
func (o Object) Raw(name string) (Opt[jsontext.Value], error) {
	return read(o, name, func(v jsontext.Value) (jsontext.Value, error) {
		if v.Kind() != jsontext.KindBeginObject {
			return nil, wrongType(name, "an object", v)
		}
		return v, nil
	})
}

// read finds a field and parses it unless it is absent or null.
func read[T any](o Object, name string, parse func(jsontext.Value) (T, error)) (Opt[T], error) {
	v := o.find(name)
	if v == nil {
		return Opt[T]{}, nil
	}
	if v.Kind() == jsontext.KindNull {
		return Opt[T]{Set: true, Null: true}, nil
	}
	value, err := parse(v)
	if err != nil {
		return Opt[T]{}, err
	}
	return Opt[T]{Set: true, Value: value}, nil
}

// find returns the value of a field, or nil. The capacity ends with the value, so that appending to it copies.
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

// pairs decodes an object that ParseObject has accepted.
func pairs(field string, v jsontext.Value) ([]Pair, error) {
	d := inside(v)
	list := []Pair{}
	for d.PeekKind() != jsontext.KindEndObject {
		v, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		name := unquote(v)
		if v, err = d.ReadValue(); err != nil {
			return nil, err
		}
		if v.Kind() != jsontext.KindString {
			return nil, &FieldError{shown(field, name), "must be a string, not " + noun(v.Kind())}
		}
		list = append(list, Pair{name, unquote(v)})
	}
	return list, nil
}

// inside returns a decoder that has read the opening delimiter of v.
func inside(v jsontext.Value) *jsontext.Decoder {
	d := jsontext.NewDecoder(bytes.NewBuffer(v), jsontext.AllowDuplicateNames(true))
	_, _ = d.ReadToken()
	return d
}
