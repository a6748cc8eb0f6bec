package render

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest/proof"
)

// bombs are texts for which a naive parser takes minutes or all memory, at this size. Each repeats
// a part, some between a head and a tail. Those for which goldmark alone takes more than linear
// time are marked.
var bombs = []struct{ name, head, part, tail string }{
	{"quotes", "", ">", ""}, // quadratic
	{"quotes with spaces", "", "> ", ""},
	{"quotes over lines", "", strings.Repeat(">", 31) + "a\n", ""},
	{"lazy quotes", ">>>>>>>>>>>>>>>>a\n", "a\n", ""},
	{"lists on a line", "", "- ", "a"}, // quadratic
	{"stars on a line", "", "* ", "a"},
	{"numbers on a line", "", "1. ", "a"},
	{"dashes that end otherwise", strings.Repeat("- ", 31), "-", "x"},
	{"items", "", "-\n", ""},
	{"items with text", "", "- a\n", ""},
	{"items with paragraphs", "", "- a\n\n", ""},
	{"deeper items", "", "- a\n" + strings.Repeat(" ", 2) + "- b\n", ""},
	{"blank lines in a list", strings.Repeat("- ", 20) + "a\n", "\n", ""}, // memory
	{"blank lines in a quote", "> a\n", ">\n", ""},
	{"blank lines", "", "\n", ""},
	{"spaces", "", " ", "a"},
	{"tabs", "", "\t", "a"},
	{"tabs in items", "-\ta\n", "\t\ta\n", ""},
	{"tabs in quotes", "", ">\t>\ta\n", ""},
	{"one paragraph of short lines", "", "a\n", ""}, // memory
	{"one paragraph of breaks", "", "a  \n", ""},
	{"one paragraph of backslashes", "", "\\\n", ""},
	{"paragraphs", "", "a\n\n", ""},
	{"headings", "", "# a\n", ""},
	{"headings of a number", "", "# a-1\n# a\n", ""},
	{"underlined headings", "", "a\n=\n", ""},
	{"underlines", "a\n", "=\n", ""},
	{"rules", "", "---\n", ""},
	{"fences", "", "```\n", ""},
	{"fences with names", "", "```go\na\n```\n", ""},
	{"one long fence", "```\n", "\n", ""}, // memory
	{"one long program", "```go\n", "1+", "\n```"},
	{"a program of many words", "```js\n", "if a(\"b\");\n", "```"},
	{"an open comment", "```c\n", "/* ", ""},
	{"indented code", "", "    a\n", ""},
	{"indented blank code", "    a\n", "    \n", "    b"},
	{"table columns", strings.Repeat("|a", 2000) + "|\n" + strings.Repeat("|-", 2000) + "|\n", "|a\n", ""}, // quadratic: all cells of all rows
	{"table rows", "|a|b|\n|-|-|\n", "|a|b|\n", ""},
	{"table heads", "", "|a|\n|-|\n\n", ""},
	{"one wide table", "a|", "b|", "\n-|-|-"},
	{"one wide ruler", "a|b\n", "-|", ""},
	{"rulers that are none", "a\n", "|-|::\n", ""},
	{"colons", "a\n", ":", ""},
	{"bars", "", "|", ""},
	{"escaped bars in code", "|a|\n|-|\n", "|`\\|`|\n", ""}, // quadratic
	{"open brackets", "", "[", ""},                          // quadratic
	{"closed brackets", "", "]", ""},
	{"brackets", "", "[]", ""},
	{"brackets over lines", "", "[a]\n", ""}, // quadratic
	{"nested brackets", strings.Repeat("[", 900), "`a`", strings.Repeat("]", 900)},
	{"nested brackets of text", strings.Repeat("[", 900), "a", strings.Repeat("]", 900)},
	{"open links", "", "[a](", ""},           // quadratic
	{"links without end", "", "[a](b", ""},   // quadratic
	{"angles without end", "", "[a](<b", ""}, // quadratic
	{"titles without end", "", "[a](b \"", ""},
	{"parentheses", "[a](", "(", ""},
	{"links", "", "[a](b)", ""},
	{"links of emphasis", "", "[*a*](b) ", ""}, // quadratic
	{"pictures", "", "![a](b)", ""},
	{"nested pictures", "", "![", ""},
	{"nested pictures that end", strings.Repeat("![", 900), "a", strings.Repeat("](b)", 900)},
	{"definitions", "", "[a]: b\n", ""}, // quadratic
	{"definitions of different names", "", "[a\\]b]: <c> 'd'\n", ""},
	{"definitions without end", "", "[a]: b '\n", ""},
	{"one definition, many uses", "[a]: https://example.com/" + strings.Repeat("x", 4000) + " '" + strings.Repeat("t", 60000) + "'\n\n", "[a] ", ""}, // output
	{"references without definition", "", "[a][b]", ""},
	{"references that are empty", "", "[a][]", ""},
	{"stars", "", "*", ""},
	{"stars and letters", "", "*a", ""},
	{"stars that close", "", "a*", ""},
	{"stars in two ways", "", "*a_ ", ""}, // quadratic
	{"stars that nest", "", "*a **b ", ""},
	{"stars that nest and end", "", "**x", strings.Repeat("x**", 170000)},
	{"stars that do nothing", "", " * ", strings.Repeat("a*", 100000)}, // quadratic
	{"stars by threes", "", "a***b**c*d", ""},
	{"underscores", "", "_", ""},
	{"underscores and letters", "", "a_", ""},
	{"tildes", "", "~", ""}, // quadratic
	{"tildes by two", "", "~~a", ""},
	{"backticks", "", "`", ""},
	{"backticks of growing length", "", "", ""}, // quadratic, made below
	{"backticks that do not close", "", "`a``", ""},
	{"backticks over lines", "", "`a\n", "``"},
	{"footnotes", "", "[^a]: b\n\n", ""},
	{"footnotes of different names", "", "", ""}, // quadratic, made below
	{"references to footnotes", "[^a]: b\n\n", "[^a]", ""},
	{"references to no footnote", "[^a]: b\n\n", "[^b]", ""},
	{"footnotes in footnotes", "", "[^a]: ", "b"},
	{"angles", "", "<", ""},
	{"tags", "", "<a>", ""},
	{"comments without end", "", "<!--", ""},
	{"declarations without end", "", "<!A", ""},
	{"instructions without end", "", "<?", ""},
	{"attributes without end", "", "<a b='", ""},
	{"blocks of HTML", "", "<div>\n", ""},
	{"breaks", "", "<br>", ""},
	{"breaks on lines", "", "<br>\n", ""},
	{"tags that nest", "", "<sub>", ""},
	{"tags that nest and end", strings.Repeat("<sup>", 40_000), "a", strings.Repeat("</sup>", 40_000)},
	{"tags that cross", "", "<kbd><sub></kbd></sub>", ""},
	{"tags that end nothing", strings.Repeat("<sub>", 40_000), "</kbd>", ""},
	{"tags in emphasis", "", "*<sub>", ""},
	{"tags in many lines", "", "<kbd>a</kbd>\n", ""},
	{"tags in a table", "|a|\n|-|\n", "|<br><kbd>a|\n", ""},
	{"tags of spaces", "", "<br                                                  ", ""},
	{"folds that nest", "", "<details>\n", ""},
	{"folds that nest on a line", "", "<details>", ""},
	{"folds that nest and end", strings.Repeat("<details>", 10_000), "a", strings.Repeat("</details>", 10_000)},
	{"folds that end", "", "</details>\n", ""},
	{"folds side by side", "", "<details></details>", ""},
	{"folds with titles", "", "<details><summary>a</summary>b</details>\n\n", ""},
	{"titles of folds", "<details>", "<summary>", "</summary></details>"},
	{"titles far from their folds", "", "<details>\n<!-- -->\n", "<summary>a</summary>"},
	{"many paragraphs in a fold", "<details>\n\n", "a\n\n", "</details>"},
	{"many pieces of a paragraph", "", "a<details>b</details>", ""},
	{"folds in quotes", "", "> <details>\n", ""},
	{"folds in items", "- <details>\n", "  - <details>\n", ""},
	{"underlines below folds", "</details>\n", "===\n", ""},
	{"comments", "", "<!---->", ""},
	{"comments on lines", "", "<!-- a -->\n", ""},
	{"comments without end in paragraphs", "", "<!--\n\n", ""},
	{"comments without end before one", "", "a <!--\n\n", "-->"},
	{"one long comment", "<!--", "a\n\n", "-->"},
	{"one comment in a paragraph", "a <!--", "b\n", "-->"},
	{"comments in quotes", "", "> <!--\n\n", "-->"},
	{"ends of comments", "", "-->", ""},
	{"callouts", "", "> [!NOTE]\n> a\n\n", ""},
	{"callouts of nothing", "", "> [!TIP]\n\n", ""},
	{"one long callout", "> [!NOTE]\n", "> a\n", ""},
	{"first lines of callouts", "", "> [!NOTE]\n", ""},
	{"headings of long names", "", "# " + strings.Repeat("漢", 80) + "\n", ""},
	{"addresses", "", "<https://a.b>", ""},
	{"addresses without end", "", "<https://a", ""},
	{"bare addresses", "", "https://a.b ", ""},
	{"bare addresses without a space", "", "_http://a", ""}, // quadratic
	{"bare addresses of one word", "", "(www.a", ""},        // quadratic
	{"addresses of mail", "", "a@b.c ", ""},
	{"words of mail", "", "a_", "@b.c"}, // quadratic
	{"points of mail", "a@", "b.", ""},
	{"entities", "", "&amp;", ""},
	{"entities without end", "", "&", ""},
	{"numbers of entities", "", "&#1", ""},
	{"backslashes", "", "\\", ""},
	{"boxes", "", "- [ ] a\n", ""},
	{"headings of one name", "", "# a\n", ""},
	{"headings of names that are taken", "", "", ""}, // made below
	{"one heading of many words", "# ", "a ", ""},
	{"underlined headings", "", "a\n=\n", ""},
	{"one long underlined heading", "", "a\n", "==="},
	{"rulers below text", "", "a\n-\n", ""},
	{"quotes and lists on a line", "", "> - ", "a"},
	{"quotes and lists over lines", "", "> - a\n", ""},
	{"lists of two sorts on a line", "", "- 1. ", "a"},
	{"items of two sorts", "", "- a\n1. b\n", ""},
	{"items that begin with a number too large", "", "10000000000. a\n", ""},
	{"items of fences", "", "- ```\n", ""},
	{"items of tables", "", "- a|b\n  -|-\n", ""},
	{"items of boxes on a line", "", "- [ ] ", "a"},
	{"items in tabs", "", "\t- a\n", ""},
	{"lazy lines behind quotes", "", "> a\nb\n", ""},
	{"fences of two sorts", "", "```\n~~~\n", ""},
	{"a fence with a long language", "```", "a", "\n"},
	{"indented code", "", "    a\n", ""},
	{"indented code between text", "", "a\n\n    b\n\n", ""},
	{"rows without a ruler", "", "|a|\n", ""},
	{"small tables", "", "a|b\n-|-\n\n", ""},
	{"a table of backticks", "a|b\n-|-\n", "`|`\n", ""},
	{"a table of links", "a|b\n-|-\n", "[a](b)|![c](d)\n", ""},
	{"a head of escaped bars", "|", "\\|", "|\n|-|\n"},
	{"brackets and lines", "", "[\n", ""},
	{"links over lines", "", "[a](\n", ""},
	{"titles over lines", "", "[a](b\n'c", ""},
	{"titles in parentheses", "", "[a](b (c", ""},
	{"escaped brackets", "", "\\[", ""},
	{"pictures without a definition", "", "![a][b]", ""},
	{"definitions in angles without end", "", "[a]: <", ""},
	{"definitions with titles over lines", "", "[a]: b\n'c\n", ""},
	{"definitions in quotes", "", "> [a]: b\n", ""},
	{"definitions of long names", "", "[" + strings.Repeat("a", 900) + "]: b\n\n", ""},
	{"emphases that cross", "", "*a **b* c** ", ""},
	{"emphases of two sorts", "", "_a__b_ *c*", ""},
	{"strikes that cross", "", "~a ~~b~ c~~ ", ""},
	{"emphases of growing length", "", "", ""}, // made below
	{"backticks that nest", "", "`` ` `` ", ""},
	{"footnotes that refer to themselves", "", "[^a]: [^a]\n\n", ""},
	{"footnotes and brackets", "", "[^a][^b]", ""},
	{"pictures of footnotes", "[^a]: b\n\n", "![^a]", ""},
	{"addresses of mail in angles", "", "<a@b.c>", ""},
	{"addresses with a scheme of mail", "", "mailto:a@b.c ", ""},
	{"bare addresses with parentheses", "https://a.b/", "(", ""},
	{"bare addresses that close", "https://a.b/", ")", ""},
	{"www and nothing else", "", "www.", ""},
	{"signs of mail", "", "a@", ""},
	{"names of entities", "", "&CounterClockwiseContourIntegral;", ""},
	{"entities of two characters", "", "&ngE;", ""},
	{"entities of the last character", "", "&#x10FFFF;", ""},
	{"references to documents", "", "[a](document:01a1ddaf-e222-75b0-8b0f-db9056ab7cea)", ""},
	{"references to media", "", "![a](media:01a1ddaf-e222-75b0-8b0f-db9056ab7cea)", ""},
	{"characters with accents", "", "a\u0301\u0327", ""},
	{"code of HTML", "```html\n", "<a b='", "\n```"},
	{"code of comments", "```html\n", "<!--", "\n```"},
	{"code of settings", "```yaml\n", "a: \"b\n", "\n```"},
	{"code of variables", "```sh\n", "${", "\n```"},
	{"code of sessions", "```console\n", "$ '\"\n", "\n```"},
	{"many short blocks of code", "", "```go\na\n```\n", ""},
	{"null", "", "\x00", ""},
	{"not UTF-8", "", "\xff", ""},
	{"carriage returns", "", "\r", ""},
	{"wide characters", "", "漢", ""},
	{"signs that become five", "", "\"", ""},
}

