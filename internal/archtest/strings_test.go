package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

const stringList = "testdata/strings.txt"

// wording has the files whose strings people read, and how the strings of each are found.
var wording = []struct {
	files string
	read  func(string) ([]string, error)
}{
	{"internal/console/pages/*.html", stringsOfTemplate},
	{"internal/console/static/*.js", stringsOfScript},
	{"internal/console/*.go", stringsOfGo},
	{"internal/publish/pages/*.html", stringsOfTemplate},
	{"internal/publish/*.go", stringsOfGo},
}

// The list has every string of the console and of the pages of shares, so that they can be read and
// corrected in one go, and translated. A string that is missing from it has not been read.
func TestStrings_AreThoseOfTheList(t *testing.T) {
	var found strings.Builder
	count := 0
	for _, w := range wording {
		files, err := filepath.Glob(root + "/" + w.files)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", w.files, len(files), err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, ".min.js") || filepath.Base(file) == "codemirror.js" {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines, err := w.read(string(source))
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if lines = unique(lines); len(lines) > 0 {
				count += len(lines)
				fmt.Fprintf(&found, "\n== %s\n%s\n", strings.TrimPrefix(file, root+"/"), strings.Join(lines, "\n"))
			}
		}
	}
	if count < 600 {
		t.Fatalf("only %d strings found: the test looks in the wrong place", count)
	}
	now := stringsHead + found.String()
	if *update {
		if err := os.WriteFile(stringList, []byte(now), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := os.ReadFile(stringList)
	if err != nil {
		t.Fatal(err)
	}
	if string(list) == now {
		return
	}
	old, fresh := strings.Split(string(list), "\n"), strings.Split(now, "\n")
	for _, line := range fresh {
		if !slices.Contains(old, line) {
			t.Errorf("%s lacks %q", stringList, line)
		}
	}
	for _, line := range old {
		if !slices.Contains(fresh, line) {
			t.Errorf("%s has %q, which nothing shows any more", stringList, line)
		}
	}
	t.Errorf("%s is not as the sources are: read the strings that changed as a stranger would, then run go test ./internal/archtest -run TestStrings -update", stringList)
}

const stringsHead = `Every string that people read in the console and on pages of shares, by the file that has it.
{Name} stands for a value, [a | b] for text that depends on a condition, / for a line break.
Refusals of inputs, which the API has too, are in fields.txt.
Written by: go test ./internal/archtest -run TestStrings -update
`

// The reading of each kind of file finds what people read, and only that.
func TestStrings_AreFoundInEachKindOfFile(t *testing.T) {
	for _, test := range []struct {
		read         func(string) ([]string, error)
		source, want string
	}{
		{stringsOfTemplate, `{{define "title"}}Delete {{.Data.Name}}?{{end}}`, "Delete {Name}?"},
		{stringsOfTemplate, `{{/* Not shown. */}}<p class="hint">{{if .Self}}You <b>lose</b> it{{else if .All}}They lose it{{else}}<code>it</code> stays{{end}}.</p>`, "[You lose it | They lose it | it stays]."},
		{stringsOfTemplate, `<a class="button" href="{{.At "keys"}}"{{if .Dialog}} data-dialog{{end}} aria-label="Revoke {{.Name}}">Revoke</a>`, "Revoke {Name}\nRevoke"},
		{stringsOfTemplate, `<p>{{many .Count "document"}}, changed {{time .At}} by {{template "who" .}}</p><span>{{.Name}}</span>`, "{n} document(s), changed {time} by"},
		{stringsOfTemplate, `<script>"Not shown at all"</script><input placeholder="Find an icon" name="not shown">`, "Find an icon"},
		{stringsOfScript, "say(`${row.dataset.name} was not moved.`); // not shown to people\n const x = $(\"[role=status] .row\", \"Copied.\"), k = \"Enter\", l = ['a', \"Edit\"];", "{…} was not moved.\nCopied.\nEdit"},
		{stringsOfScript, `headers: { "HX-Request": "true", "Content-Type": "application/json" }; "use strict"`, ""},
		{stringsOfGo, "package x\nvar a = field{Name: \"color\", Label: \"Color\"}\nfunc f() error { x.Log.Error(\"page failed here\", \"path\", 1); h.Set(\"Allow\", \"a b\"); return sheaf.Invalidf(\"Choose a file first.\") }", "Color\nChoose a file first."},
	} {
		got, err := test.read(test.source)
		if err != nil || strings.Join(got, "\n") != test.want {
			t.Errorf("%s\nhas %q, %v; want %q", test.source, got, err, test.want)
		}
	}
}

// unique returns the lines without repetitions, in their order.
func unique(lines []string) (out []string) {
	for _, line := range lines {
		if !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	return out
}

var (
	action      = regexp.MustCompile(`(?s)\{\{-?\s*(.*?)\s*-?\}\}`)
	assignment  = regexp.MustCompile(`^\$\w*(, \$\w+)? :?=`)
	lastName    = regexp.MustCompile(`[.$](\w+)\W*$`)
	firstWord   = regexp.MustCompile(`^\w+`)
	counted     = regexp.MustCompile(`^many .* "([\w ]+)"$`)
	placeholder = regexp.MustCompile(`\{[^}]*\}`)
	letters     = regexp.MustCompile(`\pL{2}`)
)

// shownAttributes are the attributes whose values people read or hear.
var shownAttributes = []string{"aria-label", "title", "placeholder", "alt", "data-confirm", "data-drop-name"}

// inline are the elements that are parts of a sentence. A link is one if it is inside a paragraph.
var inline = []string{"b", "bdi", "br", "code", "del", "em", "i", "ins", "kbd", "mark", "strong"}

// stringsOfTemplate returns the texts and attributes of a template.
func stringsOfTemplate(source string) (out []string, err error) {
	tokens := html.NewTokenizer(strings.NewReader(withoutActions(source)))
	var text strings.Builder
	flush := func() {
		for part := range strings.SplitSeq(text.String(), "\x00") {
			part = strings.Join(strings.Fields(part), " ")
			part = strings.NewReplacer("[ ", "[", " ]", "]", " .", ".", " ,", ",").Replace(part)
			for empty := regexp.MustCompile(`\[[ |]*\]`); empty.MatchString(part); {
				part = strings.TrimSpace(empty.ReplaceAllString(part, ""))
			}
			if part = balanced(part); letters.MatchString(placeholder.ReplaceAllString(part, "")) {
				out = append(out, part)
			}
		}
		text.Reset()
	}
	paragraphs, silent := 0, false
	for {
		switch kind := tokens.Next(); kind {
		case html.ErrorToken:
			flush()
			return out, nil
		case html.TextToken:
			if !silent {
				text.WriteString(html.UnescapeString(string(tokens.Raw())))
			}
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			token := tokens.Token()
			end := kind == html.EndTagToken
			if token.Data == "p" {
				paragraphs = map[bool]int{true: 0, false: 1}[end]
			}
			if token.Data == "script" || token.Data == "style" {
				silent = !end
			}
			if token.Data == "br" {
				text.WriteString(" / ")
			}
			if !slices.Contains(inline, token.Data) && !(token.Data == "a" && paragraphs > 0) {
				flush()
			}
			if end {
				break
			}
			for _, a := range token.Attr {
				if value := strings.Join(strings.Fields(a.Val), " "); slices.Contains(shownAttributes, a.Key) && letters.MatchString(placeholder.ReplaceAllString(value, "")) {
					out = append(out, value)
				}
			}
		}
	}
}

// balanced removes the brackets of conditions that begin or end outside the text.
func balanced(s string) string {
	keep := make([]bool, len(s))
	var open []int
	for i := range len(s) {
		switch keep[i] = true; s[i] {
		case '[':
			keep[i] = false
			open = append(open, i)
		case ']':
			keep[i] = len(open) > 0
			if keep[i] {
				keep[open[len(open)-1]], open = true, open[:len(open)-1]
			}
		}
	}
	depth, out := 0, strings.Builder{}
	for i := range len(s) {
		if !keep[i] {
			continue
		}
		switch s[i] {
		case '[':
			depth++
		case ']':
			depth--
		case '|':
			if depth == 0 {
				continue
			}
		}
		out.WriteByte(s[i])
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

// withoutActions replaces the actions of a template: a value by its name in braces, a condition by
// brackets, anything else by the end of the text.
func withoutActions(source string) string {
	var blocks []string // the closing text of each open block
	return action.ReplaceAllStringFunc(source, func(all string) string {
		inner := action.FindStringSubmatch(all)[1]
		switch word := firstWord.FindString(inner); {
		case strings.HasPrefix(inner, "/*"), assignment.MatchString(inner), word == "icon", word == "invalid":
			return ""
		case word == "define":
			blocks = append(blocks, "\x00")
			return "\x00"
		case word == "if", word == "with", word == "range":
			blocks = append(blocks, "]")
			return "["
		case word == "else":
			return " | "
		case word == "end":
			if len(blocks) == 0 {
				return ""
			}
			last := blocks[len(blocks)-1]
			blocks = blocks[:len(blocks)-1]
			return last
		case word == "template":
			return "\x00"
		case word == "time", word == "clock", word == "day":
			return "{time}"
		case word == "bytes", word == "size":
			return "{size}"
		}
		if m := counted.FindStringSubmatch(inner); m != nil {
			return "{n} " + m[1] + "(s)"
		}
		if m := lastName.FindStringSubmatch(inner); m != nil {
			return "{" + m[1] + "}"
		}
		return "{…}"
	})
}

var (
	quotation = regexp.MustCompile("\"(?:[^\"\\\\\n]|\\\\.)*\"|`(?:[^`\\\\]|\\\\.)*`|'(?:[^'\\\\\n]|\\\\.)*'|(?m:(?:^|\\s)//.*$)")
	hole      = regexp.MustCompile(`\$\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}`)
	selector  = regexp.MustCompile(`\w\(|^\(|^https?://$|^[a-z]+:? $|^(retry|draft|event|: )|data:|(^|[\s,>])[.#:\[*][\w-]|[\]=<>]|^[a-z]+\.[a-z]|-[a-z]+\]`)
	oneWord   = regexp.MustCompile(`^[A-Z][a-z]+[.…]?$`)
	someWords = regexp.MustCompile(`\pL{2,}.* |^ .*\pL{2,}| .*\pL{2,}`)
)

// names are words that look like text and are names of keys, of methods or of kinds of data.
var names = []string{"Enter", "Escape", "Tab", "Home", "End", "Files", "Delete", "Backspace", "use strict", "input, textarea, select", "a, button"}

// prose reports whether a literal is text for people, and not code.
func prose(s string) bool {
	bare := strings.TrimSpace(placeholder.ReplaceAllString(s, "x"))
	if slices.Contains(names, strings.TrimSpace(s)) || selector.MatchString(bare) || strings.Contains(bare, "; ") || strings.Contains(bare, "/v1") {
		return false
	}
	return oneWord.MatchString(bare) || someWords.MatchString(placeholder.ReplaceAllString(s, "x")) && regexp.MustCompile(`\pL{3}`).MatchString(bare)
}

// stringsOfScript returns the literals of a script that are text.
func stringsOfScript(source string) (out []string, err error) {
	for _, literal := range quotation.FindAllString(source, -1) {
		if c := literal[0]; c != '"' && c != '`' && c != '\'' {
			continue // a comment
		}
		text := hole.ReplaceAllString(literal[1:len(literal)-1], "{…}")
		isDelete := text == "Delete" // a button, although a key has this name
		if prose(text) || isDelete {
			out = append(out, strings.TrimSpace(text))
		}
	}
	return out, nil
}

// unshown are the functions whose texts no person reads in the browser.
var unshown = []string{"Set", "Get", "Add", "Del", "Errorf", "New", "panic", "Error", "Info", "Warn", "Debug", "Inc", "MustCompile", "Sprint", "HasPrefix", "Cut", "CutSuffix", "TrimSuffix", "Contains", "LookupEnv", "Format"}

// stringsOfGo returns the literals of a file that are text.
func stringsOfGo(source string) (out []string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", source, 0)
	if err != nil {
		return nil, err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			return !slices.Contains(unshown, calledName(n))
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			return n.Tag == nil
		case *ast.BasicLit:
			if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && !strings.Contains(s, "<!doctype") && prose(s) {
				out = append(out, strings.ReplaceAll(strings.TrimSpace(s), "\n", " / "))
			}
		}
		return true
	})
	return out, nil
}

// Some strings once had words that people do not use. They keep the usual words.
func TestStrings_AreWhatPeopleSay(t *testing.T) {
	list, err := os.ReadFile(stringList)
	if err != nil {
		t.Fatal(err)
	}
	for _, said := range []string{"No matches", "Events", "Expires", "Never expires", "No views yet", "Remove password", "Manual order", "They lose access to this workspace",
		"Forgot it? Ask an owner of your workspace", "Confirm password", "Restored your unsaved changes", "Previous", "Videos", "Audio", "Moved %s to %s."} {
		if !strings.Contains(string(list), said) {
			t.Errorf("no string of the pages says %q", said)
		}
	}
	for _, unsaid := range []string{"Nothing is called so", "It hears of"} {
		if strings.Contains(string(list), unsaid) {
			t.Errorf("a string of the pages says %q", unsaid)
		}
	}
}
