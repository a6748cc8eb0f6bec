package render

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
)

// Limits on the structure of a text. A text beyond any of them is shown as plain text.
const (
	maxNesting  = 32     // nested quotes, list items and notes
	maxBlocks   = 20_000 // paragraphs, headings, code and rules; and as many containers
	maxCells    = 20_000 // cells of all tables
	maxBrackets = 1_000  // open brackets at one time in one paragraph
	maxMatches  = 10_000 // emphases of one paragraph, which may all be nested
	maxDepth    = 400    // nested elements of all kinds
)

// The budget of a text. A step takes about a nanosecond: looking at one byte. A short text has a
// smaller budget than a long one, so that many short ones do not take more than a long one may.
const (
	baseSteps    = 16_000_000
	stepsPerByte = 148
	baseBytes    = 14 << 20
	bytesPerByte = 47
)

// Measured costs of single acts: steps, and bytes of memory.
const (
	blockSteps, blockBytes   = 60, 500  // a block, or another line of it
	inlineSteps, inlineBytes = 40, 450  // a node within a paragraph, with the text before it
	cellSteps, cellBytes     = 400, 600 // a cell of a table
	compareSteps             = 6        // comparing two delimiters or two notes
)

// tooHard is the panic that stops rendering a text that exceeds its budget.
type tooHard struct{}

// A cost is what was spent.
type cost struct {
	steps, bytes int
	fault        any // value of a panic in the parser
}

// A meter pays for the steps of the parser, which has no limits itself. It belongs to one text and
// one goroutine.
type meter struct {
	steps, bytes   int // remaining budget
	allowed        cost
	blocks, groups int // number of blocks, and of containers of blocks
	cells          int
	notes          int // definitions of footnotes
	tags, flowTags int // rendered HTML tags, and those that are blocks
	lastComment    int // position of the last end of a comment, -1 for none
	pipes          int // escaped bars in tables
	fault          any
	emphasis       parser.DelimiterProcessor
	strike         parser.DelimiterProcessor
	foldLine       ast.Node // the last paragraph that begins with <details> or </details>
	callouts       map[*ast.Blockquote]callout
	paragraph      paragraph
	source         source
}

// paragraph is the state of the paragraph that is being read.
type paragraph struct {
	nodes    int           // number of nodes so far
	brackets []openBracket // not closed yet
	matches  int           // number of emphases found
	unclosed map[int]bool  // lengths of backtick runs that do not occur in the rest of it

	openComment bool // no comment ends in the rest of it
}

// openBracket is where a link may have begun.
type openBracket struct {
	position, line, nodes int
	delimiter             *parser.Delimiter // the last one before it
}

// mostSteps returns the budget of steps for a text of that length.
func mostSteps(length int) int { return baseSteps + stepsPerByte*min(length, MaxText) }

func newMeter(length int) *meter {
	m := &meter{steps: mostSteps(length), bytes: baseBytes + bytesPerByte*length}
	m.allowed = cost{steps: m.steps, bytes: m.bytes}
	m.emphasis, m.strike = &delimiters{m, newEmphasis}, &delimiters{m, newStrike}
	return m
}

var meterKey = parser.NewContextKey()

// context returns a context in which the parsers find the meter.
func (m *meter) context() parser.Context {
	pc := parser.NewContext()
	pc.Set(meterKey, m)
	return pc
}

func meterOf(pc parser.Context) *meter { return pc.Get(meterKey).(*meter) }

// spend pays for what is about to be done. If the budget is not enough, it stops rendering
// (tooHard).
func (m *meter) spend(steps, bytes int) {
	m.require(steps <= m.steps && bytes <= m.bytes)
	m.steps -= steps
	m.bytes -= bytes
}

// require stops rendering unless a limit holds.
func (m *meter) require(holds bool) {
	if !holds {
		panic(tooHard{})
	}
}

// spent returns the cost so far.
func (m *meter) spent() cost {
	return cost{steps: m.allowed.steps - m.steps, bytes: m.allowed.bytes - m.bytes, fault: m.fault}
}

// inline pays for a call of an inline parser, and counts the node that it found.
func (m *meter) inline(found ast.Node) {
	if found == nil {
		m.spend(inlineSteps, 0)
		return
	}
	m.paragraph.nodes += 2
	m.spend(2*inlineSteps, inlineBytes)
}

// block counts a new block, and checks its depth.
func (m *meter) block(node, parent ast.Node) {
	switch node.(type) {
	case *ast.List: // counted by its items
		return
	case *ast.Blockquote, *ast.ListItem:
		m.groups++
		m.require(m.groups <= maxBlocks)
	default:
		m.blocks++
		m.require(m.blocks <= maxBlocks)
	}
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		if _, list := n.(*ast.List); !list {
			depth++
		}
	}
	// The document itself, the outermost node, does not count.
	m.require(depth <= maxNesting+1)
}
