package render

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// A fold is <details>: blocks that the reader opens and closes. Its first child may be a foldTitle.
type fold struct {
	ast.BaseBlock
	open bool
}

// A foldTitle is <summary>: the line that stays visible.
type foldTitle struct{ ast.BaseBlock }

var foldKind, foldTitleKind = ast.NewNodeKind("Fold"), ast.NewNodeKind("FoldTitle")

// Kind implements [ast.Node].
func (*fold) Kind() ast.NodeKind { return foldKind }

// Dump implements [ast.Node].
func (f *fold) Dump(source []byte, level int) { ast.DumpHelper(f, source, level, nil, nil) }

// Kind implements [ast.Node].
func (*foldTitle) Kind() ast.NodeKind { return foldTitleKind }

// Dump implements [ast.Node].
func (f *foldTitle) Dump(source []byte, level int) { ast.DumpHelper(f, source, level, nil, nil) }

// foldLines begins a paragraph at a line that begins with <details> or </details>. So such a line
// ends a list or a table before it, as it does elsewhere. Inline parsing finds the tags themselves.
type foldLines struct{ parser.BlockParser }

// Trigger implements [parser.BlockParser].
func (foldLines) Trigger() []byte { return []byte{'<'} }

// CanInterruptParagraph implements [parser.BlockParser].
func (foldLines) CanInterruptParagraph() bool { return true }

// Open implements [parser.BlockParser].
func (f foldLines) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, _ := reader.PeekLine()
	start := pc.BlockOffset()
	if start < 0 {
		return nil, parser.NoChildren
	}
	if t, length := readTag(line[start:]); length == 0 || t.name != "details" {
		return nil, parser.NoChildren
	}
	node, state := f.BlockParser.Open(parent, reader, pc)
	meterOf(pc).foldLine = node
	return node, state
}

// underlines reads the lines that make a heading of the paragraph above. A paragraph that begins with a
// line of foldLines, or ends with a tag of a fold, is no heading: a rule below </details> is a rule.
type underlines struct{ parser.BlockParser }

// Open implements [parser.BlockParser].
func (u underlines) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	if p, ok := pc.LastOpenedBlock().Node.(*ast.Paragraph); ok && p.Lines().Len() > 0 {
		if ast.Node(p) == meterOf(pc).foldLine {
			return nil, parser.NoChildren
		}
		last := p.Lines().At(p.Lines().Len() - 1)
		line := bytes.TrimRight(last.Value(reader.Source()), " \t\n")
		meterOf(pc).spend(last.Len(), 0)
		if i := bytes.LastIndexByte(line, '<'); i >= 0 {
			if t, length := readTag(line[i:]); length == len(line)-i && isFlow(t.name) {
				return nil, parser.NoChildren
			}
		}
	}
	return u.BlockParser.Open(parent, reader, pc)
}

// folds builds the folds, after everything else is parsed.
type folds struct{}

// Transform implements [parser.ASTTransformer].
func (folds) Transform(node *ast.Document, reader text.Reader, pc parser.Context) {
	if m := meterOf(pc); m.flowTags > 0 {
		b := folder{meter: m, source: reader.Source()}
		b.within(node, 0)
	}
}

// A folder builds the folds of a text.
type folder struct {
	meter  *meter
	source []byte
}

// within builds the folds in a block that contains blocks, and below. `depth` is the number of quotes,
// list items, notes and folds around the block.
func (b *folder) within(n ast.Node, depth int) {
	b.meter.require(depth <= maxNesting)
	switch n.(type) {
	case *ast.Paragraph, *ast.TextBlock, *ast.Heading, *foldTitle:
		return
	case *fold, *ast.List: // the children of a fold were found with it
	default:
		if found := b.find(n); len(found) > 0 && b.match(found) {
			b.build(n)
		}
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		b.meter.spend(inlineSteps, 0)
		if c.Type() != ast.TypeBlock {
			return
		}
		switch c.(type) {
		case *ast.Blockquote, *ast.ListItem, *east.Footnote, *fold:
			b.within(c, depth+1)
		default:
			b.within(c, depth)
		}
	}
}

// foldTag is a tag of a fold in a paragraph.
type foldTag struct {
	*tagNode
	in ast.Node // the paragraph
}

// find returns the tags of folds that are directly in the paragraphs of a block. Tags within links or
// emphasis cannot contain blocks.
func (b *folder) find(n ast.Node) (found []foldTag) {
	for p := n.FirstChild(); p != nil; p = p.NextSibling() {
		b.meter.spend(inlineSteps, 0)
		if !isParagraph(p) {
			continue
		}
		for c := p.FirstChild(); c != nil; c = c.NextSibling() {
			b.meter.spend(inlineSteps, 0)
			if t, ok := c.(*tagNode); ok && isFlow(t.name) {
				b.meter.spend(0, 64)
				found = append(found, foldTag{t, p})
			}
		}
	}
	return found
}

// isParagraph reports whether a block is a paragraph, also one in a list without blank lines.
func isParagraph(n ast.Node) bool {
	return n.Kind() == ast.KindParagraph || n.Kind() == ast.KindTextBlock
}

