package markdown

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"
)

// isTree reports whether some documents of a project are below others, or in another order than that
// of creation. `documents` are in the order of creation.
func isTree(documents []Document) bool {
	return slices.ContainsFunc(documents, func(d Document) bool { return d.ParentID != "" }) ||
		!slices.IsSortedFunc(documents, func(a, b Document) int { return cmp.Compare(a.SortOrder, b.SortOrder) })
}

// node is a document in the tree that is written.
type node struct {
	Document
	below []*node
	dir   string // the folder of the documents below it
	// ofFolder means that the document is written as the text of its folder.
	ofFolder bool
}

// tree gives the documents of a project their paths in the folder `base`. A document with others
// below it is written as the index of a folder. An original path is kept if an import would build the
// same tree from it.
func (y *layout) tree(base string, documents []Document) {
	nodes, root := map[string]*node{}, &node{dir: base}
	for _, d := range documents {
		nodes[d.ID] = &node{Document: d}
	}
	for _, d := range documents {
		parent := nodes[d.ParentID]
		if parent == nil { // at the top level, or the parent is not written
			parent = root
		}
		parent.below = append(parent.below, nodes[d.ID])
	}
	y.level(root, true)
}

// level gives the documents below a node their paths, and then those below them.
func (y *layout) level(parent *node, top bool) {
	slices.SortStableFunc(parent.below, func(a, b *node) int { return cmp.Compare(a.SortOrder, b.SortOrder) })
	for _, n := range parent.below {
		if _, origin, ok := Origin(n.ExternalID, n.Metadata); ok {
			y.keep(n, origin, parent, top)
		}
	}
	for _, n := range parent.below {
		if _, done := y.paths[n.ID]; !done {
			y.assign(n, parent.dir, top)
		}
	}
	y.order(parent.below)
	for _, n := range parent.below {
		y.level(n, false)
	}
}

// keep gives a document its original path if an import of that path puts it below the parent.
func (y *layout) keep(n *node, origin string, parent *node, top bool) {
	dir := folderOf(origin)
	if isFolder(origin) || introduces(origin) == 1 && dir != "" && dir != parent.dir { // the text of a folder
		alone := isFolder(origin) && len(n.below) == 0
		beside := isFolder(origin) && y.bases[fold(dir)] // a file beside the folder would be its document
		if folderOf(dir) == parent.dir && !alone && !beside && !y.dirs[dir] && !y.files[dir] {
			y.asFolder(n, dir, origin)
		}
		return
	}
	if dir != parent.dir || !y.fits(origin) {
		return
	}
	if introduces(origin) == 1 && !top { // a README beside the index that is its parent
		if index := y.paths[parent.ID]; !parent.ofFolder || !y.files[index] || !prefers(index, origin) {
			return
		}
	}
	below := withoutEnding(origin)
	if y.headed[below] || len(n.below) > 0 && (y.dirs[below] || y.bases[fold(below)]) {
		return
	}
	y.claim(n.ID, origin)
	if n.dir = below; len(n.below) > 0 {
		y.headed[below] = true
		y.reserve(below)
	}
}

// assign gives a document a new path in the folder `in`. The name is that of its original path, or
// else its title.
func (y *layout) assign(n *node, in string, top bool) {
	name := n.Title
	if _, origin, ok := Origin(n.ExternalID, n.Metadata); ok {
		if name = nameIn(origin, isFolder(origin) || introduces(origin) == 1); name == "" {
			name = stem(origin)
		}
	}
	taken := func(p string) bool { return y.folded[fold(p)] || y.bases[fold(p)] }
	if len(n.below) > 0 {
		dir := y.numbers.free(in, Segment(name), "", taken)
		y.asFolder(n, dir, dir+"/")
		return
	}
	p := y.numbers.free(in, Segment(name), "", func(p string) bool {
		return taken(p) || taken(p+".md") || introduces(p+".md") == 1 && !top
	})
	y.claim(n.ID, p+".md")
}

// asFolder writes a document as the text of a folder: at the path `origin` in it, or without a file
// if the document has nothing but the title that an import derives from the folder.
func (y *layout) asFolder(n *node, dir, origin string) {
	n.dir, n.ofFolder = dir, true
	switch {
	case !isFolder(origin):
		y.claim(n.ID, origin)
	case n.bare(dir):
		y.paths[n.ID], y.headed[dir] = origin, true
	default:
		y.claim(n.ID, path.Join(dir, "index.md"))
	}
	y.reserve(dir)
}

// bare reports whether a document has nothing but the title that an import gives to its folder.
func (n *node) bare(dir string) bool {
	empty := sha256.Sum256(nil)
	metadata := 0
	for name := range n.Metadata {
		if name != pathName && name != placesName && name != ownOrderName {
			metadata++
		}
	}
	return len(n.below) > 0 && n.SHA256 == hex.EncodeToString(empty[:]) && n.Description == "" && n.URL == "" && metadata == 0 &&
		n.Title == implied(dir+"/", "")
}

// order decides which siblings get their position in the front matter: the first ones, and as few
// as possible. An import must sort the remaining siblings correctly without it.
func (y *layout) order(siblings []*node) {
	ranks := make([]rank, len(siblings))
	for i, n := range siblings {
		p := y.paths[n.ID]
		ranks[i] = rank{tier: byName, name: nameIn(p, n.ofFolder), path: p, ofFolder: n.ofFolder}
		if position, ok := number(n.Metadata[positionName]); ok {
			ranks[i].tier, ranks[i].number = byPosition, position
		} else if introduces(p) == 1 && !n.ofFolder {
			ranks[i].tier = byIntro
		}
	}
	last := len(siblings) - 1
	for last > 0 && (&Tree{}).compare(ranks[last-1], ranks[last]) < 0 {
		last--
	}
	for i, n := range siblings {
		if y.orders[n.ID] = 0; i >= last || last < 0 {
			continue
		}
		y.orders[n.ID] = i + 1
		if p := y.paths[n.ID]; isFolder(p) {
			delete(y.headed, n.dir)
			y.claim(n.ID, p+"index.md")
		}
	}
}

// withoutEnding returns the path of a Markdown file without its ending.
func withoutEnding(p string) string {
	if isFolder(p) {
		return strings.TrimSuffix(p, "/")
	}
	return strings.TrimSuffix(p, path.Ext(p))
}
