package console

import (
	"cmp"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// proposedChange reads a change of the page's proposal. `room` is how many lines of differences the
// page may still show.
func (v *visit) proposedChange(p *proposalPage, n int, room *int) (out proposedChange, err error) {
	preview, err := v.console.app.PreviewChange(v.r.Context(), v.caller, p.Proposal.ID, n)
	if err != nil {
		return out, err
	}
	c := preview.Change
	out = proposedChange{N: n, Op: string(c.Op), Conflicts: preview.Conflicts, HasText: preview.Proposed != nil || preview.Merged != nil}
	if out.Title, out.Link, err = v.documentOf(&c); err != nil {
		return out, err
	}
	if c.Op == sheaf.ProposeEdit && out.Link != "" {
		out.Resolve = c.DocumentID
	}
	if out.Fields, err = v.changedFields(p, &c); err != nil {
		return out, err
	}
	if !out.HasText {
		return out, nil
	}
	switch p.View {
	case "texts":
		out.Texts = textsOf(preview)
	case "rendered":
		out.Rendered, err = v.renderChange(preview, out.Title)
	default:
		out.fillDiff(preview, room)
	}
	return out, err
}

// fillDiff sets the differences of the texts.
func (out *proposedChange) fillDiff(preview app.ProposalPreview, room *int) {
	switch {
	case preview.Diff == nil:
		out.Note = "The text is too long to be compared. “Texts” shows it."
	case *preview.Diff == "":
		out.Note = "The document has this text already."
	case *room <= 0:
		out.Note = "This page has no room for more differences. Open this change alone to see its differences."
	default:
		out.Diff = readDiffUpTo(*preview.Diff, *room)
		*room -= len(out.Diff.Lines)
	}
}

// textsOf returns the texts of a change, without those that are equal to an earlier one.
func textsOf(preview app.ProposalPreview) (out []shownText) {
	for _, t := range []struct {
		name string
		text *string
	}{{"The text that the author saw", preview.Base}, {"The present text", preview.Present}, {"The proposed text", preview.Proposed}, {"The text after accepting", preview.Merged}} {
		if t.text == nil {
			continue
		}
		same := false
		for i := range out {
			if out[i].Text == *t.text {
				out[i].Name, same = out[i].Name+", "+lowerFirst(t.name), true
				break
			}
		}
		if !same {
			out = append(out, shownText{t.name, *t.text})
		}
	}
	return out
}

func lowerFirst(s string) string { return string(s[0]|0x20) + s[1:] }

// renderChange renders the text of the document before and after the change.
func (v *visit) renderChange(preview app.ProposalPreview, title string) (out []renderedText, err error) {
	before, after := cmp.Or(preview.Present, preview.Base), cmp.Or(preview.Merged, preview.Proposed)
	name := "Now"
	if preview.Present == nil {
		name = "Before"
	}
	for _, t := range []struct {
		name string
		text *string
	}{{name, before}, {"Proposed", after}} {
		if t.text == nil {
			continue
		}
		html, _, err := v.renderPart(strings.ToLower(t.name), *t.text, title, preview.Change.DocumentID)
		if err != nil {
			return nil, err
		}
		out = append(out, renderedText{t.name, html})
	}
	return out, nil
}

// documentOf returns the title and the address of the document that a change is about.
func (v *visit) documentOf(c *sheaf.ProposedChange) (title, link string, err error) {
	ctx, a, id := v.r.Context(), v.console.app, c.DocumentID
	if id == "" && c.Done != nil {
		id = c.Done.DocumentID
	}
	if id == "" {
		return c.Document.Title.Value, "", nil
	}
	d, err := a.Document(ctx, v.caller, id)
	if err == nil {
		return d.Title, v.at("documents", string(d.ID)), nil
	}
	if sheaf.KindOf(err) != sheaf.NotFound {
		return "", "", err
	}
	switch {
	case c.Op == sheaf.ProposeCreate:
		return c.Document.Title.Value, "", nil
	case c.Base != nil:
		return c.Base.Title, "", nil
	}
	t, err := a.TrashedDocument(ctx, v.caller, c.DocumentID)
	if sheaf.KindOf(err) == sheaf.NotFound {
		return "A deleted document", "", nil
	}
	return t.Title, "", err
}

// changedFields returns the fields that a change sets, except the text, and where it puts the
// document.
func (v *visit) changedFields(p *proposalPage, c *sheaf.ProposedChange) (out []changedField, err error) {
	var base sheaf.ProposalBase
	if c.Base != nil {
		base = *c.Base
	}
	add := func(label, before, after string) {
		if before != after {
			out = append(out, changedField{label, before, after})
		}
	}
	d := &c.Document
	for _, f := range []struct {
		label  string
		before string
		sent   sheaf.Opt[string]
	}{{"Title", base.Title, d.Title}, {"Description", text(base.Description), d.Description}, {"External id", text(base.ExternalID), d.ExternalID}, {"Address", text(base.URL), d.URL}} {
		if f.sent.Set {
			add(f.label, f.before, f.sent.Value)
		}
	}
	if d.Metadata.Set {
		was := map[string]string{}
		for _, e := range base.Metadata.Entries() {
			was[e.Name] = *e.Value
		}
		for _, e := range d.Metadata.Value.Entries {
			add("Metadata “"+e.Name+"”", was[e.Name], text(e.Value))
		}
		if d.Metadata.Null {
			add("Metadata", string(base.Metadata), "")
		}
	}
	places, err := v.placesOf(p, c)
	return append(out, places...), err
}

// placesOf returns where a change puts the document.
func (v *visit) placesOf(p *proposalPage, c *sheaf.ProposedChange) (out []changedField, err error) {
	ctx, a := v.r.Context(), v.console.app
	for _, f := range []sheaf.Opt[sheaf.ProjectID]{c.Document.ProjectID, c.Move.ProjectID} {
		if !f.Set {
			continue
		}
		name := "none"
		if f.Given() {
			project, err := a.Project(ctx, v.caller, f.Value)
			if err != nil && sheaf.KindOf(err) != sheaf.NotFound {
				return nil, err
			}
			name = cmp.Or(project.Name, "a deleted project")
		}
		out = append(out, changedField{Label: "Project", After: name})
	}
	for _, f := range []struct {
		label string
		id    sheaf.Opt[sheaf.DocumentID]
	}{{"Below", c.Document.ParentID}, {"Below", c.Move.ParentID}, {"Before", c.Move.BeforeID}, {"After", c.Move.AfterID}} {
		if !f.id.Set {
			continue
		}
		name := "no document"
		if n, made := sheaf.ParseMadeBy(string(f.id.Value)); made && n < len(p.Proposal.Changes) {
			name = p.Proposal.Changes[n].Document.Title.Value
		} else if f.id.Given() {
			document, err := a.Document(ctx, v.caller, f.id.Value)
			if err != nil && sheaf.KindOf(err) != sheaf.NotFound {
				return nil, err
			}
			name = cmp.Or(document.Title, "a deleted document")
		}
		out = append(out, changedField{Label: f.label, After: name})
	}
	return out, nil
}
