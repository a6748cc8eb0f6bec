package render

import "github.com/yuin/goldmark/ast"

// Limits on highlighted code, per block and per page. Highlighting makes each word of code an
// element that is ten times as long.
const (
	maxColourBlock = 32 << 10
	maxColourPage  = 128 << 10
)

// code writes a block of code, highlighted if its language is known.
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
