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

// enough is how many exchanges of one shape are held against the document. The suite makes tens of
// thousands, of a few thousand shapes; each check costs more than the exchange itself, and under the
// race detector ten times as much.
const enough = 3

// isEnough counts the exchanges with the shape of this one. It reports whether `enough` of them have
// been checked, so that one more would show nothing new.
func (c *Document) isEnough(operation string, r *http.Request, sent []byte, res Answer) bool {
	key := fmt.Sprint(operation, res.Status, slices.Sorted(maps.Keys(r.URL.Query())), slices.Sorted(maps.Keys(r.Header)),
		slices.Sorted(maps.Keys(res.Header)), shapeOf(sent), shapeOf(res.Body))
	c.counting.Lock()
	defer c.counting.Unlock()
	c.shapes[key]++
	return c.shapes[key] > enough
}

// shapeOf is what is alike in two bodies that a schema cannot tell apart, but for bounds of values:
// the names and the kinds of values, and of strings also their form.
func shapeOf(body []byte) string {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return fmt.Sprintf("%q", body) // each its own
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