// match pairs the tags, and reports whether there is a pair. A summary is paired only directly after
// the start of its fold, and if it ends in the same paragraph.
func (b *folder) match(found []foldTag) (any bool) {
	var open []foldTag
	for _, t := range found {
		switch {
		case t.name != "details":
		case !t.closing:
			open = append(open, t)
		case len(open) > 0:
			open[len(open)-1].paired, t.paired = true, true
			open, any = open[:len(open)-1], true
		}
	}
	for i := range max(0, len(found)-2) {
		start, title, end := found[i], found[i+1], found[i+2]
		if start.name == "details" && !start.closing && start.paired && title.name == "summary" && !title.closing &&
			end.name == "summary" && end.closing && title.in == end.in && b.adjacent(start, title) {
			title.paired, end.paired = true, true
		}
	}
	return any
}

// adjacent reports whether there is nothing to read between two tags.
func (b *folder) adjacent(start, title foldTag) bool {
	n := start.NextSibling()
	for ; n != nil && n != ast.Node(title.tagNode); n = n.NextSibling() {
		if !b.blank(n) {
			return false
		}
	}
	if n != nil {
		return true
	}
	p := start.in.NextSibling()
	for ; p != nil && p != title.in; p = p.NextSibling() {
		if p.Kind() != commentKind {
			return false
		}
	}
	if p == nil {
		return false
	}
	for n := p.FirstChild(); n != ast.Node(title.tagNode); n = n.NextSibling() {
		if !b.blank(n) {
			return false
		}
	}
	return true
}

// blank reports whether an inline node shows nothing, and pays for the look.
func (b *folder) blank(n ast.Node) bool {
	b.meter.spend(inlineSteps, 0)
	return showsNothing(n, b.source)
}

// showsNothing reports whether an inline node is a comment or white space.
func showsNothing(n ast.Node, source []byte) bool {
	if t, ok := n.(*ast.Text); ok {
		return util.IsBlank(t.Segment.Value(source))
	}
	return n.Kind() == commentKind
}

// build replaces the paired tags among the children of a block by folds. Each child is moved at most
// once.
func (b *folder) build(n ast.Node) {
	into := []ast.Node{n} // the block, and the open folds
	var next ast.Node
	place := func(c ast.Node) {
		if last := into[len(into)-1]; last != n {
			last.AppendChild(last, c)
		} else if c.Parent() != n {
			n.InsertBefore(n, next, c)
		}
	}
	for c := n.FirstChild(); c != nil; c = next {
		next = c.NextSibling()
		b.meter.spend(2*inlineSteps, 0)
		if !isParagraph(c) || !b.isSplit(c) {
			place(c)
			continue
		}
		n.RemoveChild(n, c)
		b.split(c, place, func(f *fold) {
			if f == nil {
				into = into[:len(into)-1]
			} else {
				into = append(into, f)
			}
		})
	}
}

// isSplit reports whether a paragraph has a paired tag of a fold.
func (b *folder) isSplit(p ast.Node) bool {
	for c := p.FirstChild(); c != nil; c = c.NextSibling() {
		b.meter.spend(inlineSteps, 0)
		if t, ok := c.(*tagNode); ok && t.paired && isFlow(t.name) {
			return true
		}
	}
	return false
}

// split places the pieces of a paragraph between the tags of folds, and the folds. enter is called with
// each fold that begins, and with nil where one ends.
func (b *folder) split(p ast.Node, place func(ast.Node), enter func(*fold)) {
	var piece ast.Node
	end := func() {
		if piece != nil {
			b.trim(piece)
			place(piece)
		}
		piece = nil
	}
	var next ast.Node
	for c := p.FirstChild(); c != nil; c = next {
		next = c.NextSibling()
		b.meter.spend(2*inlineSteps, 0)
		t, ok := c.(*tagNode)
		switch {
		case ok && t.paired && t.name == "summary" && !t.closing:
			end()
			piece = b.made(&foldTitle{})
		case ok && t.paired && isFlow(t.name):
			end()
			if t.name == "details" && !t.closing {
				f := &fold{open: t.open}
				place(b.made(f))
				enter(f)
			} else if t.name == "details" {
				enter(nil)
			}
		case piece != nil:
			piece.AppendChild(piece, c)
		case !b.blank(c):
			if piece = b.made(ast.NewParagraph()); p.Kind() == ast.KindTextBlock {
				piece = ast.NewTextBlock()
			}
			if text, ok := c.(*ast.Text); ok {
				text.Segment = text.Segment.TrimLeftSpace(b.source)
			}
			piece.AppendChild(piece, c)
		}
	}
	end()
}

// made pays for a new block, and counts it.
func (b *folder) made(n ast.Node) ast.Node {
	b.meter.spend(blockSteps, blockBytes)
	if n.Kind() == foldKind {
		b.meter.groups++
		b.meter.require(b.meter.groups <= maxBlocks)
	} else {
		b.meter.blocks++
		b.meter.require(b.meter.blocks <= maxBlocks)
	}
	return n
}

// trim removes the line break at the end of a piece.
func (b *folder) trim(piece ast.Node) {
	if t, ok := piece.LastChild().(*ast.Text); ok {
		t.Segment = t.Segment.TrimRightSpace(b.source)
		t.SetSoftLineBreak(false)
		t.SetHardLineBreak(false)
	}
}

// fold writes a fold.
func (w *writer) fold(n *fold, depth int) {
	open := "<details>\n"
	if n.open {
		open = "<details open>\n"
	}
	w.within(n, depth, open, "</details>\n")
}