// bombSize is the size of the longest text of a document, and in the quick form an eighth.
var bombSize = proof.Rounds(MaxText/8, MaxText, MaxText)

func bombText(i int) string {
	b := bombs[i]
	switch b.name {
	case "backticks of growing length":
		return growing(func(i int) string { return strings.Repeat("`", i) + "a" })
	case "headings of names that are taken":
		return growing(func(i int) string { return fmt.Sprintf("# a\n# a-%d\n", i) })
	case "emphases of growing length":
		return growing(func(i int) string { return strings.Repeat("*", i%500) + "a " })
	case "footnotes of different names":
		return growing(func(i int) string { return fmt.Sprintf("[^%d]: a\n\n[^%d]\n\n", i, i) })
	}
	n := max(0, bombSize-len(b.head)-len(b.tail)) / len(b.part)
	return b.head + strings.Repeat(b.part, n) + b.tail
}

func growing(part func(int) string) string {
	var text strings.Builder
	for i := 1; text.Len() < bombSize; i++ {
		text.WriteString(part(i))
	}
	return text.String()[:bombSize]
}

// measured is set if the machine does nothing else, so that a second can be measured: in `make
// texts` and `make proof`.
var measured = proof.Rounds(0, 1, 1) == 1

// D83, D165: for any input, a mebibyte costs no more than its budget, and less than 128 MiB. How much a
// processor does in a second depends on the machine, so the steps are counted, and the time is only
// logged.
func TestPage_NoTextCostsMoreThanItsBudget(t *testing.T) {
	r := New(Options{})
	row := proof.Row{Name: "texts that are hard to render", Control: "a budget without end for 64 KiB of escaped bars"}
	plain, slowest, largest := 0, time.Duration(0), uint64(0)
	for i, b := range bombs {
		text := bombText(i)
		w := weigh(t, r, text, newMeter(len(text)))
		t.Logf("%-40s %8v %4d MiB, plain: %-5t %3d Msteps, %3d MiB paid", b.name, w.took.Round(1e6), w.allocated>>20, w.page == nil, w.spent.steps/1e6, w.spent.bytes>>20)
		for _, complaint := range w.complaints {
			t.Errorf("%s: %s", b.name, complaint)
		}
		if w.page == nil {
			plain++
		}
		row.Lost += len(w.complaints)
		slowest, largest = max(slowest, w.took), max(largest, w.allocated)
	}
	row.Figures = []proof.Figure{{Name: fmt.Sprintf("texts of %d KiB", bombSize>>10), Value: len(bombs)}, {Name: "shown as plain text", Value: plain},
		{Name: "longest work of a processor", Value: slowest.Round(time.Millisecond)}, {Name: "most memory MiB", Value: int(largest >> 20)}}
	free := newMeter(0)
	free.steps, free.bytes = math.MaxInt, math.MaxInt
	free.allowed = cost{steps: free.steps, bytes: free.bytes}
	row.Caught = len(weigh(t, r, "|a|\n|-|\n"+strings.Repeat("|`\\|`|\n", 1<<13), free).complaints) > 0
	row.Report(t)
}

