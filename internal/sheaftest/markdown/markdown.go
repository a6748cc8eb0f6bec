// Package markdown finds the fenced blocks of the documentation, for the tests that run them.
//
// A test runs a block, unless the line before it is a comment:
//
//	<!-- not run: why -->            no test can run it
//	<!-- run by TestName -->         a test of its own runs it
//
// After the language there may be, in any number:
//
//	file=NAME           the block is saved as NAME, for the commands below it
//	background="TEXT"   the commands run in the background; the following ones start after TEXT was printed
//	shows="TEXT"        another terminal prints TEXT soon after
//	receiver            the block is a program that receives webhooks: it gets valid and invalid ones
//
// In a block that shows an answer, … matches any text.
package markdown

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Block is one fenced block of a page.
type Block struct {
	Page string // its path, from the root of the repository
	Line int    // of its first line, counted from 1
	Lang string
	Attr map[string]string // the words after the language; a single word has no value
	Text string

	NotRun string // why it is not run; empty if it is
	RunBy  string // the test of its own that runs it; empty for none
	Answer bool   // it shows the output of the commands directly above it

	Start, End int // of Text in the page
}

// Where returns the page and line of the block.
func (b Block) Where() string { return fmt.Sprintf("%s:%d", b.Page, b.Line) }

// Has reports whether a word is among those after the language.
func (b Block) Has(word string) bool {
	_, ok := b.Attr[word]
	return ok
}

var (
	attribute = regexp.MustCompile(`(\w+)(?:=(?:"([^"]*)"|(\S+)))?`)
	notRun    = regexp.MustCompile(`^<!-- not run: (\S.*?) -->$`)
	runBy     = regexp.MustCompile(`^<!-- run by (Test\w+) -->$`)
)

// Blocks returns the blocks of a page in their order.
func Blocks(page, text string) ([]Block, error) {
	var (
		blocks []Block
		open   *Block
		before string // the last line above a fence
		gap    = true // there is text between two blocks
	)
	at, number := 0, 0
	for line := range strings.Lines(text) {
		number++
		bare := strings.TrimRight(line, "\r\n")
		switch {
		case open != nil && bare == "```":
			open.End = at
			open.Text = text[open.Start:at]
			blocks, open, gap = append(blocks, *open), nil, false
		case open != nil:
		case strings.HasPrefix(bare, "```"):
			open = newBlock(page, bare, before)
			open.Line, open.Start = number+1, at+len(line)
			open.Answer = !gap && isAnswer(open, blocks)
		case strings.HasPrefix(strings.TrimSpace(bare), "```"):
			return nil, fmt.Errorf("%s:%d: a fence begins in the first column", page, number)
		case strings.HasPrefix(bare, "    ") && before == "":
			return nil, fmt.Errorf("%s:%d: code stands between fences, not behind four spaces", page, number)
		case strings.TrimSpace(bare) != "":
			gap = true
		}
		if open == nil {
			before = bare
		}
		at += len(line)
	}
	if open != nil {
		return nil, fmt.Errorf("%s:%d: the block has no end", page, open.Line)
	}
	return blocks, nil
}

// newBlock reads the line of a fence, and the one above it.
func newBlock(page, fence, before string) *Block {
	lang, rest, _ := strings.Cut(strings.TrimPrefix(fence, "```"), " ")
	b := &Block{Page: page, Lang: lang, Attr: map[string]string{}}
	for _, found := range attribute.FindAllStringSubmatch(rest, -1) {
		b.Attr[found[1]] = found[2] + found[3]
	}
	if found := notRun.FindStringSubmatch(before); found != nil {
		b.NotRun = found[1]
	}
	if found := runBy.FindStringSubmatch(before); found != nil {
		b.RunBy = found[1]
	}
	return b
}

// isAnswer reports whether a block that directly follows the last one shows the output of that one.
func isAnswer(b *Block, blocks []Block) bool {
	if len(blocks) == 0 || b.Lang != "json" && b.Lang != "text" || len(b.Attr) > 0 {
		return false
	}
	above := blocks[len(blocks)-1]
	return above.Lang == "sh" && above.NotRun == "" && above.RunBy == "" && !above.Has("background")
}

// Read returns the text and the blocks of a page. `page` is its path from root.
func Read(root, page string) (string, []Block, error) {
	b, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		return "", nil, err
	}
	blocks, err := Blocks(page, string(b))
	return string(b), blocks, err
}

// Pages lists the README and every page under docs, as paths from root.
func Pages(root string) ([]string, error) {
	pages := []string{"README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		page, err := filepath.Rel(root, path)
		pages = append(pages, page)
		return err
	})
	return pages, err
}
