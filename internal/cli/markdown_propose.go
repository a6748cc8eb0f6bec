package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"sheaf.dev/client"
	"sheaf.dev/internal/markdown"
	linemerge "sheaf.dev/internal/merge"
	"sheaf.dev/internal/sheaf"
)

// With --propose an import changes no document. It makes one proposal of all that differs, or of as much as a
// proposal may have; the run after its acceptance proposes the rest. While the
// proposal is open, the next run replaces its changes if they differ. An unchanged edit keeps its base
// version, so that what people wrote since is merged. If all edits are unchanged, approvals stay.

// propose carries out a plan as a proposal. Files that texts show are uploaded.
func (m *importer) propose(ctx context.Context, plan markdown.Plan, report *importReport) error {
	open, err := m.openProposal(ctx)
	if err != nil {
		return err
	}
	if err := m.canPropose(ctx, plan); err != nil {
		return err
	}
	for _, f := range plan.Upload {
		if err := m.upload(ctx, f); err != nil {
			return fileError(f.Path, err)
		}
	}
	changes, err := m.proposed(ctx, plan)
	if err != nil {
		return err
	}
	first := fitting(changes)
	changes, report.Later = changes[:first], len(changes)-first
	switch {
	case len(changes) == 0 && open == nil:
		return nil
	case len(changes) == 0:
		report.Withdrawn = open.ID
		_, err = m.api.Proposals.Withdraw(ctx, open.ID)
		return err
	case open == nil:
		if _, err := m.api.Proposals.Create(ctx, client.NewProposal{Title: m.proposalTitle(), Changes: changes}); err != nil {
			return err
		}
		report.Proposal, err = m.onlyNewest(ctx)
		return err
	}
	report.Proposal = open.ID
	if same := keepBases(open, changes); same {
		return nil
	}
	_, err = m.api.Proposals.Update(ctx, open.ID, client.ProposalChange{Changes: client.Set(changes)})
	return err
}

// onlyNewest withdraws all open proposals of the source but the newest, and returns the id of that one. Two imports
// that run at once each make one.
func (m *importer) onlyNewest(ctx context.Context) (id string, err error) {
	for v, err := range m.openProposals(ctx) {
		if err != nil {
			return "", err
		}
		if id == "" {
			id = v.ID
			continue
		}
		var answered *client.Error
		if _, err := m.api.Proposals.Withdraw(ctx, v.ID); err != nil && !(errors.As(err, &answered) && answered.Status == 409) { // the other import was faster
			return "", err
		}
	}
	return id, nil
}

// merged leaves out the updates that the documents have already: a person has accepted them, or has written the same.
func (m *importer) merged(ctx context.Context, plan markdown.Plan) (markdown.Plan, error) {
	var left []markdown.Change
	for _, u := range plan.Update {
		done, err := m.isMerged(ctx, u)
		if err != nil {
			return plan, fileError(u.Path, err)
		}
		if done {
			plan.Same++
		} else {
			left = append(left, u)
		}
	}
	plan.Update = left
	return plan, nil
}

// isMerged reports whether an update changes nothing in the text that the document has now.
func (m *importer) isMerged(ctx context.Context, u markdown.Change) (bool, error) {
	if !slices.Equal(u.Fields, []string{"content"}) {
		return false, nil
	}
	now, err := m.api.Documents.Get(ctx, u.Document.ID)
	if err != nil || now.Version == u.Document.Version {
		return false, err
	}
	base, err := m.api.Documents.Version(ctx, u.Document.ID, u.Document.Version)
	if err != nil {
		return false, err
	}
	text, _, err := m.lib.Content(u.Entry, m.existing, m.media)
	if err != nil {
		return false, err
	}
	merged, conflicts := linemerge.Lines(or(base.Content, ""), or(now.Content, ""), text)
	return len(conflicts) == 0 && merged == or(now.Content, ""), nil
}

// fitting returns how many of the changes, from the first one, one proposal can have. A change needs none of
// those after it, so the rest can be proposed when these are accepted.
func fitting(changes []client.NewChange) (n int) {
	texts := 0
	for n < len(changes) && n < sheaf.MaxProposed {
		bytes, _ := asShown(changes[n])["content_bytes"].(float64)
		if texts += int(bytes); n > 0 && texts > sheaf.MaxProposedTexts {
			break
		}
		n++
	}
	return n
}

