package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var citedTest = regexp.MustCompile("`(Test[A-Z]\\w+)`")

// A document that names a test as its evidence names one that exists.
func TestDocs_NameTestsThatExist(t *testing.T) {
	declared := declaredTests(t)
	docs, err := filepath.Glob(root + "/docs/*.md")
	if err != nil || len(docs) == 0 {
		t.Fatalf("no documents found: %v", err)
	}
	for _, doc := range docs {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, cited := range citedTest.FindAllStringSubmatch(string(text), -1) {
			if !declared[cited[1]] {
				t.Errorf("%s names %s, which is no test", filepath.Base(doc), cited[1])
			}
		}
	}
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

func declaredTests(t *testing.T) map[string]bool {
	t.Helper()
	files, err := parseTree(root)
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for _, f := range files {
		if !strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		source, err := os.ReadFile(filepath.Join(root, f.path))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range testFunction.FindAllStringSubmatch(string(source), -1) {
			declared[found[1]] = true
		}
	}
	return declared
}
