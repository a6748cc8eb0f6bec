package render

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// newParser returns a parser of CommonMark with tables, task lists, strikethrough, footnotes and
// bare addresses. Its parts are goldmark's, in goldmark's order, each wrapped to pay for what it
// does. The two parts for HTML are left out on purpose: HTML is read as text, but for the parts of
// tag.go and comment.go.
func newParser() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(meteredBlock{underlines{parser.NewSetextHeadingParser()}}, 100),
			util.Prioritized(meteredBlock{parser.NewThematicBreakParser()}, 200),
			util.Prioritized(meteredBlock{parser.NewListParser()}, 300),
			util.Prioritized(meteredBlock{parser.NewListItemParser()}, 400),
			util.Prioritized(meteredBlock{parser.NewCodeBlockParser()}, 500),
			util.Prioritized(meteredBlock{parser.NewATXHeadingParser()}, 600),
			util.Prioritized(meteredBlock{parser.NewFencedCodeBlockParser()}, 700),
			util.Prioritized(meteredBlock{parser.NewBlockquoteParser()}, 800),
			util.Prioritized(meteredBlock{comments{}}, 900),
			util.Prioritized(meteredBlock{foldLines{parser.NewParagraphParser()}}, 901),
			util.Prioritized(meteredBlock{extension.NewFootnoteBlockParser()}, 999),
			util.Prioritized(meteredBlock{parser.NewParagraphParser()}, 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(meteredInline{extension.NewTaskCheckBoxParser()}, 0),
			util.Prioritized(codeSpans{parser.NewCodeSpanParser()}, 100),
			util.Prioritized(noteReferences{extension.NewFootnoteParser()}, 101),
			util.Prioritized(newLinks(), 200),
			util.Prioritized(angleLinks{}, 300),
			util.Prioritized(tags{}, 400),
			util.Prioritized(emphases{}, 500),
			util.Prioritized(bareLinks{}, 999),
		),
		parser.WithParagraphTransformers(
			util.Prioritized(callouts{}, 50),
			util.Prioritized(definitions{parser.LinkReferenceParagraphTransformer}, 100),
			util.Prioritized(tables{extension.NewTableParagraphTransformer()}, 200),
		),
		parser.WithASTTransformers(
			util.Prioritized(pipes{extension.NewTableASTTransformer()}, 0),
			util.Prioritized(notes{extension.NewFootnoteASTTransformer()}, 999),
			util.Prioritized(folds{}, 1000),
			util.Prioritized(pairs{}, 1001),
		),
	)
}

// meteredBlock pays for each look of a block parser at a line. No block parser looks further than
// the line.
type meteredBlock struct{ parser.BlockParser }

// Open implements [parser.BlockParser].
func (b meteredBlock) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	m := meterOf(pc)
	m.payLine(reader, 0)
	node, state := b.BlockParser.Open(parent, reader, pc)
	if node != nil {
		m.spend(blockSteps, blockBytes)
		m.block(node, parent)
	}
	if _, note := node.(*east.Footnote); note {
		m.notes++
	}
	return node, state
}

// Continue implements [parser.BlockParser].
func (b meteredBlock) Continue(node ast.Node, reader text.Reader, pc parser.Context) parser.State {
	meterOf(pc).payLine(reader, blockBytes)
	return b.BlockParser.Continue(node, reader, pc)
}

// payLine pays for reading the rest of the line. If its indentation is part of a tab, goldmark copies
// the line.
func (m *meter) payLine(reader text.Reader, bytes int) {
	line, segment := reader.PeekLine()
	if segment.Padding != 0 {
		bytes += 2 * len(line)
	}
	m.spend(blockSteps+len(line), bytes)
}

// definitions reads definitions of link addresses at the start of a paragraph. For each one,
// goldmark moves all later lines of the paragraph and searches them.
type definitions struct{ parser.ParagraphTransformer }

// Transform implements [parser.ParagraphTransformer].
func (d definitions) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	lines, found := node.Lines(), 0
	for i := range lines.Len() {
		line := lines.At(i)
		if value := bytes.TrimLeft(line.Value(reader.Source()), " "); len(value) > 0 && value[0] == '[' {
			found++
		}
	}
	length := lines.At(lines.Len()-1).Stop - lines.At(0).Start
	meterOf(pc).spend(blockSteps+2*length+3*found*lines.Len(), found*blockBytes)
	parent, before := node.Parent(), node.PreviousSibling()
	d.ParagraphTransformer.Transform(node, reader, pc)
	meterOf(pc).noteDefinitions(parent, before, reader.Source())
}

// tables reads tables. goldmark creates all cells of a table at once, including those missing from
// short rows, so they are counted first.
type tables struct{ parser.ParagraphTransformer }

// Transform implements [parser.ParagraphTransformer].
func (t tables) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	m, lines := meterOf(pc), node.Lines()
	for i := 1; i < lines.Len(); i++ {
		line := lines.At(i)
		value := line.Value(reader.Source())
		if !isRuler(value) {
			continue
		}
		head := lines.At(i - 1)
		cells := columns(head.Value(reader.Source())) + columns(value)*(lines.Len()-i)
		m.cells += cells
		m.require(m.cells <= maxCells)
		m.spend(cellSteps*cells, cellBytes*cells)
		for j := i - 1; j < lines.Len(); j++ {
			row := lines.At(j)
			m.pipes += bytes.Count(row.Value(reader.Source()), []byte(`\|`))
		}
		break
	}
	t.ParagraphTransformer.Transform(node, reader, pc)
}

// columns returns the largest number of cells in a line: one more than there are bars between them.
func columns(line []byte) int {
	line = bytes.TrimSpace(line)
	line = bytes.TrimSuffix(bytes.TrimPrefix(line, []byte("|")), []byte("|"))
	return 1 + bytes.Count(line, []byte("|"))
}

// isRuler reports whether a line may be the one below the head of a table.
func isRuler(line []byte) bool {
	bars := false
	for _, c := range line {
		switch c {
		case '|', ':':
			bars = true
		case '-', ' ', '\t', '\n', '\v', '\f', '\r':
		default:
			return false
		}
	}
	return bars
}

// pipes removes the escapes of bars in code in tables. goldmark compares each cell that has one
// with all others.
type pipes struct{ parser.ASTTransformer }

// Transform implements [parser.ASTTransformer].
func (p pipes) Transform(node *ast.Document, reader text.Reader, pc parser.Context) {
	m := meterOf(pc)
	m.spend(compareSteps*m.pipes*m.pipes, inlineBytes*m.pipes)
	p.ASTTransformer.Transform(node, reader, pc)
}

// notes moves the footnotes to the end. goldmark sorts them by insertion.
type notes struct{ parser.ASTTransformer }

// Transform implements [parser.ASTTransformer].
func (n notes) Transform(node *ast.Document, reader text.Reader, pc parser.Context) {
	m := meterOf(pc)
	m.spend(compareSteps*m.notes*m.notes, 0)
	n.ASTTransformer.Transform(node, reader, pc)
}