func (m *importer) proposalTitle() string { return "Import from " + m.lib.Source }

// openProposal returns the newest open proposal that this user has made of the source, or nil. It is
// recognized by its title.
func (m *importer) openProposal(ctx context.Context) (*client.Proposal, error) {
	for v, err := range m.openProposals(ctx) {
		return &v, err
	}
	return nil, nil
}

// openProposals returns all of them, the newest first.
func (m *importer) openProposals(ctx context.Context) iter.Seq2[client.Proposal, error] {
	return func(yield func(client.Proposal, error) bool) {
		me, err := m.api.Me(ctx)
		if err != nil {
			yield(client.Proposal{}, err)
			return
		}
		for v, err := range m.api.Proposals.All(ctx, client.ProposalFilter{State: "open", UserID: me.User.ID, Paging: client.Paging{Desc: true}}) {
			if (err != nil || v.Title == m.proposalTitle()) && (!yield(v, err) || err != nil) {
				return
			}
		}
	}
}

// proposed returns the changes of a plan: documents to create or move first, parents before those below
// them, then edits, then deletions. canPropose has been called.
func (m *importer) proposed(ctx context.Context, plan markdown.Plan) (changes []client.NewChange, err error) {
	trashed := map[string]string{}
	if len(plan.Create) > 0 {
		for d, err := range m.api.Documents.All(ctx, client.DocumentFilter{Deleted: true}) {
			if err != nil {
				return nil, err
			}
			trashed[or(d.ExternalID, "")] = d.ID
		}
	}
	for _, c := range plan.Place {
		change, err := m.placed(c, trashed[c.ExternalID])
		if err != nil {
			return nil, fileError(c.Path, err)
		}
		if change.Op == "" {
			continue
		}
		if c.Document.ID == "" {
			m.documents[c.ExternalID] = client.MadeBy(len(changes))
		}
		if change.Op == "restore" {
			m.documents[c.ExternalID] = change.DocumentID
		}
		changes = append(changes, change)
	}
	for _, u := range plan.Update {
		change, err := m.edited(u)
		if err != nil {
			return nil, fileError(u.Path, err)
		}
		if change.Op != "" {
			changes = append(changes, change)
		}
	}
	for _, d := range plan.Trash {
		changes = append(changes, client.NewChange{Op: "delete", DocumentID: d.ID, BaseVersion: d.Version})
	}
	return changes, nil
}

// canPropose reads the projects of the server. It returns an error if a new document would be in one that
// is not there.
func (m *importer) canPropose(ctx context.Context, plan markdown.Plan) error {
	if len(plan.Place) == 0 {
		return nil
	}
	if err := m.known(ctx); err != nil {
		return err
	}
	for _, e := range plan.Create {
		if _, err := m.proposedProject(e); err != nil {
			return fileError(e.Path, err)
		}
	}
	return nil
}

// proposedProject returns the id of the project in which a document would be.
func (m *importer) proposedProject(e *markdown.Entry) (string, error) {
	if m.lib.AsProject && m.lib.Home != "" {
		return m.lib.Home, nil
	}
	of := m.above(e).Project
	if id, ok := m.projects[markdown.ExternalID(m.lib.Source, of.Path)]; ok {
		return id, nil
	}
	return "", sheaf.Invalidf("its project %q is not on the server, and a proposal cannot make one: import once without --propose, or create the project with the external id %s",
		sheaf.Clip(of.Name), markdown.ExternalID(m.lib.Source, of.Path))
}