// weight is the cost of rendering a text.
type weight struct {
	page       *Page // nil if it is shown as plain text
	spent      cost
	took       time.Duration
	allocated  uint64
	complaints []string // costs that exceed what is promised
}

// weigh renders a text as Markdown, paid for by a meter, and compares the cost with the budget for
// a text of its length.
func weigh(t *testing.T, r *Renderer, text string, m *meter) (w weight) {
	t.Helper()
	complain := func(format string, args ...any) { w.complaints = append(w.complaints, fmt.Sprintf(format, args...)) }
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := threadTime(t)
	w.page = r.attempt(clean(text), m)
	shown := w.page
	if shown == nil {
		shown = plainPage(clean(text))
	}
	w.took, w.spent = threadTime(t)-start, m.spent()
	runtime.ReadMemStats(&after)
	w.allocated = after.TotalAlloc - before.TotalAlloc
	if w.spent.fault != nil {
		complain("the parser panics: %v", w.spent.fault)
	}
	if measured && w.took > time.Second {
		complain("a processor worked %v", w.took)
	}
	if w.allocated > 128<<20 {
		complain("%d MiB were allocated", w.allocated>>20)
	}
	if limit := newMeter(len(text)); w.spent.steps > limit.steps || w.spent.bytes > limit.bytes {
		complain("%d steps and %d bytes were spent, of %d and %d", w.spent.steps, w.spent.bytes, limit.steps, limit.bytes)
	}
	if n := len(shown.HTML(Refs{Selves: true})); n > maxOutput {
		complain("the page has %d bytes", n)
	}
	return w
}
