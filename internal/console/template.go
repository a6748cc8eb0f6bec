package console

import (
	"html/template"
	"io/fs"
	"regexp"
	"strings"
	"text/template/parse"
)

// shared are the files whose templates every page may use.
var shared = []string{"pages/layout.html", "pages/parts.html"}

// sharedParts is the name under which readPages returns the shared templates.
const sharedParts = ""

// readPages parses the templates. Each page gets copies of the shared templates that it uses: with
// all of them, every page would keep 350 kB. It panics if a template is broken or missing, so the
// program does not start.
func (c *Console) readPages() map[string]*template.Template {
	names, err := fs.Glob(pageFiles, "pages/*.html")
	if err != nil {
		panic("console: " + err.Error())
	}
	functions := c.functions()
	parsed := func(files ...string) *template.Template {
		return template.Must(template.New("").Option("missingkey=error").Funcs(functions).ParseFS(pageFiles, files...))
	}
	base := parsed(shared...)
	for _, name := range tight {
		tighten(base.Lookup(name).Tree.Root)
	}
	out := map[string]*template.Template{sharedParts: base}
	for _, file := range names {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "pages/"), ".html")
		if name == "layout" || name == "parts" {
			continue
		}
		page := parsed(file)
		for _, own := range page.Templates() {
			addUsed(page, base, own.Tree)
		}
		if page.Lookup("main") != nil { // a page of its own, and not only parts of one
			addShared(page, base, "layout")
			addShared(page, base, "dialog")
		}
		out[name] = page
	}
	return out
}

// addShared copies the template `name`, and those that it uses, from base into the page, unless the
// page has it.
func addShared(page, base *template.Template, name string) {
	if page.Lookup(name) != nil {
		return
	}
	t := base.Lookup(name)
	if t == nil {
		panic("console: a page uses the template " + name + ", which no file defines")
	}
	template.Must(page.AddParseTree(name, t.Tree.Copy()))
	addUsed(page, base, t.Tree)
}

// addUsed adds the shared templates that a tree uses.
func addUsed(page, base *template.Template, tree *parse.Tree) {
	if tree == nil {
		return // the set itself
	}
	walk(tree.Root, func(n parse.Node) {
		if use, ok := n.(*parse.TemplateNode); ok {
			addShared(page, base, use.Name)
		}
	})
}

// walk calls visit for every node that is, or contains, text or the use of a template.
func walk(n parse.Node, visit func(parse.Node)) {
	branch := func(b parse.BranchNode) {
		walk(b.List, visit)
		if b.ElseList != nil {
			walk(b.ElseList, visit)
		}
	}
	visit(n)
	switch n := n.(type) {
	case *parse.ListNode:
		for _, one := range n.Nodes {
			walk(one, visit)
		}
	case *parse.IfNode:
		branch(n.BranchNode)
	case *parse.RangeNode:
		branch(n.BranchNode)
	case *parse.WithNode:
		branch(n.BranchNode)
	}
}

// tight are the templates of rows. A page has hundreds of rows, and the space between their
// elements would be a third of what a browser has to keep, so it is removed.
var tight = []string{"level", "branch", "leaf", "branding-leaf", "project-cards", "folder-cards", "branding-cards", "documents-list", "document-level"}

// aroundTags matches space between tags that contains a line end.
var aroundTags = regexp.MustCompile(`(^|>)\s*\n\s*(<|$)`)

// tighten removes the space between elements that are on different lines of a template. Spaces
// within a line stay.
func tighten(n parse.Node) {
	walk(n, func(n parse.Node) {
		if text, ok := n.(*parse.TextNode); ok {
			text.Text = aroundTags.ReplaceAll(text.Text, []byte("$1$2"))
		}
	})
}
