package render

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// bombs are texts of a size that a naive parser takes minutes for, or all memory: each repeats
// something, some between a beginning and an end. What goldmark takes more than linear time for by
// itself is marked.
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
	{"null", "", "\x00", ""},
	{"not UTF-8", "", "\xff", ""},
	{"carriage returns", "", "\r", ""},
	{"wide characters", "", "漢", ""},
	{"signs that become five", "", "\"", ""},
}

// bombSize is the longest text that a document can hold.
const bombSize = MaxText

func bombText(i int) string {
	b := bombs[i]
	switch b.name {
	case "backticks of growing length":
		return growing(func(i int) string { return strings.Repeat("`", i) + "a" })
	case "footnotes of different names":
		return growing(func(i int) string { return fmt.Sprintf("[^%d]: a\n\n[^%d]\n\n", i, i) })
	}
	n := (bombSize - len(b.head) - len(b.tail)) / len(b.part)
	return b.head + strings.Repeat(b.part, n) + b.tail
}

func growing(part func(int) string) string {
	var text strings.Builder
	for i := 1; text.Len() < bombSize; i++ {
		text.WriteString(part(i))
	}
	return text.String()[:bombSize]
}

// measured is set where the machine has nothing else to do, and a second can be measured.
var measured = os.Getenv("SHEAF_LONG") == "1"

// D83: whatever is put in, a mebibyte of it costs no more than its budget, and less than 128 MiB.
// What a second of a processor is, depends on the machine: here the steps are counted, and the time
// is only told.
func TestPage_NoTextCostsMoreThanItsBudget(t *testing.T) {
	r := New(Options{})
	for i, b := range bombs {
		text := bombText(i)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := threadTime(t)
		p, spent := r.render(text)
		took := threadTime(t) - start
		runtime.ReadMemStats(&after)
		allocated := after.TotalAlloc - before.TotalAlloc

		t.Logf("%-40s %8v %4d MiB, plain: %-5t %3d Msteps, %3d MiB paid", b.name, took.Round(1e6), allocated>>20, p.Plain(), spent.steps/1e6, spent.bytes>>20)
		if spent.fault != nil {
			t.Errorf("%s: the parser panics: %v", b.name, spent.fault)
		}
		if measured && took > time.Second {
			t.Errorf("%s: a processor worked %v", b.name, took)
		}
		if allocated > 128<<20 {
			t.Errorf("%s: %d MiB were allocated", b.name, allocated>>20)
		}
		if limit := newMeter(len(text)); spent.steps > limit.steps || spent.bytes > limit.bytes {
			t.Errorf("%s: %d steps and %d bytes were spent, of %d and %d", b.name, spent.steps, spent.bytes, limit.steps, limit.bytes)
		}
		if len(p.HTML(Refs{})) > maxOutput {
			t.Errorf("%s: the page has %d bytes", b.name, len(p.HTML(Refs{})))
		}
	}
}
