package strict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deeply a body may nest; the outer object counts as 1.
const MaxDepth = 32

// Object is a JSON object that obeys the rules of ParseObject. Fields reads what stands in it;
// names match by exact case, fields nobody asks for are ignored. It is a view of the parsed bytes:
// they must not change while it, or a value that Raw returned, is in use.
type Object struct {
	body    []byte
	escaped []byte // the names that were sent with escapes, decoded, one after the other
	members []member
}

// member says where a name and its value lie. Offsets keep a body of a million members small.
type member struct {
	name       span
	value, end uint32 // offsets of the value in the body
}

// ParseObject reads a body that is one JSON object. Every error is a *FieldError: an empty body, a
// byte order mark, a value that is no object, malformed JSON, data after the object, nesting deeper
// than MaxDepth, and, at any depth, a name used twice in one object, invalid UTF-8, half a
// surrogate pair, or a NUL character.
//
// Time and memory grow linearly with the body, which the caller has bounded.
func ParseObject(body []byte) (Object, error) { return parse(body, false) }

// ParseEnvelope is ParseObject for a body whose inner objects the caller parses again by ParseObject.
// It lets NUL characters pass, so that they are refused where the inner object is read.
func ParseEnvelope(body []byte) (Object, error) { return parse(body, true) }

func parse(body []byte, nul bool) (Object, error) {
	if err := checkStart(body); err != nil {
		return Object{}, err
	}
	r := readers.Get().(*reader)
	r.reset(body)
	r.nul = r.nul && !nul
	o, err := r.whole()
	r.release()
	if err != nil {
		return Object{}, err
	}
	return o, nil
}

// checkStart refuses a body that is empty, begins with a byte order mark, or is too large for the
// reader's offsets.
func checkStart(body []byte) error {
	switch {
	case len(bytes.Trim(body, " \t\r\n")) == 0:
		return &FieldError{"body", "is empty: send one JSON object"}
	case bytes.HasPrefix(body, []byte("\ufeff")):
		return &FieldError{"body", "begins with a byte order mark: send the JSON without it"}
	case len(body) > math.MaxInt32:
		return &FieldError{"body", "is too large: send less than 2 GiB"}
	}
	return nil
}

// readers keeps readers, whose stacks are worth reusing.
var readers = sync.Pool{New: func() any { return new(reader) }}

// maxPooled is the largest body after which a reader is reused: what a larger one leaves behind may
// be huge.
const maxPooled = 64 << 10

// reader walks through one body, token by token, and refuses at the first that breaks a rule. Each
// of its methods begins where the one before ended.
type reader struct {
	d     jsontext.Decoder
	buf   bytes.Buffer // the body, not copied; d reads it
	body  []byte
	names names // names of the open objects
	nul   bool  // the body contains \u0000 somewhere, so that every string must be looked at
}

// reset readies the reader for another body.
func (r *reader) reset(body []byte) {
	r.body = body
	r.buf = *bytes.NewBuffer(body)
	r.d.Reset(&r.buf, jsontext.AllowDuplicateNames(true)) // names looks for duplicates
	r.names.reset(body)
	r.nul = bytes.Contains(body, []byte(`\u0000`))
}

// release puts the reader back for others, without the body, which belongs to the caller.
func (r *reader) release() {
	if len(r.body) > maxPooled {
		return
	}
	r.reset(nil)
	readers.Put(r)
}

// whole reads the body from its first byte to its last.
func (r *reader) whole() (Object, error) {
	if kind := r.d.PeekKind(); kind != jsontext.KindBeginObject {
		return Object{}, r.notObject(kind)
	}
	if err := r.begin(); err != nil {
		return Object{}, err
	}
	o := Object{body: r.body, members: make([]member, 0, 8)}
	r.names.open()
	for r.d.PeekKind() != jsontext.KindEndObject {
		m, err := r.member()
		if err != nil {
			return Object{}, err
		}
		o.members = push(o.members, m)
	}
	o.escaped = r.names.escaped
	if err := r.end(); err != nil {
		return Object{}, err
	}
	if len(bytes.Trim(r.body[r.d.InputOffset():], " \t\r\n")) > 0 {
		return Object{}, &FieldError{"body", "has more data after the JSON object: send one object and nothing else"}
	}
	return o, nil
}

// notObject says what the body is instead.
func (r *reader) notObject(kind jsontext.Kind) error {
	if kind != jsontext.KindBeginArray {
		if _, err := r.d.ReadValue(); err != nil {
			return r.syntax(err)
		}
	}
	return &FieldError{"body", "must be a JSON object, not " + noun(kind)}
}

// value reads the next value of any kind. Its calls of itself are bounded by MaxDepth.
func (r *reader) value() error {
	switch r.d.PeekKind() {
	case jsontext.KindBeginObject:
		return r.object()
	case jsontext.KindBeginArray:
		return r.array()
	}
	_, err := r.scalar()
	return err
}

// object skips an object and checks everything in it.
func (r *reader) object() error {
	if err := r.begin(); err != nil {
		return err
	}
	r.names.open()
	for r.d.PeekKind() != jsontext.KindEndObject {
		if _, err := r.member(); err != nil {
			return err
		}
	}
	r.names.close()
	return r.end()
}

