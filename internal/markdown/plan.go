package markdown

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
)

// Document is a document of the server, without its text.
type Document struct {
	ID, ExternalID, ProjectID string // ExternalID and ProjectID may be empty
	Page                             // without Content
	SHA256                    string // hash of the content, in hexadecimal digits
}

// Change is an entry whose document exists and differs.
type Change struct {
	*Entry
	Document Document
	// Fields has the API's names of the fields that differ.
	Fields []string
}

// Plan is what an import has to do. It does not contain documents that are equal or that came from
// another source.
type Plan struct {
	Upload []*File  // sorted by path; before all else
	Create []*Entry // in the order in which to create them
	Update []Change
	Trash  []Document // documents of the source whose files are gone
	Same   int
}

// Compare compares a library with the documents and media of a server. A document that was moved on
// the server stays there: only its fields and text follow the file.
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
	for _, e := range l.Entries {
		if _, there := ids[e]; !there {
			continue
		}
		fields, err := l.differs(e, known[e.ExternalID], ids, media)
		if err != nil {
			return Plan{}, err
		}
		if len(fields) == 0 {
			plan.Same++
			continue
		}
		plan.Update = append(plan.Update, Change{e, known[e.ExternalID], fields})
	}
	plan.Create = l.Ordered(plan.Create)
	plan.Trash = l.gone(have)
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

// gone returns the documents of this source that no longer have a file.
func (l *Library) gone(have []Document) (out []Document) {
	files := map[string]bool{}
	for _, e := range l.Entries {
		files[e.ExternalID] = true
	}
	for _, d := range have {
		if Of(l.Source, d.ExternalID) && !files[d.ExternalID] {
			out = append(out, d)
		}
	}
	return out
}
