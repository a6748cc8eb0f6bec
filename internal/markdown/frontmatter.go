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

// fence is the line before and behind front matter.
const fence = "---"

// cutFrontMatter splits a text that begins with front matter. One blank line behind it is a part of
// it, as Format writes it.
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

// readFrontMatter takes the fields of a block, or reports that it is not to be understood: no YAML,
// no mapping, a name twice, or something that refers to another part. Then the page is as before.
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

// pairs are the entries of a mapping, whose names are texts and differ.
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

// plainTree reports whether a value can be turned into text: not deep, and without aliases, by
// which a short block can stand for an endless one.
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

// setField takes one entry of front matter.
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

// setMetadata adds an entry under a name that metadata may have. What only this package may write,
// where a file has its place, is not taken from a file.
func (p *Page) setMetadata(name, value string) {
	name = metadataName(name)
	if name == pathName || name == placesName {
		return
	}
	if len(p.Metadata) > sheaf.MaxMetadata/len(`"a":"",`) {
		return // check refuses such metadata, and each further free name takes longer to find
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

// metadataName is the nearest name that metadata may have.
func metadataName(name string) string {
	name = clip(notInNames.ReplaceAllString(name, "_"), sheaf.MaxMetadataName)
	if name == "" {
		return "_"
	}
	return name
}

// valueText is a value as metadata has it: numbers and times as they are written, nothing for null,
// a list of texts joined, and everything else as JSON.
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

// jsonValue is a value with texts in place of what YAML makes of them.
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
	_ = e.Encode(v) // texts, lists and objects of them
	return bytes.TrimSpace(b.Bytes())
}

func encodeMetadata(m map[string]string) []byte {
	if len(m) == 0 {
		return nil
	}
	return encodeJSON(m)
}

// fieldNames have a meaning of their own at the top of front matter. Metadata of these names stands
// one level deeper.
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

// scalar writes a text so that YAML reads it back: bare where that is safe beyond doubt.
func scalar(s string) string {
	if plainValue.MatchString(s) && !strings.EqualFold(s, "null") {
		return s
	}
	return quoted(s)
}

// quoted writes a text in double quotes, with every character escaped that is not to be seen.
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