// array skips an array and checks everything in it.
func (r *reader) array() error {
	if err := r.begin(); err != nil {
		return err
	}
	for r.d.PeekKind() != jsontext.KindEndArray {
		if err := r.value(); err != nil {
			return err
		}
	}
	return r.end()
}

// member reads a name, which the innermost object must not have yet, and its value.
func (r *reader) member() (m member, err error) {
	literal, err := r.scalar()
	if err != nil {
		return m, err
	}
	name, ok := r.names.add(literal, r.d.InputOffset())
	if !ok {
		return m, r.refuse("appears twice in the same object: send it once")
	}
	after := r.d.InputOffset()
	if err := r.value(); err != nil {
		return m, err
	}
	end := r.d.InputOffset()
	return member{name, r.valueStart(uint32(after)), uint32(end)}, nil
}

// valueStart skips the colon and the white space after a name that is known to have a value.
func (r *reader) valueStart(at uint32) uint32 {
	for {
		switch r.body[at] {
		case ':', ' ', '\t', '\r', '\n':
			at++
		default:
			return at
		}
	}
}

// begin reads an opening delimiter.
func (r *reader) begin() error {
	if _, err := r.d.ReadToken(); err != nil {
		return r.syntax(err)
	}
	if r.d.StackDepth() > MaxDepth {
		return r.refuse("is nested too deeply: a body may be " + strconv.Itoa(MaxDepth) + " levels deep")
	}
	return nil
}

// end reads a closing delimiter.
func (r *reader) end() error {
	if _, err := r.d.ReadToken(); err != nil {
		return r.syntax(err)
	}
	return nil
}

// refuse blames the name or value just read.
func (r *reader) refuse(text string) error {
	return &FieldError{path(&r.d, r.d.StackPointer()), text}
}

// scalar reads a name, or a value that is neither object nor array.
func (r *reader) scalar() (jsontext.Value, error) {
	v, err := r.d.ReadValue()
	if err != nil {
		return nil, r.syntax(err)
	}
	if r.nul && hasNUL(v) {
		return nil, r.refuse(nulText)
	}
	return v, nil
}

const (
	nulText       = "contains a NUL character: remove it"
	utf8Text      = "is not valid UTF-8: encode the text as UTF-8"
	surrogateText = `contains half of a \u surrogate pair: send the whole character`
)

// hasNUL reports whether a valid JSON string literal has the escape \u0000 (and not an escaped
// backslash before u0000).
func hasNUL(literal []byte) bool {
	for {
		i := bytes.IndexByte(literal, '\\')
		if i < 0 {
			return false
		}
		if bytes.HasPrefix(literal[i:], []byte(`\u0000`)) {
			return true
		}
		literal = literal[i+2:]
	}
}

// syntax turns a decoder's error into one for a person. The decoder's own kinds are few; what it
// found is read from the place it stopped at.
func (r *reader) syntax(err error) error {
	var se *jsontext.SyntacticError
	if !errors.As(err, &se) {
		// The input is in memory, so the only other error is io.EOF where a token was expected.
		return &FieldError{"body", "ends too early: send the whole JSON object"}
	}
	return &FieldError{path(&r.d, se.JSONPointer), r.why(se)}
}

// why says what is wrong at the place where the decoder stopped.
func (r *reader) why(se *jsontext.SyntacticError) string {
	at := min(int(se.ByteOffset), len(r.body))
	rest := r.body[at:]
	switch {
	case len(rest) > 0 && rest[0] == 0:
		return nulText
	case len(rest) > 0 && badUTF8(rest):
		return utf8Text
	case isSurrogate(rest):
		return surrogateText
	case se.Err == io.ErrUnexpectedEOF:
		return "ends too early: send the whole JSON object"
	}
	line, column := position(r.body[:at])
	return fmt.Sprintf("is not valid JSON at line %d, column %d: %v", line, column, se.Err)
}

func badUTF8(b []byte) bool {
	c, size := utf8.DecodeRune(b)
	return c == utf8.RuneError && size == 1
}

// isSurrogate reports whether b begins with the escape of half a surrogate pair, \ud800 to \udfff.
func isSurrogate(b []byte) bool {
	return len(b) >= 6 && b[0] == '\\' && b[1] == 'u' && b[2]|0x20 == 'd' && b[3] >= '8' && isHex(b[3]) && isHex(b[4]) && isHex(b[5])
}

// position is the line and column, from 1, of the character after before.
func position(before []byte) (line, column int) {
	start := bytes.LastIndexByte(before, '\n') + 1
	return 1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[start:])
}

// noun names a kind of value in a sentence, and is empty for what begins no value.
func noun(kind jsontext.Kind) string {
	switch kind {
	case jsontext.KindNull:
		return "null"
	case jsontext.KindTrue, jsontext.KindFalse:
		return "a boolean"
	case jsontext.KindString:
		return "a string"
	case jsontext.KindNumber:
		return "a number"
	case jsontext.KindBeginObject:
		return "an object"
	case jsontext.KindBeginArray:
		return "an array"
	}
	return ""
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}
