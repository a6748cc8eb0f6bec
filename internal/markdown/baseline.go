package markdown

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// A Baseline has the document and the version from which each file was written. With it an import knows what was
// changed in the files since the export, and leaves alone what was changed only on the server.
type Baseline struct {
	Form  int                `json:"form"` // 1
	Files map[string]Written `json:"files"`
}

// Written is a document as its file was written.
type Written struct {
	ID          string            `json:"id"`
	Version     int64             `json:"version,omitempty"` // 0: a document without a text, which has no file
	SHA256      string            `json:"sha256,omitempty"`  // of the file
	Title       string            `json:"title"`
	Description string            `json:"description,omitempty"`
	URL         string            `json:"url,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
}

// NewBaseline returns the baseline of an export, with the documents that have no file. Add adds the others.
func (x *Export) NewBaseline() *Baseline {
	b := &Baseline{Form: 1, Files: map[string]Written{}}
	for id, path := range x.Paths {
		if isFolder(path) {
			b.Files[path] = Written{ID: id}
		}
	}
	return b
}

// Add adds a file that was written from a document.
func (b *Baseline) Add(path string, d Document, data []byte) {
	sum := sha256.Sum256(data)
	b.Files[path] = Written{ID: d.ID, Version: d.Version, SHA256: hex.EncodeToString(sum[:]),
		Title: d.Title, Description: d.Description, URL: d.URL, Metadata: d.Metadata}
}

// ParseBaseline reads what Baseline was encoded to.
func ParseBaseline(data []byte) (*Baseline, error) {
	var b Baseline
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, fmt.Errorf("it is not a file that export-markdown --versions has written: %w", err)
	}
	if b.Form != 1 {
		return nil, fmt.Errorf("it has the form %d, and this program reads form 1: export again", b.Form)
	}
	return &b, nil
}

// Recognize gives the documents of the baseline the external ids that an import derives from the paths of their
// files. So a document keeps its file however it was made or moved on the server.
func (b *Baseline) Recognize(source string, have []Document) {
	ids := map[string]string{}
	for path, w := range b.Files {
		ids[w.ID] = ExternalID(source, path)
	}
	taken := map[string]bool{}
	for _, d := range have {
		taken[ids[d.ID]] = true
	}
	for i := range have {
		d := &have[i]
		if id, written := ids[d.ID]; written {
			d.ExternalID = id
		} else if taken[d.ExternalID] {
			d.ExternalID = ""
		}
	}
}

// Since reduces a plan to what was changed in the files since they were written. Changes are then based on the
// versions from which the files were written.
func (l *Library) Since(b *Baseline, plan Plan) Plan {
	out := plan
	out.Create, out.Update, out.Place, out.Trash = nil, nil, nil, nil
	for _, u := range plan.Update {
		if u, changed := b.changed(l, u); changed {
			out.Update = append(out.Update, u)
		} else {
			out.Same++
		}
	}
	deleted := func(e *Entry) bool { // on the server, while its file stayed as it was
		w, written := b.Files[e.Path]
		return written && (w.SHA256 == e.SHA256() || isFolder(e.Path))
	}
	needed := map[*Entry]bool{} // above a document that is created
	for _, e := range plan.Create {
		for at := e; at != nil && !deleted(e); at = at.Parent {
			needed[at] = true
		}
	}
	for _, e := range plan.Create {
		if needed[e] {
			out.Create = append(out.Create, e)
		}
	}
	for _, p := range plan.Place {
		if _, written := b.Files[p.Path]; p.Document.ID == "" && needed[p.Entry] || p.Document.ID != "" && !written {
			out.Place = append(out.Place, p)
		}
	}
	paths := map[string]string{}
	for path, w := range b.Files {
		paths[w.ID] = path
	}
	for _, d := range plan.Trash {
		if path, written := paths[d.ID]; written {
			if w := b.Files[path]; w.Version > 0 {
				d.Version = w.Version
			}
			out.Trash = append(out.Trash, d)
		}
	}
	return out
}

// changed reduces a change to the fields that differ from those that were written. It reports whether any does.
func (b *Baseline) changed(l *Library, u Change) (Change, bool) {
	w, written := b.Files[u.Path]
	if !written {
		return u, true
	}
	if isFolder(u.Path) {
		return u, false
	}
	if w.SHA256 == u.SHA256() { // only a link can differ: what it leads to has an id now
		later := w.Version != u.Document.Version || !slices.Contains(u.Fields, "content")
		u.Fields = []string{"content"}
		return u, !later
	}
	same := map[string]bool{"title": u.Title == w.Title, "description": u.Description == w.Description, "url": u.URL == w.URL,
		"project_id": true, "parent_id": true, "sort_order": true}
	u.Fields = slices.DeleteFunc(slices.Clone(u.Fields), func(name string) bool { return same[name] })
	u.Document.Version = w.Version
	return u, len(u.Fields) > 0
}

// MetadataSince returns what a file changed in the metadata that was written: nil removes a name.
func (b *Baseline) MetadataSince(path string, now map[string]string) map[string]*string {
	out, before := map[string]*string{}, b.Files[path].Metadata
	for name, value := range now {
		if was, there := before[name]; !there || was != value {
			out[name] = &value
		}
	}
	for name := range maps.Keys(before) {
		if _, there := now[name]; !there {
			out[name] = nil
		}
	}
	return out
}
