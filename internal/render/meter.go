package render

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
)

// What a text may consist of. Beyond any of these it is shown as plain text.
const (
	maxNesting  = 32     // quotes, list items and notes within each other
	maxBlocks   = 20_000 // paragraphs, headings, code and rules; and as many containers
	maxCells    = 20_000 // cells of all tables
	maxBrackets = 1_000  // brackets that are open at the same time in one paragraph
	maxMatches  = 10_000 // emphases of one paragraph, which may all be within each other
	maxDepth    = 400    // elements within each other, of all kinds
)

// What a text may cost. A step is what takes about a nanosecond: looking at a byte. A short text
// has less to spend than a long one, so that many short ones do not take what no long one may.
const (
	baseSteps    = 16_000_000
	stepsPerByte = 148
	baseBytes    = 14 << 20
	bytesPerByte = 47
)

// The costs of single acts, as measured: steps, and bytes of memory.
const (
	blockSteps, blockBytes   = 60, 500  // a block, or another line of it
	inlineSteps, inlineBytes = 40, 450  // a node within a paragraph, with the text before it
	cellSteps, cellBytes     = 400, 600 // a cell of a table
	compareSteps             = 6        // two delimiters, or two notes, held against each other
)

// tooHard is the panic that ends the reading of a text that costs too much.
type tooHard struct{}

// A cost is what was spent.
type cost struct {
	steps, bytes int
	fault        any // what the parser panicked with by itself
}

// A meter pays for the steps of the parser, which knows no bounds by itself. It belongs to one text
// and one goroutine.
type meter struct {
	steps, bytes   int // what is left
	allowed        cost
	blocks, groups int // how many there are: blocks, and containers of blocks
	cells          int
	notes          int // definitions of footnotes
	pipes          int // escaped bars in tables
	fault          any
	emphasis       parser.DelimiterProcessor
	strike         parser.DelimiterProcessor
	paragraph      paragraph
}

// paragraph is what is known of the one whose text is being read.
type paragraph struct {
	nodes    int           // read so far
	brackets []openBracket // not closed yet
	matches  int           // emphases found
	unclosed map[int]bool  // lengths of backtick runs that do not occur in the rest of it
}

// openBracket is where a link may have begun.
type openBracket struct {
	position, line, nodes int
	delimiter             *parser.Delimiter // the last one before it
}

// mostSteps returns the steps that a text of that length may take.
func mostSteps(length int) int { return baseSteps + stepsPerByte*min(length, MaxText) }

func newMeter(length int) *meter {
	m := &meter{steps: mostSteps(length), bytes: baseBytes + bytesPerByte*length}
	m.allowed = cost{steps: m.steps, bytes: m.bytes}
	m.emphasis, m.strike = &delimiters{m, newEmphasis}, &delimiters{m, newStrike}
	return m
}

var meterKey = parser.NewContextKey()

// context returns what the parsers find the meter by.
func (m *meter) context() parser.Context {
	pc := parser.NewContext()
	pc.Set(meterKey, m)
	return pc
}

func meterOf(pc parser.Context) *meter { return pc.Get(meterKey).(*meter) }

// spend pays for what is about to be done, or ends the reading: what cannot be paid for is not
// done.
func (m *meter) spend(steps, bytes int) {
	m.require(steps <= m.steps && bytes <= m.bytes)
	m.steps -= steps
	m.bytes -= bytes
}

// require ends the reading unless a bound holds.
func (m *meter) require(holds bool) {
	if !holds {
		panic(tooHard{})
	}
}

// spent is what was paid so far.
func (m *meter) spent() cost {
	return cost{steps: m.allowed.steps - m.steps, bytes: m.allowed.bytes - m.bytes, fault: m.fault}
}

// inline pays for a call of a parser within a paragraph, and counts what it found.
func (m *meter) inline(found ast.Node) {
	if found == nil {
		m.spend(inlineSteps, 0)
		return
	}
	m.paragraph.nodes += 2
	m.spend(2*inlineSteps, inlineBytes)
}

// block counts a block that begins, and looks at how deep it is.
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
	// The document, which is the outermost, does not count.
	m.require(depth <= maxNesting+1)
}
