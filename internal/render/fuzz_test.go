package render

import (
	"strings"
	"testing"
)

// FuzzRender renders any input. The page is harmless for every reader, the parser does not panic,
// and the cost is within the budget. Its Markdown is as harmless.
func FuzzRender(f *testing.F) {
	for _, v := range vectors(f, "http://127.0.0.1:1") {
		f.Add(v.text)
	}
	for _, b := range bombs {
		f.Add(b.head + strings.Repeat(b.part, 50) + b.tail[:min(len(b.tail), 200)])
	}
	for name := range catalogue() {
		f.Add("```" + strings.Fields(name)[0] + "\nif (a.b == \"c\\\"\") { return 0x1f; } // d\n# e\n<f g='h'>&amp;</f>\nk: v\n+ l\n$ ls\n```\n")
	}
	r := newHostileRenderer()
	f.Fuzz(func(t *testing.T, text string) {
		p, spent := r.render(text)
		if spent.fault != nil {
			t.Errorf("the parser panics: %v", spent.fault)
		}
		if limit := newMeter(len(clean(text))); spent.steps > limit.steps || spent.bytes > limit.bytes {
			t.Errorf("%d steps and %d bytes were spent, of %d and %d", spent.steps, spent.bytes, limit.steps, limit.bytes)
		}
		for _, refs := range []Refs{{}, known, unknown} {
			if err := harmless(p.HTML(refs)); err != nil {
				t.Errorf("%v in\n%s", err, p.HTML(refs))
			}
		}
		// The Markdown for a reader who sees nothing else leads nowhere either.
		markdown := string(p.Markdown(text, unknown))
		if again, _ := r.render(markdown); !p.Plain() && len(again.Documents())+len(again.Media()) > 0 {
			t.Errorf("%q becomes %q, which has links to %v %v", text, markdown, again.Documents(), again.Media())
		}
	})
}
