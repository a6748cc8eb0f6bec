package console

import "sheaf.dev/internal/sheaf"

// act is something to do, or a page, that the jump leads to from anywhere.
type act struct {
	title, does string // what it is called, and what it is for
	link, icon  string // within the workspace
	needs       sheaf.Scope
	dialog      bool // it opens in the dialog
	// may says who else it is not for; nil: nobody.
	may func(*visit) bool
}

// acts are what people make, in the order of how often.
var acts = []act{
	{"New project", "groups documents", "projects/new", "plus", sheaf.ProjectsWrite, true, nil},
	{"New document", "in Markdown", "documents/new", "plus", sheaf.DocumentsWrite, false, nil},
	{"New folder", "keeps projects in order", "folders/new", "plus", sheaf.ProjectsWrite, true, nil},
	{"New webhook", "tells an endpoint what happens", "webhooks/new", "plus", sheaf.WebhooksWrite, true, nil},
	{"New key", "lets a program use the API", "keys/new", "plus", sheaf.KeysWrite, true, nil},
	{"New branding", "the look of what you share", "brandings/new", "plus", sheaf.BrandingsWrite, false, (*visit).mayMakeBrandings},
	{"Upload a file", "pictures and files of texts", "media#upload", "image", sheaf.MediaWrite, false, nil},
	{"Invite somebody", "a member, by a link", "members/invite", "users", sheaf.ProjectsRead, true, (*visit).mayInvite},
}

// pagesToGo are the pages of a workspace.
var pagesToGo = []act{
	{"Projects", "all projects and folders", "projects", "library", sheaf.ProjectsRead, false, nil},
	{"Documents in no project", "", "documents", "file", sheaf.DocumentsRead, false, nil},
	{"Trash", "deleted documents", "trash", "archive", sheaf.DocumentsRead, false, nil},
	{"Brandings", "the look of what you share", "brandings", "palette", sheaf.BrandingsRead, false, nil},
	{"Media", "pictures and files", "media", "image", sheaf.MediaRead, false, nil},
	{"Webhooks", "and their deliveries", "webhooks", "webhook", sheaf.WebhooksRead, false, nil},
	{"Keys", "of programs", "keys", "key", sheaf.KeysRead, false, nil},
	{"Activity", "events, requests and deliveries", "activity", "pulse", sheaf.EventsRead, false, nil},
	{"Members", "people and their roles", "members", "users", sheaf.ProjectsRead, false, nil},
	{"Settings", "name, plan and default branding", "settings", "gear", sheaf.ProjectsRead, false, nil},
}

// mayInvite reports whether the person may invite others: an owner, of a workspace that is for several.
func (v *visit) mayInvite() bool { return v.page(nil).Owner() && !v.member.Workspace.Personal }

// jumpToActs finds what to do, pages, and the person's other workspaces; all of them where nothing is typed.
func (v *visit) jumpToActs(p *jumpPage) error {
	p.add("Make", v.jumpActs(p, acts))
	places := v.jumpActs(p, pagesToGo)
	for _, page := range []jumpItem{goal("Account", "your name and password", "lock", "/account"), goal("API reference", "for programs", "code", "/docs")} {
		if p.asksFor(page.Title, page.Where) {
			places = append(places, page)
		}
	}
	p.add("Go to", places)
	var others []jumpItem
	for _, m := range v.session.Memberships {
		if m.Workspace.ID != v.caller.Workspace && p.asksFor(m.Workspace.Name) {
			others = append(others, goal(m.Workspace.Name, string(m.Role), "updown", "/w/"+string(m.Workspace.ID)+"/projects"))
		}
	}
	p.add("Workspaces", others)
	return nil
}

// jumpActs are those of the acts that are asked for, and that the person may do.
func (v *visit) jumpActs(p *jumpPage, all []act) (out []jumpItem) {
	for _, a := range all {
		if v.caller.May(a.needs) && (a.may == nil || a.may(v)) && p.asksFor(a.title, a.does) {
			item := goal(a.title, a.does, a.icon, v.link(a.link))
			item.Dialog = a.dialog
			out = append(out, item)
		}
	}
	return out
}
