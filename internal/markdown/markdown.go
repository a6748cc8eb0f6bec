// Package markdown reads and writes folders of Markdown: what `sheaf import-markdown` brings to a
// server, and what `sheaf export-markdown` makes of one. It knows files, front matter, links and
// where each file belongs; it talks to no server, and decides nothing that a server decides.
//
// One promise shapes all of it: what an export wrote, imported into an empty workspace and exported
// again, is the same byte for byte. So there is one form in which a page is written ([Format]), it
// is the shortest one that [Parse] reads back as the same page, and links are written in one way.
package markdown

import (
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// The bounds of what is read. They are far above what people have, and keep a hostile archive from
// filling memory or a server.
const (
	// MaxEntries is how many files and folders a tree may have, those that are no Markdown
	// included.
	MaxEntries = 100_000
	// MaxBytes is how much Markdown a tree may hold in all.
	MaxBytes = 1 << 30
	// MaxPath is how long the path of a file may be, in bytes.
	MaxPath = 2_000
	// maxFile is how long a file may be. A document's text is shorter: but links to other files may
	// be longer than the ids that stand for them in it.
	maxFile = 8 << 20
	// maxFrontMatter is how long the block before a text may be.
	maxFrontMatter = 64 << 10
)

// fold is a name as file systems without regard to case see it.
func fold(s string) string { return norm.NFC.String(cases.Fold().String(norm.NFD.String(s))) }

// IsMarkdown reports whether a file of this name is a document.
func IsMarkdown(name string) bool {
	lower := strings.ToLower(name)
	return strings.HasSuffix(lower, ".md") || strings.HasSuffix(lower, ".markdown") || IsMDX(lower)
}

// IsMDX reports whether a file of this name is MDX: Markdown with JSX in it, which Sheaf shows as
// text.
func IsMDX(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".mdx") }

// stem is the name of a file without its folder and ending.
func stem(path string) string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return name[:i]
	}
	return name
}

// folderOf is the path of the folder that a file is in; empty for the root of the tree.
func folderOf(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 0)] }
