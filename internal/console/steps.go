package console

import (
	"cmp"
	"slices"

	"sheaf.dev/internal/sheaf"
)

// step is one of the first things to do in a new workspace.
type step struct {
	Text string
	How  string // its purpose, or how it is done
	Code string // a shell command; empty for none
	Link string // within the workspace; empty for none
	Act  string // the text of the link
	// Dialog makes the link open in the dialog.
	Dialog bool
	Done   bool
	needs  sheaf.Scope
}

// steps are the first steps of a workspace. The page shows them until all are done.
type steps []step

// Done returns the number of steps that are done.
func (s steps) Done() (n int) {
	for _, one := range s {
		if one.Done {
			n++
		}
	}
	return n
}

// All reports whether all steps are done.
func (s steps) All() bool { return s.Done() == len(s) }

// closeSteps answers POST /w/{workspace}/steps/close: the person sees the first steps no more.
func (c *Console) closeSteps(v *visit) error {
	if err := c.app.CloseSteps(v.r.Context(), v.session); err != nil {
		return err
	}
	return v.done(v.at("projects"))
}

// firstSteps returns the first steps that the person may do, and which of them are done. There are none
// for a person who may change nothing, is restricted, or has closed the steps.
func (v *visit) firstSteps() (steps, error) {
	if !v.caller.May(sheaf.ProjectsWrite) || v.restricted() {
		return nil, nil
	}
	if closed, err := v.console.app.StepsClosed(v.r.Context(), v.session); closed || err != nil {
		return nil, err
	}
	changed, err := v.console.app.Documents(v.r.Context(), v.caller, sheaf.DocumentFilter{Sort: sheaf.DocumentsByUpdated, Paging: sheaf.Paging{Limit: sheaf.DefaultLimit, Desc: true}})
	if err != nil {
		return nil, err
	}
	// Only the documents that were changed last are checked.
	imported := slices.ContainsFunc(changed.Items, func(d sheaf.Document) bool { return d.ExternalID != nil })
	keys, err := v.console.app.Keys(v.r.Context(), v.caller, sheaf.Paging{Limit: keyPage})
	used := slices.ContainsFunc(keys.Items, func(k sheaf.Key) bool { return k.LastUsedAt != nil })
	ws := v.member.Workspace
	all := steps{
		{Text: "Create a project", How: "It groups the documents about one thing: a product, a team, a handbook.", Link: "projects/new", Act: "New project", Dialog: true, Done: ws.Projects > 0, needs: sheaf.ProjectsWrite},
		{Text: "Write a document", How: "In Markdown, with a preview beside it.", Link: "documents/new", Act: "New document", Done: ws.Documents > 0, needs: sheaf.DocumentsWrite},
		{Text: "Import a folder of Markdown", How: "An export of Outline or Obsidian, the sources of mkdocs, or any other folder. In a shell, with a key in SHEAF_API_KEY:",
			Code: cmp.Or(v.console.Command, "sheaf") + " import-markdown ./docs --source docs --server " + v.console.Address, Done: imported, needs: sheaf.KeysWrite},
		{Text: "Connect n8n, or your own program", How: "Give it its own key. The reference describes every request.", Link: "keys/new", Act: "New key", Dialog: true, Done: used, needs: sheaf.KeysWrite},
		{Text: "Set up a webhook", How: "It sends events of this workspace to your endpoint.", Link: "webhooks/new", Act: "New webhook", Dialog: true, Done: ws.Subscriptions > 0, needs: sheaf.WebhooksWrite},
	}
	return slices.DeleteFunc(all, func(s step) bool { return !v.caller.May(s.needs) }), err
}
