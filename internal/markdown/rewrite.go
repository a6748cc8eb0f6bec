package markdown

import (
	"cmp"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Index finds the file that a link leads to.
type Index struct {
	files map[string]bool
	// Markdown files by the folded name without its ending, nearest to the root first.
	named map[string][]string
	// Other files by the folded name, likewise.
	other map[string][]string
}

// NewIndex returns the Index of a tree with these Markdown files and these other files.
func NewIndex(paths, others []string) *Index {
	x := &Index{map[string]bool{}, map[string][]string{}, map[string][]string{}}
	for _, p := range paths {
		if x.files[p] = true; isFolder(p) {
			continue
		}
		name := fold(stem(p))
		x.named[name] = append(x.named[name], p)
	}
	for _, p := range others {
		x.files[p] = true
		name := fold(path.Base(p))
		x.other[name] = append(x.other[name], p)
	}
	for _, byName := range []map[string][]string{x.named, x.other} {
		for _, same := range byName {
			slices.SortFunc(same, nearer)
		}
	}
	return x
}

// nearer sorts paths by depth, then in the order of pages.
func nearer(a, b string) int {
	if d := strings.Count(a, "/") - strings.Count(b, "/"); d != 0 {
		return d
	}
	return comparePaths(a, b)
}

// find returns the file that a link in the file `from` leads to, and the part after it, with its #.
func (x *Index) find(from string, l link) (target, part string, ok bool) {
	if l.wiki {
		return x.findWiki(from, l.dest)
	}
	dest, part := cutPart(l.dest)
	if dest == "" || strings.ContainsRune(dest, '?') || hasScheme(dest) || strings.HasPrefix(dest, "//") {
		return "", "", false
	}
	if decoded, err := url.PathUnescape(dest); err == nil {
		dest = decoded
	}
	dest = norm.NFC.String(dest)
	if rooted, ok := strings.CutPrefix(dest, "/"); ok {
		target, ok = x.at(path.Clean(rooted))
		return target, part, ok
	}
	target, ok = x.at(path.Join(folderOf(from), dest))
	return target, part, ok
}

func cutPart(dest string) (before, part string) {
	if i := strings.IndexByte(dest, '#'); i >= 0 {
		return dest[:i], dest[i:]
	}
	return dest, ""
}

var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

func hasScheme(dest string) bool { return scheme.MatchString(dest) }

// at returns the file for a path: the path itself, with an ending, or the page that introduces the
// folder.
func (x *Index) at(p string) (string, bool) {
	if p == "." {
		p = ""
	}
	candidates := []string{p, p + ".md", p + ".markdown", p + ".mdx"}
	for _, name := range []string{"README.md", "index.md", "readme.md", "Readme.md", "README.markdown", "index.markdown", "README.mdx", "index.mdx"} {
		candidates = append(candidates, path.Join(p, name))
	}
	candidates = append(candidates, p+"/")
	for _, c := range candidates {
		if x.files[c] {
			return c, true
		}
	}
	return "", false
}

// findWiki finds a page by its name or by the end of its path, ignoring case. It looks in the same
// folder first, then nearest to the root, as Obsidian does.
func (x *Index) findWiki(from, dest string) (target, part string, ok bool) {
	dest, part = cutPart(dest)
	dest, _, _ = strings.Cut(dest, "^") // the name of a paragraph has no address here
	dest = strings.TrimPrefix(strings.TrimSpace(dest), "/")
	if dest == "" {
		return "", "", false
	}
	whole := dest
	if IsMarkdown(dest) {
		dest = dest[:strings.LastIndexByte(dest, '.')]
	}
	best := nearest(x.named[fold(stem(dest+".md"))], from, dest, func(p string) string { return strings.TrimSuffix(p, path.Ext(p)) })
	if best == "" {
		best = nearest(x.other[fold(path.Base(whole))], from, whole, func(p string) string { return p })
	}
	return best, anchor(part), best != ""
}

// nearest returns the first of the paths that ends in `dest`. A path in the same folder takes
// precedence.
func nearest(paths []string, from, dest string, shown func(string) string) (best string) {
	want := "/" + fold(dest)
	for _, p := range paths {
		here := folderOf(p) == folderOf(from)
		if strings.HasSuffix("/"+fold(shown(p)), want) && (best == "" || here) {
			if best = p; here {
				break
			}
		}
	}
	return best
}

// anchor returns the address, with its #, of the last heading that a wiki link names. A paragraph
// and a heading without letters have none.
func anchor(part string) string {
	if part == "" || strings.HasPrefix(part, "#^") {
		return ""
	}
	words := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(part[strings.LastIndexByte(part, '#')+1:]))
	if words == "" {
		return ""
	}
	return "#" + words
}

