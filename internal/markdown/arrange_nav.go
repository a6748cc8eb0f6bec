package markdown

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/unicode/norm"
)

// section is an item of a nav: a page, or a title with further items.
type section struct {
	title string // may be empty for a page
	page  string // empty for a title with items
	items []section
}

// maxNav bounds the levels of a nav that are read. Deeper ones have no place in a tree of documents.
const maxNav = 16

// readNav reads the items of a nav: a list, or a mapping of titles. What is not in the tree, such as
// addresses of the web, is left out.
func (t *Tree) readNav(items *yaml.Node, level int) (out []section) {
	if level > maxNav {
		return nil
	}
	add := func(title string, value *yaml.Node) {
		s := section{title: shorten(title)}
		if value.Kind == yaml.ScalarNode {
			s.page = path.Clean(norm.NFC.String(value.Value))
			if _, there := t.names[s.page]; there && IsMarkdown(s.page) {
				out = append(out, s)
			}
			return
		}
		if s.items = t.readNav(value, level+1); len(s.items) > 0 && s.title != "" {
			out = append(out, s)
		}
	}
	switch items.Kind {
	case yaml.SequenceNode:
		for _, item := range items.Content {
			if item.Kind == yaml.MappingNode {
				out = append(out, t.readNav(item, level)...)
			} else {
				add("", item)
			}
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(items.Content); i += 2 {
			add(items.Content[i].Value, items.Content[i+1])
		}
	}
	return out
}

// followNav places the entries that the nav of mkdocs names.
func (a *arranger) followNav() error {
	a.count(a.l.tree.nav)
	return a.place(a.l.tree.nav, nil, "")
}

// count counts the pages that items name in each folder.
func (a *arranger) count(items []section) {
	for _, s := range items {
		for at := folderOf(s.page); at != ""; at = folderOf(at) {
			a.named[at]++
		}
		a.count(s.items)
	}
}

// place places the items of a nav below a parent, whose folder is `dir`.
func (a *arranger) place(items []section, parent *Entry, dir string) error {
	for _, s := range items {
		if len(a.l.byPath) > MaxEntries {
			return fmt.Errorf("the nav of mkdocs.yml makes more than %d documents: leave out sections", MaxEntries)
		}
		p := s.page
		if p == "" {
			p, s.items = a.sectionDocument(s, dir)
		}
		e, err := a.entry(p)
		if err != nil {
			return err
		}
		if a.nav[e] { // a page has one place, the first
			continue
		}
		if s.title != "" {
			e.Title = s.title
		}
		e.Parent, a.nav[e] = parent, true
		a.ranks[e] = rank{tier: byNav, number: float64(len(a.ranks))}
		below := strings.TrimSuffix(p, path.Ext(p))
		if introduces(p) == 1 || isFolder(p) {
			below = folderOf(p)
		}
		if err := a.place(s.items, e, below); err != nil {
			return err
		}
	}
	return nil
}

// sectionDocument returns the path of the document for a section, and the items below it. The
// document is the section's first page, if that is the index or README of a folder with other pages
// of the section. Otherwise it is the folder of all pages of the section, if the folder has no text
// and the nav names no other pages in it. Otherwise it is a new folder in `dir`.
func (a *arranger) sectionDocument(s section, dir string) (string, []section) {
	first := s.items[0].page
	if of := folderOf(first); of != "" && introduces(first) == 1 && pagesIn(s.items, of) > 1 && !a.nav[a.l.byPath[first]] {
		return first, s.items[1:]
	}
	if in := commonFolder(s.items); in != "" && a.shape.docs[in] == in+"/" && a.l.byPath[in+"/"] == nil && pagesIn(s.items, in) == a.named[in] {
		return in + "/", s.items
	}
	p := a.numbers.free(dir, Segment(s.title), "", func(p string) bool {
		_, real := a.shape.docs[p]
		return real || a.l.byPath[p+"/"] != nil || slices.ContainsFunc(endings, func(e string) bool { return a.l.byPath[p+e] != nil })
	})
	return p + "/", s.items
}

// commonFolder returns the deepest folder that all pages of the items are in.
func commonFolder(items []section) string {
	common, first := "", true
	for _, s := range items {
		in := folderOf(s.page)
		if s.page == "" {
			in = commonFolder(s.items)
		}
		if first {
			common, first = in, false
		}
		for common != "" && in != common && !strings.HasPrefix(in, common+"/") {
			common = folderOf(common)
		}
	}
	return common
}

// pagesIn returns the number of pages that the items name in a folder.
func pagesIn(items []section, dir string) (n int) {
	for _, s := range items {
		if strings.HasPrefix(s.page, dir+"/") {
			n++
		}
		n += pagesIn(s.items, dir)
	}
	return n
}
