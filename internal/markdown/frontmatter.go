package markdown

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"sheaf.dev/internal/sheaf"
)

// fence is the line before and after front matter.
const fence = "---"

// cutFrontMatter splits a text that begins with front matter. One blank line after it belongs to
// it, because Format writes one.
func cutFrontMatter(text string) (block, rest string, ok bool) {
	first, after, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t\r") != fence {
		return "", "", false
	}
	for at := 0; at < min(len(after), maxFrontMatter); {
		line, _, more := strings.Cut(after[at:], "\n")
		end := at + len(line)
		if more {
			end++
		}
		if bare := strings.TrimRight(line, " \t\r"); bare == fence || bare == "..." {
			rest = after[end:]
			if without, cut := strings.CutPrefix(rest, "\r\n"); cut {
				return after[:at], without, true
			}
			return after[:at], strings.TrimPrefix(rest, "\n"), true
		}
		at = end
	}
	return "", "", false
}

// readFrontMatter reads the fields of a block. It returns false, and does not change the page, if
// the block is not valid YAML, not a mapping, has a name twice or contains an alias.
func (p *Page) readFrontMatter(block string) bool {
	var root yaml.Node
	if yaml.Unmarshal([]byte(block), &root) != nil {
		return false
	}
	if len(root.Content) == 0 {
		return strings.TrimSpace(block) == "" || onlyComments(block)
	}
	top := root.Content[0]
	fields, ok := pairs(top)
	if !ok || !plainTree(top, 0) {
		return false
	}
	read := Page{Content: p.Content, Metadata: map[string]string{}}
	for _, f := range fields {
		read.setField(f.name, f.value)
	}
	if len(read.Metadata) == 0 {
		read.Metadata = nil
	}
	*p = read
	return true
}

func onlyComments(block string) bool {
	for line := range strings.SplitSeq(block, "\n") {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return false
		}
	}
	return true
}

type field struct {
	name  string
	value *yaml.Node
}

// pairs returns the entries of a mapping. ok is false unless all names are scalars and differ.
func pairs(n *yaml.Node) (out []field, ok bool) {
	if n.Kind != yaml.MappingNode {
		return nil, false
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i]
		if name.Kind != yaml.ScalarNode || seen[name.Value] {
			return nil, false
		}
		seen[name.Value] = true
		out = append(out, field{name.Value, n.Content[i+1]})
	}
	return out, true
}

// plainTree reports whether a value can be turned into text: it is not deeply nested and has no
// aliases, which can make a short block expand without end.
func plainTree(n *yaml.Node, depth int) bool {
	if n.Kind == yaml.AliasNode || depth > 8 {
		return false
	}
	for _, c := range n.Content {
		if !plainTree(c, depth+1) {
			return false
		}
	}
	return true
}

// setField sets one entry of front matter.
func (p *Page) setField(name string, value *yaml.Node) {
	text := valueText(value)
	switch {
	case name == "title" && value.Kind == yaml.ScalarNode:
		if strings.TrimSpace(text) != "" {
			p.Title = text
		}
	case name == "description" && value.Kind == yaml.ScalarNode:
		p.Description = text
	case name == "url" && sheaf.CheckURL(text) == nil:
		p.URL = text
	case name == "metadata" && value.Kind == yaml.MappingNode:
		if nested, ok := pairs(value); ok {
			for _, f := range nested {
				p.setMetadata(f.name, valueText(f.value))
			}
			return
		}
		p.setMetadata(name, text)
	default:
		p.setMetadata(name, text)
	}
}

// setMetadata adds an entry under a valid name. The names that only this package writes (pathName,
// placesName) are ignored.
func (p *Page) setMetadata(name, value string) {
	name = metadataName(name)
	if name == pathName || name == placesName {
		return
	}
	if len(p.Metadata) > sheaf.MaxMetadata/len(`"a":"",`) {
		return // check refuses such metadata, and finding a free name would take longer and longer
	}
	free := name
	for n := 2; ; n++ {
		if _, taken := p.Metadata[free]; !taken {
			break
		}
		suffix := fmt.Sprintf("_%d", n)
		free = clip(name, sheaf.MaxMetadataName-len(suffix)) + suffix
	}
	p.Metadata[free] = value
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

// metadataName returns the most similar name that is valid in metadata.
func metadataName(name string) string {
	name = clip(notInNames.ReplaceAllString(name, "_"), sheaf.MaxMetadataName)
	if name == "" {
		return "_"
	}
	return name
}

// valueText returns a value as metadata text: numbers and times as written, "" for null, a list of
// scalars joined by commas, and anything else as JSON.
func valueText(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return ""
	case n.Kind == yaml.ScalarNode:
		return n.Value
	case n.Kind == yaml.SequenceNode && !slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return c.Kind != yaml.ScalarNode }):
		words := make([]string, len(n.Content))
		for i, c := range n.Content {
			words[i] = valueText(c)
		}
		return strings.Join(words, ", ")
	}
	return string(encodeJSON(jsonValue(n)))
}

// jsonValue returns a value for JSON in which all scalars are texts.
func jsonValue(n *yaml.Node) any {
	switch n.Kind {
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, c := range n.Content {
			list[i] = jsonValue(c)
		}
		return list
	case yaml.MappingNode:
		object := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			object[valueText(n.Content[i])] = jsonValue(n.Content[i+1])
		}
		return object
	}
	return valueText(n)
}

func encodeJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // texts, and lists and objects of texts
	return bytes.TrimSpace(b.Bytes())
}

func encodeMetadata(m map[string]string) []byte {
	if len(m) == 0 {
		return nil
	}
	return encodeJSON(m)
}

// fieldNames are names with a special meaning at the top level of front matter. Metadata with these
// names is written one level deeper.
var fieldNames = []string{"title", "description", "url", "metadata"}

// writeFrontMatter writes the fields: the document's own, then the metadata by name.
func (p Page) writeFrontMatter(b *strings.Builder) {
	writeField(b, "", "title", p.Title)
	if p.Description != "" {
		writeField(b, "", "description", p.Description)
	}
	if p.URL != "" {
		writeField(b, "", "url", p.URL)
	}
	var deeper []string
	for _, name := range slices.Sorted(maps.Keys(p.Metadata)) {
		if slices.Contains(fieldNames, name) {
			deeper = append(deeper, name)
			continue
		}
		writeField(b, "", name, p.Metadata[name])
	}
	if len(deeper) > 0 {
		b.WriteString("metadata:\n")
	}
	for _, name := range deeper {
		writeField(b, "  ", name, p.Metadata[name])
	}
}

func writeField(b *strings.Builder, indent, name, value string) {
	b.WriteString(indent)
	if !plainName.MatchString(name) {
		name = quoted(name)
	}
	b.WriteString(name + ": " + scalar(value) + "\n")
}

var (
	plainName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)
	plainValue = regexp.MustCompile(`^[\pL\pN]([\pL\pN _./@+()&,-]*[\pL\pN_./@+()&-])?$`)
)

// scalar writes a text so that YAML reads it back, without quotes if that is certainly safe.
func scalar(s string) string {
	if plainValue.MatchString(s) && !strings.EqualFold(s, "null") {
		return s
	}
	return quoted(s)
}

// quoted writes a text in double quotes and escapes every invisible character.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == ' ' || unicode.IsGraphic(r) && !unicode.IsSpace(r):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			fmt.Fprintf(&b, `\U%08X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
