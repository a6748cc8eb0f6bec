package openapitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// enough is the number of exchanges of one shape that are checked against the document. The suite
// makes tens of thousands of exchanges, of a few thousand shapes. A check costs more than the
// exchange itself, and ten times as much under the race detector.
const enough = 3

// isEnough counts the exchanges with the shape of this one. It reports whether `enough` of them
// have been checked, so that one more would show nothing new.
func (c *Document) isEnough(operation string, r *http.Request, sent []byte, res Answer) bool {
	key := fmt.Sprint(operation, res.Status, slices.Sorted(maps.Keys(r.URL.Query())), slices.Sorted(maps.Keys(r.Header)),
		slices.Sorted(maps.Keys(res.Header)), shapeOf(sent), shapeOf(res.Body))
	c.counting.Lock()
	defer c.counting.Unlock()
	c.shapes[key]++
	return c.shapes[key] > enough
}

// shapeOf returns the same text for bodies that a schema does not distinguish, except by bounds of
// values: the names, the types of values, and the form of strings.
func shapeOf(body []byte) string {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return fmt.Sprintf("%q", body) // every such body is a shape of its own
	}
	var b strings.Builder
	writeShape(&b, v)
	return b.String()
}

var (
	isID   = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	isTime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
	isWord = regexp.MustCompile(`^[a-z]+([._:][a-z]+)*$`) // it may be one of a list
)

func writeShape(b *strings.Builder, v any) {
	switch v := v.(type) {
	case map[string]any:
		b.WriteByte('{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			fmt.Fprintf(b, "%q:", name)
			writeShape(b, v[name])
		}
		b.WriteByte('}')
	case []any:
		shapes := map[string]bool{}
		for _, item := range v {
			var one strings.Builder
			writeShape(&one, item)
			shapes[one.String()] = true
		}
		fmt.Fprint(b, slices.Sorted(maps.Keys(shapes)))
	case string:
		switch {
		case isID.MatchString(v):
			b.WriteString("id")
		case isTime.MatchString(v):
			b.WriteString("time")
		case isWord.MatchString(v):
			b.WriteString(v)
		default:
			fmt.Fprintf(b, "text%t", v == "")
		}
	case float64:
		fmt.Fprintf(b, "number%t%t", v < 0, v == float64(int64(v)))
	default:
		fmt.Fprint(b, v) // null, true, false
	}
}
