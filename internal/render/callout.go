package render

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// A callout is a quote whose first line is [!NOTE], [!TIP], [!IMPORTANT], [!WARNING] or [!CAUTION], in
// upper or lower case. GitHub's rules apply: the line has nothing else, something follows it, and
// the quote is not within a list, a note or another quote.

// calloutNames are the titles of callouts. In lower case they are the classes of the elements.
var calloutNames = []string{"Note", "Tip", "Important", "Warning", "Caution"}

// A callout is the first line of such a quote.
type callout struct {
	name string
	line text.Segment
}

// callouts takes the first line from the quotes that are callouts. It runs when a paragraph ends, before
// anything is read within the paragraph.
type callouts struct{}

// Transform implements [parser.ParagraphTransformer].
func (callouts) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	quote, ok := node.Parent().(*ast.Blockquote)
	if !ok || node.PreviousSibling() != nil || quote.Parent().Kind() != ast.KindDocument {
		return
	}
	m, line := meterOf(pc), node.Lines().At(0)
	m.spend(line.Len(), 0)
	name := calloutNamed(line.Value(reader.Source()))
	if name == "" {
		return
	}
	if m.callouts == nil {
		m.callouts = map[*ast.Blockquote]callout{}
	}
	m.spend(blockSteps+node.Lines().Len(), blockBytes)
	m.callouts[quote] = callout{name, line}
	if node.Lines().Len() == 1 {
		quote.RemoveChild(quote, node)
		return
	}
	node.Lines().SetSliced(1, node.Lines().Len())
}

// calloutNamed returns the title of the callout that a line begins, or "".
func calloutNamed(line []byte) string {
	line = bytes.TrimSpace(line)
	if len(line) < 4 || line[0] != '[' || line[1] != '!' || line[len(line)-1] != ']' {
		return ""
	}
	for _, name := range calloutNames {
		if bytes.EqualFold(line[2:len(line)-1], []byte(name)) {
			return name
		}
	}
	return ""
}

// quote writes a quote or a callout.
func (w *writer) quote(n *ast.Blockquote, depth int) {
	c, ok := w.meter.callouts[n]
	switch {
	case !ok:
		w.within(n, depth, "<blockquote>\n", "</blockquote>\n")
	case !n.HasChildren(): // nothing follows the line
		w.tags("<blockquote>\n<p>")
		w.raw(bytes.TrimSpace(c.line.Value(w.source)))
		w.tags("</p>\n</blockquote>\n")
	default:
		class := string(bytes.ToLower([]byte(c.name)))
		w.within(n, depth, `<div class="callout `+class+`" role="note">`+"\n"+`<p class="callout-title">`+c.name+"</p>\n", "</div>\n")
	}
}