// Rewritten is a text with its links replaced.
type Rewritten struct {
	Text string
	// Targets are the files that it links to, each once.
	Targets []string
	// Pictures is the number of pictures that lead to no file of the tree and are not web
	// addresses.
	Pictures int
}

// Rewrite replaces the links in a file's text that lead to files of the tree by what `address`
// returns for the path. If address returns false, the link is kept.
func (x *Index) Rewrite(from, text string, address func(path string) (string, bool)) Rewritten {
	return rewrite(text, func(l link) (string, string, bool) { return x.find(from, l) }, address)
}

// rewrite is Rewrite for any function that finds the file of a link.
func rewrite(text string, find func(link) (target, part string, ok bool), address func(string) (string, bool)) Rewritten {
	var (
		out  Rewritten
		b    strings.Builder
		done int
		seen = map[string]bool{}
	)
	for _, l := range findLinks(text) {
		if to, ok := direct(l); ok {
			b.WriteString(text[done:l.start] + to)
			done = l.end
			continue
		}
		target, part, ok := find(l)
		page := isPage(target)
		if l.picture && !(ok && (l.wiki || !page)) {
			if !hasScheme(l.dest) && !strings.HasPrefix(l.dest, "//") && !strings.HasPrefix(l.dest, "#") {
				out.Pictures++
			}
			continue
		}
		if !ok {
			continue
		}
		if !seen[target] {
			seen[target] = true
			out.Targets = append(out.Targets, target)
		}
		to, known := address(target)
		if !known {
			continue
		}
		b.WriteString(text[done:l.start])
		done = l.end
		if to += encodePart(part); l.wiki || l.html {
			to = inMarkdown(l, page, to)
		}
		b.WriteString(to)
	}
	b.WriteString(text[done:])
	out.Text = b.String()
	return out
}

// direct returns the Markdown for a link that needs no file: a wiki link to a heading of its own
// page, or an img element from the web.
func direct(l link) (text string, ok bool) {
	switch {
	case l.wiki && strings.HasPrefix(l.dest, "#"):
		to := anchor(l.dest)
		return inMarkdown(l, true, encodePart(to)), to != ""
	case l.html && webAddress.MatchString(l.dest):
		return inMarkdown(l, false, encodePart(l.dest)), true
	}
	return "", false
}

var webAddress = regexp.MustCompile(`^(?i:https?)://`)

// inMarkdown writes a wiki link or an img element as Markdown. A picture is shown, a page is linked
// to. Sizes of pictures are dropped, because Markdown has none.
func inMarkdown(l link, page bool, to string) string {
	mark, text := "", l.text
	if l.picture && !page {
		mark = "!"
	}
	if l.picture && l.wiki {
		if text = strings.TrimSuffix(pictureSize.ReplaceAllString("|"+text, ""), "|"); text == "" {
			text = "|" + l.dest
		}
		text = text[1:]
	}
	return mark + "[" + text + "](" + to + ")"
}

// pictureSize matches Obsidian's size of a picture: ![[cat.png|Our cat|100x80]].
var pictureSize = regexp.MustCompile(`\|[0-9]+(x[0-9]+)?$`)

// relative returns the link from one file to another, as exports write it.
func relative(from, to string) string {
	here, there := strings.Split(from, "/"), strings.Split(to, "/")
	same := 0
	for same < len(here)-1 && same < len(there)-1 && here[same] == there[same] {
		same++
	}
	link := strings.Repeat("../", len(here)-1-same) + encodePath(strings.Join(there[same:], "/"))
	return cmp.Or(link, "./") // the folder itself
}

// encodePart encodes the part of a page that a link names, so that it cannot end the link.
func encodePart(part string) string {
	return structural.ReplaceAllStringFunc(part, url.PathEscape)
}

var structural = regexp.MustCompile("[\\s\\pC()<>\"'`\\\\\\[\\]|]")

// encodePath encodes a path so that no character of it has a meaning in Markdown or in an address.
func encodePath(p string) string {
	var b strings.Builder
	for _, r := range p {
		if r < 0x80 && (isASCIILetter(byte(r)) || '0' <= r && r <= '9' || strings.ContainsRune("-._~/!$+,;=@", r)) ||
			r >= 0x80 && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r)) {
			b.WriteRune(r)
			continue
		}
		for _, c := range []byte(string(r)) {
			const digits = "0123456789ABCDEF"
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
	return b.String()
}
