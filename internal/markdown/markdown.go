// Package markdown reads and writes folders of Markdown: what `sheaf import-markdown` sends to a
// server, and what `sheaf export-markdown` writes. It knows files, front matter, links and where
// each file belongs. It talks to no server, and makes no decision that is the server's.
//
// One promise shapes all of it: if an export is imported into an empty workspace and exported
// again, the result is the same, byte for byte. So a page is written in one form ([Format]), the
// shortest one that [Parse] reads back as the same page, and links are written in one form.
package markdown

import (
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Limits on what is read. They are far above what people have, and keep a hostile archive from
// filling the memory or a server.
const (
	// MaxEntries is the largest number of files and folders in a tree, including files that are not
	// Markdown.
	MaxEntries = 100_000
	// MaxBytes is the largest amount of Markdown in a tree.
	MaxBytes = 1 << 30
	// MaxPath is the largest length of a file's path in bytes.
	MaxPath = 2_000
	// maxFile is the largest size of a file. A document's text is shorter, but links to other files
	// may be longer than the ids that replace them.
	maxFile = 8 << 20
	// maxFrontMatter is the largest size of the block before a text.
	maxFrontMatter = 64 << 10
)

// fold returns a name as case-insensitive file systems compare it.
func fold(s string) string { return norm.NFC.String(cases.Fold().String(norm.NFD.String(s))) }

// IsMarkdown reports whether a file with this name becomes a document.
func IsMarkdown(name string) bool {
	lower := strings.ToLower(name)
	return strings.HasSuffix(lower, ".md") || strings.HasSuffix(lower, ".markdown") || IsMDX(lower)
}

// IsMDX reports whether a file with this name is MDX: Markdown with JSX, which Sheaf shows as text.
func IsMDX(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".mdx") }

// stem returns the name of a file without its folder and ending.
func stem(path string) string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return name[:i]
	}
	return name
}

// folderOf returns the path of a file's folder; "" is the root of the tree.
func folderOf(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 0)] }
