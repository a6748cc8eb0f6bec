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

// contractPage has what Sheaf promises to its users. Tests and comments refer to its rules by their numbers:
// D1 and so on. contractTests lists the tests that prove each rule, one rule a line.
const (
	contractPage  = "docs/contract.md"
	contractTests = "internal/archtest/testdata/contract.txt"
)

var (
	ruleStart  = regexp.MustCompile(`(?m)^<a id="(d[0-9]+[a-z]?)"></a>\*\*(D[0-9]+[a-z]?) `)
	testName   = regexp.MustCompile(`^(?:Test|Fuzz)[A-Z]`)
	ruleNumber = regexp.MustCompile(`\bD[0-9]{1,3}[a-z]?\b`)
	testRef    = regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w*`)
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

// checkContract returns a line for each way in which the page, the list of tests and the repository disagree.
func checkContract(page, list string, repo repository) (found []string) {
	complain := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }

	var rules []string
	starts := ruleStart.FindAllStringSubmatchIndex(page, -1)
	proofs := map[string][]string{}
	for line := range strings.Lines(list) {
		rule, names, _ := strings.Cut(line, ":")
		proofs[rule] = testRef.FindAllString(names, -1)
	}
	for _, at := range starts {
		anchor, rule := page[at[2]:at[3]], page[at[4]:at[5]]
		if strings.ToLower(rule) != anchor {
			complain("%s has the anchor %s", rule, anchor)
		}
		if slices.Contains(rules, rule) {
			complain("%s stands there twice", rule)
		}
		rules = append(rules, rule)
		if len(proofs[rule]) == 0 {
			complain("%s has no test: list those that prove it in %s", rule, contractTests)
		}
		for _, name := range proofs[rule] {
			if complaint := checkReference(rule, name, repo.tests[name]); complaint != "" {
				complain("%s", complaint)
			}
		}
		delete(proofs, rule)
	}
	for rule := range proofs {
		if !slices.Contains(rules, rule) {
			complain("%s has %s, which is no rule of the contract", contractTests, rule)
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
	list, err := os.ReadFile(filepath.Join(root, contractTests))
	if err != nil {
		t.Fatal(err)
	}
	for _, complaint := range checkContract(string(page), string(list), readRepository(t)) {
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
		first  = "<a id=\"d1\"></a>**D1 One** text.\n\n"
		second = "<a id=\"d2a\"></a>**D2a Two** text.\n\n"
		tests  = "D1: TestA\nD2a: TestA TestB\n"
	)
	for _, c := range []struct{ page, tests, want string }{
		{first + second, tests, ""},
		{second, "D2a: TestB\n", "x/a_test.go:12 names D1, which is no rule of the contract"},
		{first + second, "D1: TestC\nD2a: TestB\n", "D1 names TestC, which is no test"},
		{first + second, "D1: TestB\nD2a: TestB\n", "D1 names TestB, whose comment does not name it: begin that with // D1"},
		{first + second, "D1:\nD2a: TestB\n", "D1 has no test: list those that prove it in " + contractTests},
		{first + second, tests + "D3: TestA\n", contractTests + " has D3, which is no rule of the contract"},
		{strings.Replace(first+second, "d1", "d3", 1), tests, "D1 has the anchor d3"},
	} {
		if got := strings.Join(checkContract(c.page, c.tests, repo), "; "); got != c.want {
			t.Errorf("got  %q\nwant %q\nfor\n%s%s", got, c.want, c.page, c.tests)
		}
	}
	if got := checkContract(first+first+second, tests, repo); !slices.Contains(got, "D1 stands there twice") {
		t.Errorf("a rule that stands there twice gives %q", got)
	}
}
