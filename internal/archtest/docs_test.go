package archtest

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var citedTest = regexp.MustCompile("`(Test[A-Z]\\w+)`")

// A document that names a test as its evidence names one that exists.
func TestDocs_NameTestsThatExist(t *testing.T) {
	declared := declaredTests(t)
	for doc, text := range documents(t) {
		for _, cited := range citedTest.FindAllStringSubmatch(text, -1) {
			if !declared[cited[1]] {
				t.Errorf("%s names %s, which is no test", doc, cited[1])
			}
		}
	}
}

// documents returns the texts that people read, by their paths from the root.
func documents(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no documents in %s: %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			texts[strings.TrimPrefix(filepath.ToSlash(file), root+"/")] = string(text)
		}
	}
	return texts
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

var citedFile = regexp.MustCompile("`([\\w./*-]+\\.go)`")

// A document that names a source file names one that exists, by as much of its path as it gives.
func TestDocs_NameFilesThatExist(t *testing.T) {
	files, err := parseTree(root)
	if err != nil {
		t.Fatal(err)
	}
	for doc, text := range documents(t) {
		for _, cited := range citedFile.FindAllStringSubmatch(text, -1) {
			if !slices.ContainsFunc(files, func(f file) bool { return endsIn(f.path, cited[1]) }) {
				t.Errorf("%s names %s, which is no file", doc, cited[1])
			}
		}
	}
}

// endsIn reports whether the last elements of a path match a pattern.
func endsIn(file, pattern string) bool {
	elements := strings.Split(file, "/")
	n := strings.Count(pattern, "/") + 1
	if n > len(elements) {
		return false
	}
	ok, err := path.Match(pattern, strings.Join(elements[len(elements)-n:], "/"))
	return ok && err == nil
}

var decisionTitle = regexp.MustCompile(`^# ([0-9]+)\. \S`)

// A decision is cited by its number: each has one of its own, the same in its name and its title,
// and none is left out.
func TestDocs_DecisionsAreNumbered(t *testing.T) {
	decisions, err := filepath.Glob(root + "/docs/decisions/*.md")
	if err != nil || len(decisions) == 0 {
		t.Fatalf("no decisions found: %v", err)
	}
	for i, file := range decisions {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, title := filepath.Base(file), decisionTitle.FindStringSubmatch(string(text))
		if want := fmt.Sprintf("%04d-", i+1); !strings.HasPrefix(name, want) {
			t.Errorf("%s is in the place of number %d: give it the next free number", name, i+1)
		}
		if title == nil || !strings.HasPrefix(strings.TrimLeft(name, "0"), title[1]+"-") {
			t.Errorf("the title of %s does not begin with its number, as in \"# 7. redigo for Redis\"", name)
		}
	}
}

// The page that shows the rooms shows every room that has a rule.
func TestDocs_ArchitectureShowsEveryRoom(t *testing.T) {
	page := documents(t)["docs/architecture.md"]
	for _, r := range rules {
		short := strings.TrimPrefix(r.part, "internal/")
		if !strings.Contains(page, "`"+r.part) && !strings.Contains(page, "`"+short+"`") {
			t.Errorf("docs/architecture.md does not say what %s is for", r.part)
		}
	}
}
