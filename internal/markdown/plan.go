package markdown

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"sheaf.dev/internal/sheaf"
)

// Document is a document of the server, without its text.
type Document struct {
	ID, ExternalID, ProjectID string // ExternalID and ProjectID may be empty
	ParentID                  string // empty at the top level
	SortOrder                 int64
	Page                             // without Content
	SHA256                    string // hash of the content, in hexadecimal digits
	Version                   int64  // of title and text
}

// Change is an entry whose document differs. Document is empty if there is none yet.
type Change struct {
	*Entry
	Document Document
	// Fields has the API's names of the fields that differ.
	Fields []string
}

// Plan is what an import has to do. It does not contain documents that are equal or that came from
// another source.
type Plan struct {
	Upload []*File  // sorted by path; uploaded before the other steps
	Create []*Entry // in the order in which to create them
	Update []Change
	// Detach are documents to take to the top level before anything is placed: they are below others
	// that move.
	Detach []Document
	// Place are the documents to create or move, in the order in which to do it: parents first.
	Place []Change
	Trash []Document // documents of the source whose files are gone, those below others first
	// Kept is the number of documents whose files are gone, and with documents below them that stay.
	Kept int
	Same int
}

// Compare compares a library with the documents and media of a server, which are in the order of
// creation. Unless the library is a project, a document that was moved on the server stays there:
// only its fields and text follow the file.
func (l *Library) Compare(have []Document, media KnownMedia) (Plan, error) {
	var plan Plan
	announced := map[string]bool{} // equal files with one name are one medium
	for _, f := range l.Files() {
		if _, there := media.ID(f); !there && !announced[f.identity()] {
			announced[f.identity()] = true
			plan.Upload = append(plan.Upload, f)
		}
	}
	known, ids := map[string]Document{}, map[*Entry]string{}
	for _, d := range have {
		known[d.ExternalID] = d
	}
	for _, e := range l.Entries {
		if d, ok := known[e.ExternalID]; ok {
			ids[e] = d.ID
		} else {
			plan.Create = append(plan.Create, e)
		}
	}
	moved := map[*Entry][]string{}
	if l.AsProject {
		moved = l.places(have, ids)
		plan.Detach = l.carried(have, ids, moved)
	}
	for _, e := range l.Entries {
		if _, there := ids[e]; !there {
			continue
		}
		fields, err := l.differs(e, known[e.ExternalID], ids, media)
		if err != nil {
			return Plan{}, err
		}
		if fields = append(fields, moved[e]...); len(fields) == 0 {
			plan.Same++
			continue
		}
		plan.Update = append(plan.Update, Change{e, known[e.ExternalID], fields})
	}
	place := slices.DeleteFunc(slices.Clone(l.Entries), func(e *Entry) bool { return ids[e] != "" && moved[e] == nil })
	for _, e := range l.Ordered(place) {
		plan.Place = append(plan.Place, Change{e, known[e.ExternalID], moved[e]})
	}
	plan.Create = l.Ordered(plan.Create)
	plan.Trash, plan.Kept = l.gone(have)
	return plan, nil
}

// differs returns the names of the fields in which a document differs from its file.
func (l *Library) differs(e *Entry, d Document, ids map[*Entry]string, media KnownMedia) (fields []string, err error) {
	if e.Title != d.Title {
		fields = append(fields, "title")
	}
	if e.Description != d.Description {
		fields = append(fields, "description")
	}
	if e.URL != d.URL {
		fields = append(fields, "url")
	}
	if !maps.Equal(l.Metadata(e, media), d.Metadata) {
		fields = append(fields, "metadata")
	}
	text, whole, err := l.Content(e, func(to *Entry) (string, bool) {
		id, ok := ids[to]
		return id, ok
	}, media)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256([]byte(text)); !whole || hex.EncodeToString(sum[:]) != d.SHA256 {
		fields = append(fields, "content")
	}
	return fields, nil
}

// gone returns the documents of this source that no longer have a file, those below others first.
// A document stays if another one below it does; `kept` counts these.
func (l *Library) gone(have []Document) (out []Document, kept int) {
	files := map[string]*Entry{}
	for _, e := range l.Entries {
		files[e.ExternalID] = e
	}
	parents := map[string]string{} // after the import
	for _, d := range have {
		parents[d.ID] = d.ParentID
	}
	if l.AsProject {
		ids := map[*Entry]string{}
		for _, d := range have {
			if e := files[d.ExternalID]; e != nil {
				ids[e] = d.ID
			}
		}
		for e, id := range ids {
			parents[id] = ids[e.Parent]
		}
	}
	without := func(d Document) bool { return Of(l.Source, d.ExternalID, l.AsProject) && files[d.ExternalID] == nil }
	stays, levels := map[string]bool{}, map[string]int{}
	for _, d := range have {
		for at := parents[d.ID]; at != "" && levels[d.ID] < sheaf.MaxLevels; at = parents[at] {
			levels[d.ID]++
			stays[at] = stays[at] || !without(d)
		}
	}
	for _, d := range have {
		switch {
		case without(d) && stays[d.ID]:
			kept++
		case without(d):
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(a, b Document) int { return cmp.Compare(levels[b.ID], levels[a.ID]) })
	return out, kept
}
