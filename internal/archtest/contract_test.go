package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// contractPage is what Sheaf promises to its users. Its rules have numbers, D1 and so on, by which
// tests and comments refer to them.
const contractPage = "docs/contract.md"

var (
	ruleStart  = regexp.MustCompile(`(?m)^<a id="(d[0-9]+[a-z]?)"></a>\*\*(D[0-9]+[a-z]?) `)
	testName   = regexp.MustCompile(`^(?:Test|Fuzz)[A-Z]`)
	ruleNumber = regexp.MustCompile(`\bD[0-9]{1,3}[a-z]?\b`)
	testRef    = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)`")
)

// A contractTest is a test function, with the rules that its comments name.
type contractTest struct {
	rules []string
}

// A repository is what the contract's page is held against.
type repository struct {
	tests map[string][]contractTest // by the name of the function
	named map[string]string         // each number that a comment or a page names, with a place where it does
}

// checkContract returns a line for each way in which the page and the repository disagree.
func checkContract(page string, repo repository) (found []string) {
	complain := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }

	var rules []string
	starts := ruleStart.FindAllStringSubmatchIndex(page, -1)
	for i, at := range starts {
		anchor, rule := page[at[2]:at[3]], page[at[4]:at[5]]
		if strings.ToLower(rule) != anchor {
			complain("%s has the anchor %s", rule, anchor)
		}
		if slices.Contains(rules, rule) {
			complain("%s stands there twice", rule)
		}
		rules = append(rules, rule)

		end := len(page)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		refs := testRef.FindAllStringSubmatch(page[at[0]:end], -1)
		if len(refs) == 0 {
			complain("%s has no test: write the names of those that prove it below it", rule)
		}
		for _, ref := range refs {
			if complaint := checkReference(rule, ref[1], repo.tests[ref[1]]); complaint != "" {
				complain("%s", complaint)
			}
		}
	}
	for number, place := range repo.named {
		if !slices.Contains(rules, number) {
			complain("%s names %s, which is no rule of the contract", place, number)
		}
	}
	slices.Sort(found)
	return found
}

// checkReference returns what is wrong with a test that a rule names, or "". declared are the test functions
// of that name.
func checkReference(rule, name string, declared []contractTest) string {
	if len(declared) == 0 {
		return fmt.Sprintf("%s names %s, which is no test", rule, name)
	}
	if !slices.ContainsFunc(declared, func(c contractTest) bool { return slices.Contains(c.rules, rule) }) {
		return fmt.Sprintf("%s names %s, whose comment does not name it: begin that with // %s", rule, name, rule)
	}
	return ""
}

// readRepository collects the tests, and every number that a comment in Go or a page of the
// documentation names.
func readRepository(t *testing.T) repository {
	t.Helper()
	repo := repository{tests: map[string][]contractTest{}, named: map[string]string{}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != root && isForeign(path, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case rel == contractPage:
		case filepath.Ext(path) == ".md":
			text, err := os.ReadFile(path)
			repo.name(rel, string(text))
			return err
		case filepath.Ext(path) == ".go":
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return repo.add(rel, source)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

// name keeps the numbers of a text that stands at place.
func (r repository) name(place, text string) (numbers []string) {
	numbers = ruleNumber.FindAllString(text, -1)
	for _, n := range numbers {
		r.named[n] = place
	}
	return numbers
}

// add keeps the numbers and tests of a Go file. A test names the rules of the comment above it and
// of those inside.
func (r repository) add(path string, source []byte) error {
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, path, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if path != "internal/archtest/contract_test.go" { // its controls name rules that are none
		for _, group := range syntax.Comments {
			r.name(fmt.Sprintf("%s:%d", path, set.Position(group.Pos()).Line), group.Text())
		}
	}
	for _, decl := range syntax.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !testName.MatchString(f.Name.Name) || !strings.HasSuffix(path, "_test.go") {
			continue
		}
		var found contractTest
		for _, group := range syntax.Comments {
			if group == f.Doc || f.Pos() <= group.Pos() && group.End() <= f.End() {
				found.rules = append(found.rules, ruleNumber.FindAllString(group.Text(), -1)...)
			}
		}
		r.tests[f.Name.Name] = append(r.tests[f.Name.Name], found)
	}
	return nil
}

// Every rule of the contract has tests that exist and name it, and no number is used whose rule is
// not on the page.
func TestContract_EveryRuleHasATest(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, contractPage))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(ruleStart.FindAllString(string(page), -1)); n < 60 {
		t.Fatalf("only %d rules found: the page has another form", n)
	}
	for _, complaint := range checkContract(string(page), readRepository(t)) {
		t.Errorf("%s: %s", contractPage, complaint)
	}
}

// The control: each way to disagree is found, and a page that agrees is not.
func TestContract_DisagreementsAreFound(t *testing.T) {
	repo := repository{tests: map[string][]contractTest{}, named: map[string]string{}}
	err := repo.add("x/a_test.go", []byte(`package x

// D1, D2a: both of them.
func TestA(t *testing.T) {}

func TestB(t *testing.T) {
	do() // D2a
}

var s = "D9 is no comment"

// helper is not a test (D1).
func helper() {}
`))
	if err != nil {
		t.Fatal(err)
	}
	const (
		first  = "<a id=\"d1\"></a>**D1 One** text.\\\n*Tests:* `TestA`\n\n"
		second = "<a id=\"d2a\"></a>**D2a Two** text.\\\n*Tests:* `TestA`, `TestB`\n\n"
	)
	for page, want := range map[string]string{
		first + second: "",
		second:         "x/a_test.go:12 names D1, which is no rule of the contract",
		strings.Replace(first+second, "TestA`\n", "TestC`\n", 1):     "D1 names TestC, which is no test",
		strings.Replace(first+second, "TestA`\n", "TestB`\n", 1):     "D1 names TestB, whose comment does not name it: begin that with // D1",
		strings.Replace(first+second, "*Tests:* `TestA`\n", "\n", 1): "D1 has no test: write the names of those that prove it below it",
		strings.Replace(first+second, "d1", "d3", 1):                 "D1 has the anchor d3",
		first + first + second:                                       "D1 stands there twice",
	} {
		if got := strings.Join(checkContract(page, repo), "; "); got != want {
			t.Errorf("got  %q\nwant %q\nfor\n%s", got, want, page)
		}
	}
}
