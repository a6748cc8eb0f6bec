package render

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// maxTags is the largest number of nested <kbd>, <sub>, <sup> and <mark>. Each of them may move the
// text up or down, or be wider than its content. Tags around more are shown as text.
const maxTags = 8

// pairs pairs the tags <kbd>, <sub>, <sup> and <mark> with their closing tags.
type pairs struct{}

// Transform implements [parser.ASTTransformer].
func (pairs) Transform(node *ast.Document, _ text.Reader, pc parser.Context) {
	if m := meterOf(pc); m.tags > 0 {
		m.pairTags(node, 0)
	}
}

// openTag is a tag whose other half is not found yet.
type openTag struct {
	node  *tagNode
	inner int // how deep pairs are nested behind it so far
}

// pairTags pairs the tags among the children of a node, and below. It returns how deep the pairs
// are nested.
func (m *meter) pairTags(n ast.Node, depth int) int {
	m.require(depth <= maxDepth)
	var open []openTag
	var waiting map[string]int // number of tags in open, by name
	deepest := 0
	nest := func(height int) {
		if last := len(open) - 1; last >= 0 {
			open[last].inner = max(open[last].inner, height)
		}
		deepest = max(deepest, height)
	}
	pop := func() openTag {
		last := open[len(open)-1]
		open = open[:len(open)-1]
		waiting[last.node.name]--
		nest(last.inner)
		return last
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		m.spend(inlineSteps, 0)
		t, isTag := c.(*tagNode)
		switch {
		case !isTag:
			nest(m.pairTags(c, depth+1))
		case t.paired || isFlow(t.name):
		case !t.closing:
			m.spend(0, 64)
			if waiting == nil {
				m.spend(0, inlineBytes)
				waiting = map[string]int{}
			}
			open = append(open, openTag{node: t})
			waiting[t.name]++
		case waiting[t.name] > 0:
			first := pop()
			for first.node.name != t.name {
				first = pop()
			}
			if first.inner < maxTags {
				first.node.paired, t.paired = true, true
				nest(first.inner + 1)
			}
		}
	}
	for len(open) > 0 {
		pop()
	}
	return deepest
}
