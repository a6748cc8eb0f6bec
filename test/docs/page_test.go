// Package docs runs the documentation: each block of the README and of every page under docs, as a reader would paste
// it, against servers of their own, and compares what is printed with what the page shows. What is run and what is
// not, and how a page says so, is told in package markdown.
package docs

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest/markdown"
)

var update = flag.Bool("update", false, "write what is printed into the pages")

const root = "../.."

func pages(t *testing.T) []string {
	t.Helper()
	pages, err := markdown.Pages(root)
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	return pages
}

func read(t *testing.T, page string) (string, []markdown.Block) {
	t.Helper()
	text, blocks, err := markdown.Read(root, page)
	if err != nil {
		t.Fatal(err)
	}
	return text, blocks
}

// Every block is run by a test, or says why not.
func TestBlocks_AreRunOrSayWhyNot(t *testing.T) {
	tests := declared(t)
	for _, page := range pages(t) {
		_, blocks, err := markdown.Read(root, page)
		if err != nil {
			t.Error(err)
		}
		for i, b := range blocks {
			if why := unclaimed(b, blocks[i+1:], tests); why != "" {
				t.Errorf("%s: %s", b.Where(), why)
			}
		}
	}
}

// unclaimed returns what is wrong with a block that nobody runs.
func unclaimed(b markdown.Block, below []markdown.Block, tests string) string {
	switch {
	case b.RunBy != "":
		if !strings.Contains(tests, "func "+b.RunBy+"(") {
			return "no test is called " + b.RunBy
		}
	case runs(b) && foreign.MatchString(b.Text):
		return "what changes the machine is not run by a test: mark it"
	case b.NotRun != "", b.Answer, b.Lang == "sh":
	case b.Has("receiver"):
		if !slices.Contains([]string{"go", "js", "python", "php", "ruby"}, b.Lang) {
			return "TestReceivers has no way to start " + b.Lang
		}
	case b.Has("file"):
		named := func(other markdown.Block) bool {
			return other.Lang == "sh" && other.NotRun == "" && strings.Contains(other.Text, b.Attr["file"])
		}
		if !slices.ContainsFunc(below, named) {
			return "no command below uses " + b.Attr["file"]
		}
	case b.Lang == "json":
		if !json.Valid([]byte(b.Text)) {
			return "this is not JSON"
		}
	default:
		return "it is neither run nor marked: see internal/sheaftest/markdown"
	}
	return ""
}

// foreign are commands that act on more than the reader's folder.
var foreign = regexp.MustCompile(`\b(sudo|docker|systemctl|apt|apt-get|dpkg|make)\b`)

// declared returns the text of every test file of the repository.
func declared(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, pattern := range []string{"/*/*_test.go", "/*/*/*_test.go", "/*/*/*/*_test.go"} {
		files, err := filepath.Glob(root + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(b)
		}
	}
	return all.String()
}

// ofTheStranger are the pages that TestStranger_FromTheREADMEAlone runs, one after the other.
var ofTheStranger = []string{"README.md", "docs/quickstart.md"}

// Each page's commands work, in their order, and print what the page shows.
func TestPages_DoWhatTheySay(t *testing.T) {
	for _, page := range pages(t) {
		if slices.Contains(ofTheStranger, page) {
			continue
		}
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			text, blocks := read(t, page)
			if !slices.ContainsFunc(blocks, runs) {
				return
			}
			if foreign.MatchString(commands(blocks)) {
				t.Fatal("it has commands that change the machine")
			}
			s := open(t, blocks)
			if !slices.ContainsFunc(blocks, serves) {
				s.serve()
			}
			s.page(page, text, blocks)
		})
	}
}

// runs reports whether a block is pasted into a shell.
func runs(b markdown.Block) bool { return b.Lang == "sh" && b.NotRun == "" && b.RunBy == "" }

// serves reports whether a block starts the page's own server.
func serves(b markdown.Block) bool { return runs(b) && strings.Contains(b.Text, "sheaf serve") }

var link = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)

// A link from page to page leads somewhere.
func TestLinks_LeadSomewhere(t *testing.T) {
	for _, page := range append(pages(t), "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md") {
		b, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(string(b), -1) {
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(page), found[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", page, found[1])
			}
		}
	}
}

// commands returns what is run of these blocks.
func commands(blocks []markdown.Block) string {
	var all strings.Builder
	for _, b := range blocks {
		if runs(b) {
			all.WriteString(b.Text)
		}
	}
	return all.String()
}
