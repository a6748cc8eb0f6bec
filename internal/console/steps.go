package console

import (
	"cmp"
	"slices"

	"sheaf.dev/internal/sheaf"
)

// step is one of the first things to do in a new workspace.
type step struct {
	Text string
	How  string // what it is good for, or how it is done
	Code string // to type into a shell; empty for none
	Link string // within the workspace; empty for none
	Act  string // what the link says
	// Dialog says that the link opens in the dialog.
	Dialog bool
	Done   bool
}

// steps are those of a workspace, until all of them are done.
type steps []step

// Done is how many are.
func (s steps) Done() (n int) {
	for _, one := range s {
		if one.Done {
			n++
		}
	}
	return n
}

// All reports whether nothing is left to do.
func (s steps) All() bool { return s.Done() == len(s) }

// firstSteps says what a new workspace needs, with what is done. Who may not change anything is shown
// nothing.
func (v *visit) firstSteps() (steps, error) {
	if !v.caller.May(sheaf.ProjectsWrite) {
		return nil, nil
	}
	imported, err := v.hasImported()
	if err != nil {
		return nil, err
	}
	used, err := v.hasUsedKey()
	ws := v.member.Workspace
	return steps{
		{Text: "Make a project", How: "It groups the documents about one thing: a product, a team, a handbook.", Link: "projects/new", Act: "New project", Dialog: true, Done: ws.Projects > 0},
		{Text: "Write a document", How: "In Markdown, with a preview beside it.", Link: "documents/new", Act: "New document", Done: ws.Documents > 0},
		{Text: "Bring a folder of Markdown", How: "Exports of Outline and Obsidian, sources of mkdocs, any folder. In a shell, with a key in SHEAF_API_KEY:",
			Code: cmp.Or(v.console.Command, "sheaf") + " import-markdown ./docs --source docs --server " + v.console.Address, Done: imported},
		{Text: "Connect n8n, or a program of yours", How: "Give it a key of its own; the reference has every request.", Link: "keys/new", Act: "New key", Dialog: true, Done: used},
		{Text: "Set up a webhook", How: "It tells your endpoint what happens here.", Link: "webhooks/new", Act: "New webhook", Dialog: true, Done: ws.Subscriptions > 0},
	}, err
}

// hasImported reports whether one of the documents changed last came from another system.
func (v *visit) hasImported() (bool, error) {
	page, err := v.console.app.Documents(v.r.Context(), v.caller, sheaf.DocumentFilter{Sort: sheaf.DocumentsByUpdated, Paging: sheaf.Paging{Limit: sheaf.DefaultLimit, Desc: true}})
	return slices.ContainsFunc(page.Items, func(d sheaf.Document) bool { return d.ExternalID != nil }), err
}

// hasUsedKey reports whether a program has used one of the keys.
func (v *visit) hasUsedKey() (bool, error) {
	page, err := v.console.app.Keys(v.r.Context(), v.caller, sheaf.Paging{Limit: keyPage})
	return slices.ContainsFunc(page.Items, func(k sheaf.Key) bool { return k.LastUsedAt != nil }), err
}
