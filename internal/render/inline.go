package render

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// meteredInline pays for a parser that looks at a few bytes.
type meteredInline struct{ parser.InlineParser }

// Parse implements [parser.InlineParser].
func (i meteredInline) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	node := i.InlineParser.Parse(parent, block, pc)
	meterOf(pc).inline(node)
	return node
}

// asText consumes `length` bytes as plain text.
func asText(block text.Reader, length int) ast.Node {
	_, segment := block.PeekLine()
	block.Advance(length)
	return ast.NewTextSegment(segment.WithStop(segment.Start + length))
}

// runLength returns how many times the first byte of a line is repeated.
func runLength(line []byte) int {
	n := 1
	for n < len(line) && line[n] == line[0] {
		n++
	}
	return n
}

// codeSpans reads code within a paragraph. It looks for the end of the code first, because goldmark
// would make a node of each line on the way even if there is no end.
type codeSpans struct{ parser.InlineParser }

// Parse implements [parser.InlineParser].
func (c codeSpans) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	m := meterOf(pc)
	line, _ := block.PeekLine()
	run := runLength(line)
	if lines := m.findClosingRun(parent, block, run); lines == 0 {
		node := asText(block, run)
		m.inline(node)
		return node
	} else {
		m.spend(lines*inlineSteps, lines*inlineBytes)
	}
	node := c.InlineParser.Parse(parent, block, pc)
	m.inline(node)
	return node
}

// findClosingRun searches for the next run of exactly `run` backticks. It returns the number of
// lines that the code spans, or 0 if the paragraph has no such run, which it remembers.
func (m *meter) findClosingRun(parent ast.Node, block text.Reader, run int) int {
	if m.paragraph.unclosed[run] {
		return 0
	}
	index, segment := block.Position()
	start, lines := segment.Start+run, parent.Lines()
	for i := index; i < lines.Len(); i++ {
		line := lines.At(i)
		if i > index {
			start = line.Start
		}
		m.spend(line.Stop-start, 0)
		if hasRun(block.Source()[start:line.Stop], run) {
			return i - index + 1
		}
	}
	if m.paragraph.unclosed == nil {
		m.paragraph.unclosed = map[int]bool{}
	}
	m.paragraph.unclosed[run] = true
	return 0
}

// hasRun reports whether a line has a run of exactly `run` backticks.
func hasRun(line []byte, run int) bool {
	for {
		i := bytes.IndexByte(line, '`')
		if i < 0 {
			return false
		}
		n := runLength(line[i:])
		if n == run {
			return true
		}
		line = line[i+n:]
	}
}

// noteReferences reads references to footnotes. goldmark searches all footnotes for each reference.
type noteReferences struct{ parser.InlineParser }

// Parse implements [parser.InlineParser].
func (n noteReferences) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	m := meterOf(pc)
	if line, _ := block.PeekLine(); bytes.HasPrefix(line, []byte("[^")) || bytes.HasPrefix(line, []byte("![^")) {
		m.spend(compareSteps*m.notes+2*parent.Lines().Len()+1000, 0)
	}
	node := n.InlineParser.Parse(parent, block, pc)
	m.inline(node)
	if node != nil { // its link back is an inline node too
		m.inline(node)
	}
	return node
}

// links reads links and pictures. At a closing bracket, goldmark searches everything after the
// opening one, and more.
type links struct {
	parser.InlineParser
	closer parser.CloseBlocker
}

func newLinks() links {
	inner := parser.NewLinkParser()
	return links{inner, inner.(parser.CloseBlocker)}
}

// Parse implements [parser.InlineParser].
func (l links) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	m := meterOf(pc)
	line, segment := block.PeekLine()
	if line[0] == ']' {
		if len(m.paragraph.brackets) == 0 {
			return nil
		}
		m.closeBracket(parent, line, segment, pc)
	}
	index, _ := block.Position()
	node := l.InlineParser.Parse(parent, block, pc)
	m.inline(node)
	if node != nil && line[0] != ']' {
		m.paragraph.brackets = append(m.paragraph.brackets, openBracket{segment.Start, index, m.paragraph.nodes, pc.LastDelimiter()})
		m.require(len(m.paragraph.brackets) <= maxBrackets)
	} else if node != nil {
		m.noteLink(node, block, segment.Start)
	}
	return node
}

