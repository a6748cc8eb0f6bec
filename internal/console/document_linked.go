package console

import (
	"slices"

	"sheaf.dev/internal/sheaf"
)

// linkedPage is the data of document-linked.html: the documents that link to a document.
type linkedPage struct {
	Document sheaf.Document
	Linked   []linkTarget
	From     int    // the number of documents that were examined for earlier parts of the list
	More     string // the address of the next part
}

// mostExamined is the number of documents that are rendered for a part of the list.
const mostExamined = 25

// linked answers GET /w/{workspace}/documents/{id}/linked: the documents that link to a document. The
// search index has every text that contains the document's id. Each of these texts is rendered, so only
// those are listed whose page has the link: an id in a code block is none.
func (c *Console) linked(v *visit) error {
	d, err := find(v, "document", c.app.Document)
	if err != nil {
		return err
	}
	p := linkedPage{Document: d, From: v.offset("from")}
	hits, err := c.app.Search(v.r.Context(), v.caller, sheaf.SearchQuery{Text: string(d.ID), Types: []sheaf.SearchType{sheaf.SearchDocument},
		Paging: sheaf.Paging{Limit: mostExamined, Offset: p.From}})
	if err != nil {
		return err
	}
	var found []sheaf.Document
	for _, h := range hits.Items {
		from, err := v.linksTo(sheaf.DocumentID(h.ID), d.ID)
		if err != nil {
			return err
		}
		found = append(found, from...)
	}
	if p.Linked, err = v.linkTargetsOf(found); err != nil {
		return err
	}
	p.More = v.more(hits.More(), p.From+mostExamined)
	return v.showDocument("document-linked", d, p)
}

// linksTo returns the document `from` if its page links to the document `to`, and none otherwise. A
// link of a document to itself does not count.
func (v *visit) linksTo(from, to sheaf.DocumentID) ([]sheaf.Document, error) {
	if from == to {
		return nil, nil
	}
	d, err := v.console.app.DocumentText(v.r.Context(), v.caller, from)
	if sheaf.KindOf(err) == sheaf.NotFound {
		return nil, nil // it was deleted between two reads
	}
	if err != nil {
		return nil, err
	}
	page, err := v.console.Render.Page(v.AwaitTurn, d.Content)
	if err != nil {
		return nil, overloaded(err)
	}
	if !slices.Contains(page.Documents(), string(to)) {
		return nil, nil
	}
	return []sheaf.Document{d.Document}, nil
}
