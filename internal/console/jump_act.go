package console

import "sheaf.dev/internal/sheaf"

// act is an action or a page that the jump offers everywhere.
type act struct {
	title, does string // its name and its purpose
	link, icon  string // the link is within the workspace
	needs       sheaf.Scope
	dialog      bool // it opens in the dialog
	// may reports whether the person may use it, beside the scope; nil: no further check.
	may func(*visit) bool
}

// acts are the actions that make something, the most frequent first.
var acts = []act{
	{"New project", "groups documents", "projects/new", "plus", sheaf.ProjectsWrite, true, (*visit).seesAll},
	{"New document", "in Markdown", "documents/new", "plus", sheaf.DocumentsWrite, false, nil},
	{"New folder", "keeps projects in order", "folders/new", "plus", sheaf.ProjectsWrite, true, (*visit).seesAll},
	{"New webhook", "sends events to an endpoint", "webhooks/new", "plus", sheaf.WebhooksWrite, true, nil},
	{"New key", "lets a program use the API", "keys/new", "plus", sheaf.KeysWrite, true, nil},
	{"New branding", "the look of what you share", "brandings/new", "plus", sheaf.BrandingsWrite, false, (*visit).mayMakeBrandings},
	{"Upload a file", "pictures and files of texts", "media#upload", "image", sheaf.MediaWrite, false, (*visit).seesAll},
	{"Invite someone", "a member, by a link", "members/invite", "users", sheaf.ProjectsRead, true, func(v *visit) bool {
		return v.page(nil).Owner() && !v.member.Workspace.Personal // the workspace is for several people
	}},
}

// pagesToGo are the pages of a workspace.
var pagesToGo = []act{
	{"Projects", "all projects and folders", "projects", "library", sheaf.ProjectsRead, false, nil},
	{"Documents without a project", "", "documents", "file", sheaf.DocumentsRead, false, (*visit).seesAll},
	{"Trash", "deleted documents", "trash", "archive", sheaf.DocumentsRead, false, nil},
	{"Brandings", "the look of what you share", "brandings", "palette", sheaf.BrandingsRead, false, nil},
	{"Media", "pictures and files", "media", "image", sheaf.MediaRead, false, nil},
	{"Proposals", "changes that wait for a decision", "proposals", "tasks", sheaf.ProposalsRead, false, nil},
	{"Webhooks", "and their deliveries", "webhooks", "webhook", sheaf.WebhooksRead, false, nil},
	{"Keys", "of programs", "keys", "key", sheaf.KeysRead, false, nil},
	{"Activity", "events, requests and deliveries", "activity", "pulse", sheaf.EventsRead, false, nil},
	{"Members", "people and their roles", "members", "users", sheaf.ProjectsRead, false, nil},
	{"Settings", "name, plan and default branding", "settings", "gear", sheaf.ProjectsRead, false, nil},
}