// closeBracket pays for what goldmark does at a closing bracket:
//   - it looks for a link among the nodes since the opening bracket, and copies the text between;
//   - it looks for the line of the opening one from the last line on, for each of two labels;
//   - if there were delimiters between them, it goes through all nodes of the paragraph;
//   - it reads the address that follows.
func (m *meter) closeBracket(parent ast.Node, line []byte, segment text.Segment, pc parser.Context) {
	last := len(m.paragraph.brackets) - 1
	opened := m.paragraph.brackets[last]
	m.paragraph.brackets = m.paragraph.brackets[:last]

	label := segment.Start - opened.position
	steps := compareSteps*(m.paragraph.nodes-opened.nodes) + label + 4*(parent.Lines().Len()-opened.line)
	if d := pc.LastDelimiter(); d != nil && d != opened.delimiter {
		steps += compareSteps * parent.ChildCount()
	}
	if len(line) > 1 && line[1] == '(' {
		steps += 4 * addressLength(line[2:]) // it is read here, and more slowly by goldmark
	}
	m.spend(steps, label+2*min(label, 1000))
}

// addressLength returns how much of a line is read for the address of a link.
func addressLength(line []byte) int {
	if len(line) > 0 && line[0] == '<' {
		if i := bytes.IndexByte(line, '>'); i >= 0 {
			return i
		}
		return len(line)
	}
	depth := 0
	for i, c := range line {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		}
		if depth < 0 || util.IsSpace(c) {
			return i
		}
	}
	return len(line)
}

// CloseBlock implements [parser.CloseBlocker]. It ends the paragraph.
func (l links) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	m := meterOf(pc)
	l.closer.CloseBlock(parent, block, pc)
	m.paragraph = paragraph{brackets: m.paragraph.brackets[:0]}
}

// emphases reads the delimiters of emphasis and strikethrough.
type emphases struct{}

// Trigger implements [parser.InlineParser].
func (emphases) Trigger() []byte { return []byte{'*', '_', '~'} }

// Parse implements [parser.InlineParser]. A run that can neither open nor close anything becomes
// text at once, so that later delimiters are not compared with it.
func (emphases) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	m := meterOf(pc)
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	run := runLength(line)
	m.spend(run, 0)
	processor := m.emphasis
	if line[0] == '~' {
		processor = m.strike
	}
	d := parser.ScanDelimiter(line, before, 1, processor)
	m.inline(d)
	if !d.CanOpen && !d.CanClose || line[0] == '~' && run > 2 {
		return asText(block, run)
	}
	d.Segment = segment.WithStop(segment.Start + run)
	block.Advance(run)
	pc.PushDelimiter(d)
	return d
}

// delimiters decides which delimiters match, and creates the node of two that do.
type delimiters struct {
	meter *meter
	node  func(length int) ast.Node
}

// IsDelimiter implements [parser.DelimiterProcessor].
func (*delimiters) IsDelimiter(b byte) bool { return b == '*' || b == '_' || b == '~' }

// CanOpenCloser implements [parser.DelimiterProcessor]. A closing delimiter is compared with every
// opening one before it.
func (d *delimiters) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	d.meter.spend(compareSteps, 0)
	return opener.Char == closer.Char && (opener.Char != '~' || opener.OriginalLength == closer.OriginalLength)
}

// OnMatch implements [parser.DelimiterProcessor].
func (d *delimiters) OnMatch(length int) ast.Node {
	d.meter.paragraph.matches++
	d.meter.require(d.meter.paragraph.matches <= maxMatches)
	d.meter.spend(inlineSteps, inlineBytes)
	return d.node(length)
}

func newEmphasis(length int) ast.Node { return ast.NewEmphasis(length) }

func newStrike(int) ast.Node { return east.NewStrikethrough() }
