package render

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// HTML comments are dropped: <!-- … -->, within a paragraph, or over any lines if they begin a line. A
// comment that does not end is text.
var commentStart, commentStop = []byte("<!--"), []byte("-->")

// commentLength returns the length of the comment at the start of a line, or 0 if it does not end on
// the line. As in CommonMark, <!--> and <!---> are whole comments.
func commentLength(line []byte) int {
	rest := line[len(commentStart):]
	switch {
	case bytes.HasPrefix(rest, []byte(">")):
		return len(commentStart) + 1
	case bytes.HasPrefix(rest, []byte("->")):
		return len(commentStart) + 2
	}
	if i := bytes.Index(rest, commentStop); i >= 0 {
		return len(commentStart) + i + len(commentStop)
	}
	return 0
}

// A commentNode is a comment within a paragraph.
type commentNode struct{ ast.BaseInline }

// Kind implements [ast.Node].
func (*commentNode) Kind() ast.NodeKind { return commentKind }

// Dump implements [ast.Node].
func (c *commentNode) Dump(source []byte, level int) { ast.DumpHelper(c, source, level, nil, nil) }

// inlineComment reads the comment at the reader's position. It returns nil if the comment does not end
// in the paragraph, which the meter remembers.
func (m *meter) inlineComment(block text.Reader) ast.Node {
	m.spend(inlineSteps, 0)
	if m.paragraph.openComment {
		return nil
	}
	line, segment := block.PeekLine()
	start, length := segment.Start, commentLength(line)
	for m.spend(len(line), 0); length == 0; m.spend(inlineSteps+len(line), 0) {
		block.AdvanceLine()
		if line, _ = block.PeekLine(); line == nil {
			m.paragraph.openComment = true
			return nil
		}
		if i := bytes.Index(line, commentStop); i >= 0 {
			length = i + len(commentStop)
		}
	}
	block.Advance(length)
	_, end := block.Position()
	m.noteComment(start+len(commentStart), end.Start-len(commentStop))
	node := &commentNode{}
	m.inline(node)
	return node
}

// A commentBlock is a comment over whole lines.
type commentBlock struct {
	ast.BaseBlock
	ended bool // the line that was read last ends it
}

// Kind implements [ast.Node].
func (*commentBlock) Kind() ast.NodeKind { return commentKind }

// IsRaw implements [ast.Node].
func (*commentBlock) IsRaw() bool { return true }

// Dump implements [ast.Node].
func (c *commentBlock) Dump(source []byte, level int) { ast.DumpHelper(c, source, level, nil, nil) }

// comments reads comments that begin a line. One that ends before other words of its first line is left
// to the paragraph.
type comments struct{}

// Trigger implements [parser.BlockParser].
func (comments) Trigger() []byte { return []byte{'<'} }

// CanInterruptParagraph implements [parser.BlockParser].
func (comments) CanInterruptParagraph() bool { return true }

// CanAcceptIndentedLine implements [parser.BlockParser].
func (comments) CanAcceptIndentedLine() bool { return false }

// Open implements [parser.BlockParser].
func (comments) Open(_ ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	start := pc.BlockOffset()
	if start < 0 || !bytes.HasPrefix(line[start:], commentStart) {
		return nil, parser.NoChildren
	}
	m := meterOf(pc)
	m.spend(len(line), 0)
	length := commentLength(line[start:])
	if length > 0 && !util.IsBlank(line[start+length:]) || length == 0 && segment.Start > m.lastComment {
		return nil, parser.NoChildren
	}
	// A tab may stand for several spaces of the line: they are its padding.
	from := segment.Start + start - segment.Padding + len(commentStart)
	if length > 0 {
		m.noteComment(from, from+length-len(commentStart)-len(commentStop))
	} else {
		m.noteComment(from, lastOf(segment, line))
	}
	return &commentBlock{ended: length > 0}, parser.NoChildren
}

// Continue implements [parser.BlockParser]. Words after the end of the comment begin another block.
func (comments) Continue(node ast.Node, reader text.Reader, pc parser.Context) parser.State {
	c := node.(*commentBlock)
	if c.ended {
		return parser.Close
	}
	m := meterOf(pc)
	line, segment := reader.PeekLine()
	m.spend(len(line), 0)
	end := bytes.Index(line, commentStop)
	if end < 0 {
		m.noteComment(segment.Start, lastOf(segment, line))
		return parser.Continue | parser.NoChildren
	}
	c.ended = true
	m.noteComment(segment.Start, segment.Start+end-segment.Padding)
	end += len(commentStop)
	if util.IsBlank(line[end:]) {
		return parser.Continue | parser.NoChildren
	}
	reader.Advance(end + util.TrimLeftSpaceLength(line[end:]))
	return parser.Close
}

// lastOf returns the position after the last character of a line, before its line break.
func lastOf(segment text.Segment, line []byte) int {
	return segment.Stop - (len(line) - len(bytes.TrimRight(line, "\n")))
}

// Close implements [parser.BlockParser].
func (comments) Close(ast.Node, text.Reader, parser.Context) {}
