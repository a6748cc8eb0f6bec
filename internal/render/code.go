package render

import "github.com/yuin/goldmark/ast"

// What is highlighted: one block, and all of a page. Each word of code is an element then, ten
// times as long as the word.
const (
	maxColourBlock = 32 << 10
	maxColourPage  = 128 << 10
)

// code writes a block of it, in the colours of its language when that is known.
func (w *writer) code(n ast.Node, name string) {
	lines, length := n.Lines(), 0
	for i := range lines.Len() {
		line := lines.At(i)
		length += line.Len() + 1
	}
	w.meter.spend(length, 2*length)
	code := make([]byte, 0, length)
	for i := range lines.Len() {
		line := lines.At(i)
		code = append(code, line.Value(w.source)...)
	}
	lang := languageNamed(name)
	switch {
	case lang == nil:
		w.tags(`<pre tabindex="0"><code>`)
		w.raw(code)
	case length > maxColourBlock || w.colour+length > maxColourPage:
		w.tags(`<pre tabindex="0"><code class="language-`, lang.name, `">`)
		w.raw(code)
	default:
		w.colour += length
		w.tags(`<pre class="chroma" tabindex="0"><code class="language-`, lang.name, `">`)
		w.highlight(lang, code)
	}
	w.tags("</code></pre>\n")
}