// placed returns the change that creates a document or moves it. A document in the trash is restored;
// the next run proposes the rest. If only the order of documents differs, the change has no op.
func (m *importer) placed(c markdown.Change, trashed string) (out client.NewChange, err error) {
	if trashed != "" {
		return client.NewChange{Op: "restore", DocumentID: trashed}, nil
	}
	moves := slices.Contains(c.Fields, "project_id") || slices.Contains(c.Fields, "parent_id")
	if c.Document.ID != "" && !moves {
		return out, nil
	}
	project, err := m.proposedProject(c.Entry)
	if err != nil {
		return out, err
	}
	out = client.NewChange{Op: "move", DocumentID: c.Document.ID, ProjectID: client.Set(project)}
	if m.lib.AsProject {
		out.ParentID = client.Null[string]()
	}
	if c.Parent != nil {
		out.ParentID = client.Set(m.documents[c.Parent.ExternalID])
	}
	if c.Document.ID != "" {
		return out, nil
	}
	text, _, err := m.lib.Content(c.Entry, m.existing, m.media)
	if err != nil {
		return out, err
	}
	fields := m.change(c.Entry, []string{"title", "description", "url", "metadata"})
	out.Op, out.ExternalID, out.Content = "create", client.Set(c.ExternalID), client.Set(text)
	out.Title, out.Description, out.URL, out.Metadata = fields.Title, fields.Description, fields.URL, fields.Metadata
	if m.lib.AsProject {
		out.SortOrder = client.Set(c.SortOrder)
	}
	return out, nil
}

// existing returns the id of a document that a link leads to. A document that is only proposed has no id: its
// link stays as it is, and a run after the acceptance proposes the link with the id.
func (m *importer) existing(e *markdown.Entry) (string, bool) {
	id, ok := m.documents[e.ExternalID]
	if _, made := sheaf.ParseMadeBy(id); made {
		return "", false
	}
	return id, ok
}

// edited returns the change of a document's fields that differ, except those of its place. If none differs, it
// has no op.
func (m *importer) edited(u markdown.Change) (out client.NewChange, err error) {
	fields := m.change(u.Entry, u.Fields)
	out = client.NewChange{DocumentID: u.Document.ID, BaseVersion: u.Document.Version, Title: fields.Title, Description: fields.Description, URL: fields.URL}
	if slices.Contains(u.Fields, "metadata") { // an edit merges metadata, so a removed name is sent with nil
		values := map[string]*string{}
		now := m.lib.Metadata(u.Entry, m.media)
		if m.baseline != nil {
			values = m.baseline.MetadataSince(u.Path, now)
		} else {
			for name := range u.Document.Metadata {
				values[name] = nil
			}
			for name, value := range now {
				values[name] = &value
			}
		}
		if len(values) > 0 {
			out.Metadata = client.Set(values)
		}
	}
	if slices.Contains(u.Fields, "content") {
		text, _, err := m.lib.Content(u.Entry, m.existing, m.media)
		if err != nil {
			return out, err
		}
		if sum := sha256.Sum256([]byte(text)); hex.EncodeToString(sum[:]) != u.Document.SHA256 {
			out.Content = client.Set(text)
		}
	}
	if !out.Title.IsZero() || !out.Description.IsZero() || !out.URL.IsZero() || !out.Metadata.IsZero() || !out.Content.IsZero() {
		out.Op = "edit"
	}
	return out, nil
}

// keepBases gives each edit and deletion the base version that it has in the open proposal, if it is the
// same otherwise. It reports whether all changes are those of the proposal.
func keepBases(open *client.Proposal, changes []client.NewChange) (same bool) {
	var before struct {
		Changes []map[string]any `json:"changes"`
	}
	_ = json.Unmarshal(open.Raw(), &before) // the client has read it already
	same = len(before.Changes) == len(changes)
	for i := range changes {
		shown := asShown(changes[i])
		at := slices.IndexFunc(before.Changes, func(c map[string]any) bool { return withoutBase(c) == withoutBase(shown) })
		if at < 0 {
			same = false
			continue
		}
		if base, ok := before.Changes[at]["base_version"].(float64); ok {
			changes[i].BaseVersion = int64(base)
		}
		same = same && at == i
	}
	return same
}

// asShown returns the change as the server shows it: with the hash of the text in place of the text.
func asShown(c client.NewChange) (out map[string]any) {
	_ = json.Unmarshal(asJSON(c), &out) // cannot fail: the program made these values
	if text, ok := out["content"].(string); ok {
		sum := sha256.Sum256([]byte(text))
		delete(out, "content")
		out["content_sha256"], out["content_bytes"] = hex.EncodeToString(sum[:]), float64(len(text))
	}
	return out
}

func withoutBase(c map[string]any) string {
	out := map[string]any{}
	for name, value := range c {
		if name != "base_version" {
			out[name] = value
		}
	}
	return fmt.Sprint(out) // sorted by name
}
