package markdown

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"sheaf.dev/internal/sheaf"
)

// arranger puts the entries of a library into the tree that their authors see: that of the folders,
// or the nav of mkdocs.
type arranger struct {
	l     *Library
	shape shape
	ranks map[*Entry]rank
	nav   map[*Entry]bool // entries that the nav has placed

	named   map[string]int // number of pages that the nav names, by each folder above them
	numbers numbers        // for sections without a folder
}

// rank is the position of a document among its siblings. A smaller tier comes first, then a smaller
// number, then the name.
type rank struct {
	tier     int
	number   float64
	name     string
	path     string
	ofFolder bool // name is that of a folder
}

// Tiers of positions.
const (
	byNav = iota
	byOrder
	byPosition
	byArchive
	byIntro
	byName
)

// orderName is the name in front matter for the position of a document among its siblings. If the
// metadata of a document has that name too, exports write ownOrderName instead.
const (
	orderName    = "order"
	ownOrderName = "sheaf.order"
	positionName = "sidebar_position"
)

// takeOrder removes the position from a page's metadata.
func takeOrder(p *Page) (order float64, ok bool) {
	for _, name := range []string{ownOrderName, orderName} {
		text, given := p.Metadata[name]
		if order, ok = number(text); !ok {
			continue
		}
		if delete(p.Metadata, name); len(p.Metadata) == 0 {
			p.Metadata = nil
		}
		return order, given && (name == orderName || order != 0)
	}
	return 0, false
}

func number(text string) (float64, bool) {
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

// arrange sets Parent and Level of every entry, adds entries for folders without a file, and sorts
// the entries in reading order. It returns an error if a document would be too deep.
func (l *Library) arrange(s shape, orders map[*Entry]float64) error {
	a := arranger{l: l, shape: s, ranks: map[*Entry]rank{}, nav: map[*Entry]bool{}, named: map[string]int{}, numbers: numbers{}}
	l.below = map[*Entry][]*Entry{}
	if err := a.followNav(); err != nil {
		return err
	}
	for _, e := range slices.Clone(l.Entries) {
		a.byFolder(e)
	}
	categories, err := l.tree.categories()
	if err != nil {
		return err
	}
	for _, e := range l.Entries {
		a.ranks[e] = a.rank(e, orders, categories)
		l.below[e.Parent] = append(l.below[e.Parent], e)
	}
	for _, siblings := range l.below {
		slices.SortFunc(siblings, func(x, y *Entry) int { return a.l.tree.compare(a.ranks[x], a.ranks[y]) })
	}
	l.Entries = nil
	return l.descend(nil, 1)
}

// descend lists the entries below one in reading order.
func (l *Library) descend(parent *Entry, level int) error {
	for _, e := range l.below[parent] {
		if level > sheaf.MaxLevels {
			return fmt.Errorf("%s is too deep for a project: %s would be at level %d, and documents nest at most %d levels. Move the folder up, or import without --as-project",
				cmp.Or(folderOf(e.Path), e.Path), e.Path, level, sheaf.MaxLevels)
		}
		e.Level = level
		l.Entries = append(l.Entries, e)
		if err := l.descend(e, level+1); err != nil {
			return err
		}
	}
	return nil
}

// entry returns the entry at a path. If the path is that of a folder, it adds the entry.
func (a *arranger) entry(p string) (*Entry, error) {
	if e := a.l.byPath[p]; e != nil || !isFolder(p) {
		return e, nil
	}
	e := &Entry{Path: p, ExternalID: ExternalID(a.l.Source, p), Page: Page{Title: implied(p, "")}}
	if strings.HasPrefix(e.ExternalID, a.l.Source+":"+hashed) {
		e.Metadata = map[string]string{pathName: p}
	}
	a.l.byPath[p] = e
	a.l.Entries = append(a.l.Entries, e)
	return e, e.check()
}

// byFolder gives an entry that the nav does not name its place by its folder.
func (a *arranger) byFolder(e *Entry) {
	for !a.nav[e] && e.Parent == nil {
		parent, _ := a.entry(a.shape.parents[e.Path]) // folder names are shorter than titles may be
		if parent == nil {
			return
		}
		e.Parent = parent
		e = parent
	}
}

// rank returns an entry's position.
func (a *arranger) rank(e *Entry, orders map[*Entry]float64, categories map[string]category) rank {
	r, given := a.ranks[e]
	if given {
		return r
	}
	r = rank{tier: byName, path: e.Path, ofFolder: a.shape.ofFolder(e.Path)}
	r.name = nameIn(e.Path, r.ofFolder)
	if order, ok := orders[e]; ok {
		r.tier, r.number = byOrder, order
		return r
	}
	position, ok := number(e.Metadata[positionName])
	if c, is := categories[folderOf(e.Path)]; is && r.ofFolder {
		if isFolder(e.Path) && strings.TrimSpace(c.Label) != "" {
			e.Title = shorten(c.Label)
		}
		if at, given := number(fmt.Sprint(c.Position)); given {
			position, ok = at, true
		}
	}
	if prefix := numbered.FindStringSubmatch(r.name); prefix != nil && a.l.tree.kind == docusaurus {
		if !ok {
			position, ok = number(prefix[1])
		}
		if e.Title == implied(e.Path, "") {
			e.Title = shorten(prefix[2])
		}
	}
	at, archived := a.l.tree.sequence[e.Path]
	switch {
	case ok:
		r.tier, r.number = byPosition, position
	case archived && a.l.tree.kind == outline:
		r.tier, r.number = byArchive, float64(at)
	case introduces(e.Path) == 1 && !r.ofFolder:
		r.tier = byIntro
	}
	return r
}

// numbered matches a name with a number that Docusaurus sorts by, and does not show.
var numbered = regexp.MustCompile(`^(\d+)\s*[-_.]+\s*([^-_.\s\d].*)$`)

// compare compares the positions of two siblings, names as the program that the tree is made for
// sorts them.
func (t *Tree) compare(a, b rank) int {
	if c := cmp.Or(cmp.Compare(a.tier, b.tier), cmp.Compare(a.number, b.number)); c != 0 {
		return c
	}
	folders := 0
	if a.ofFolder != b.ofFolder {
		if folders = 1; a.ofFolder {
			folders = -1
		}
	}
	switch t.kind {
	case mkdocs:
		return cmp.Or(-folders, cmp.Compare(a.name, b.name), cmp.Compare(a.path, b.path))
	case docusaurus:
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.path, b.path))
	case obsidian:
		return cmp.Or(folders, naturally(a.name, b.name), cmp.Compare(a.path, b.path))
	}
	return cmp.Or(naturally(a.name, b.name), cmp.Compare(a.path, b.path))
}

// category is what Docusaurus reads about a folder.
type category struct {
	Label    string `json:"label" yaml:"label"`
	Position any    `json:"position" yaml:"position"` // a number, maybe as text
}

var categoryFiles = []string{"_category_.json", "_category_.yml", "_category_.yaml"}

// categories reads the categories of a Docusaurus tree, by folder.
func (t *Tree) categories() (map[string]category, error) {
	out := map[string]category{}
	for _, p := range t.others {
		if !slices.Contains(categoryFiles, path.Base(p)) {
			continue
		}
		data, err := t.Read(p)
		if err != nil {
			return nil, err
		}
		var c category
		if path.Ext(p) == ".json" {
			err = json.Unmarshal(data, &c)
		} else {
			err = yaml.Unmarshal(data, &c)
		}
		if err != nil {
			return nil, fmt.Errorf("%s is not valid: %w. Correct or delete the file", p, err)
		}
		out[folderOf(p)] = c
	}
	return out, nil
}
