package console

import (
	"net/http"

	"sheaf.dev/internal/sheaf"
)

// access is who may open a route.
type access struct {
	level int
	scope sheaf.Scope // of a member, where level is byMember
}

const (
	byAnything = iota + 1 // nobody is asked who they are, and the store is not read for it
	byAnyone              // whoever is signed in is known, and nobody has to be
	bySignedIn
	byMember // of the workspace in the path, with a role that has the scope
	byOwner  // of the workspace in the path
)

var (
	anything = access{level: byAnything}
	anyone   = access{level: byAnyone}
	signedIn = access{level: bySignedIn}
	owners   = access{level: byOwner}
)

// needs allows members of the workspace in the path whose role has the scope.
func needs(s sheaf.Scope) access { return access{byMember, s} }

// route is one page, or one act.
type route struct {
	method, path string
	who          access
	do           func(*visit) error
	long         bool // its form holds a document's text
	looks        bool // it changes nothing, though it is a POST: no limit of changes counts it
	costly       bool // it renders, compares or searches: a limit of reading counts it
	resumes      bool // its form comes back after a sign-in in between
	takesFile    bool // it is sent a file
}

// withText is the route whose form holds a document's text.
func (r route) withText() route { r.long = true; return r }

// changingNothing marks a POST that only reads.
func (r route) changingNothing() route { r.looks = true; return r }

// costing marks a route that reads by rendering, comparing or searching.
func (r route) costing() route { r.costly = true; return r }

// resuming marks a route whose form is shown again, with what was typed, after the session has ended and the
// person has signed in again. Its handler must change things only through app's methods with a Caller.
func (r route) resuming() route { r.resumes = true; return r }

// withFile marks a route that receives a file. Nothing of it is read before the sender's access is checked.
func (r route) withFile() route { r.takesFile = true; return r }

// mostForm returns the largest form of this route. The form of the sign-in carries another form.
func (r *route) mostForm() int64 {
	if r.path == "/sign-in" {
		return maxSignInForm
	}
	return maxForm
}

func get(path string, who access, do func(*visit) error) route {
	return route{method: http.MethodGet, path: path, who: who, do: do}
}

func post(path string, who access, do func(*visit) error) route {
	return route{method: http.MethodPost, path: path, who: who, do: do}
}

// allRoutes returns all routes of the console.
func (c *Console) allRoutes() []route {
	read, write := needs(sheaf.ProjectsRead), needs(sheaf.ProjectsWrite)
	docsRead, docsWrite := needs(sheaf.DocumentsRead), needs(sheaf.DocumentsWrite)
	looksRead, looksWrite := needs(sheaf.BrandingsRead), needs(sheaf.BrandingsWrite)
	sharesRead, sharesWrite := needs(sheaf.SharesRead), needs(sheaf.SharesWrite)
	hooksRead, hooksWrite := needs(sheaf.WebhooksRead), needs(sheaf.WebhooksWrite)
	return []route{
		get("/{$}", anyone, c.home),
		get("/assets/{file}", anything, c.asset),
		get("/favicon.ico", anything, c.favicon),
		get("/setup/{token}", anyone, c.setup),
		post("/setup/{token}", anyone, c.completeSetup),
		get("/invite/{token}", anyone, c.invitation),
		post("/invite/{token}", anyone, c.join),
		get("/sign-in", anyone, c.signInForm),
		post("/sign-in", anyone, c.signIn),
		post("/sign-out", anyone, c.signOut),

		post("/sign-out-everywhere", signedIn, c.signOutEverywhere),
		get("/account", signedIn, c.account),
		post("/account/name", signedIn, c.renamePerson),
		post("/account/password", signedIn, c.changePassword),

		get("/w/{workspace}", read, c.workspace),
		get("/w/{workspace}/live", needs(sheaf.EventsRead), c.follow),
		get("/w/{workspace}/search", read, c.search).costing(),
		get("/w/{workspace}/jump", read, c.jump).costing(),

		get("/w/{workspace}/projects", read, c.overview),
		get("/w/{workspace}/projects/new", write, c.newProject),
		get("/w/{workspace}/projects/choose", read, c.chooseProject),
		post("/w/{workspace}/projects", write, c.createProject).resuming(),
		get("/w/{workspace}/projects/{id}", read, c.project),
		get("/w/{workspace}/projects/{id}/edit", write, c.editProject),
		post("/w/{workspace}/projects/{id}", write, c.updateProject).resuming(),
		get("/w/{workspace}/projects/{id}/move", write, asksMove("project", (*visit).projectMove)),
		post("/w/{workspace}/projects/{id}/move", write, moves("project", "folder", (*visit).projectMove, c.app.MoveProject)).resuming(),
		get("/w/{workspace}/projects/{id}/delete", write, c.deleteProjectForm),
		post("/w/{workspace}/projects/{id}/delete", write, c.deleteProject),

		get("/w/{workspace}/folders/new", write, c.newFolder),
		get("/w/{workspace}/folders/choose", read, c.chooseFolder),
		post("/w/{workspace}/folders", write, c.createFolder).resuming(),
		get("/w/{workspace}/folders/{id}", read, c.folder),
		get("/w/{workspace}/folders/{id}/branch", read, c.branch),
		get("/w/{workspace}/folders/{id}/edit", write, c.editFolder),
		post("/w/{workspace}/folders/{id}", write, c.updateFolder).resuming(),
		get("/w/{workspace}/folders/{id}/move", write, asksMove("folder", (*visit).folderMove)),
		post("/w/{workspace}/folders/{id}/move", write, moves("folder", "parent", (*visit).folderMove, c.app.MoveFolder)).resuming(),
		get("/w/{workspace}/folders/{id}/delete", write, c.deleteFolderForm),
		post("/w/{workspace}/folders/{id}/delete", write, c.deleteFolder),

		get("/w/{workspace}/selection/move", write, c.moveSelectionForm),
		post("/w/{workspace}/selection/move", write, c.moveSelection),
		get("/w/{workspace}/selection/delete", write, c.deleteSelectionForm),
		post("/w/{workspace}/selection/delete", write, c.deleteSelection),
		get("/w/{workspace}/selection/share", sharesWrite, c.shareSelectionForm),
		post("/w/{workspace}/selection/share", sharesWrite, c.shareSelection),
		post("/w/{workspace}/selection/undo", write, c.undoSelection),
		post("/w/{workspace}/selection/order", write, c.arrange),

		get("/w/{workspace}/brandings", looksRead, c.brandings),
		get("/w/{workspace}/brandings/new", looksWrite, c.newBranding),
		post("/w/{workspace}/brandings", looksWrite, c.createBranding).resuming(),
		post("/w/{workspace}/brandings/preview", looksWrite, c.previewBranding).changingNothing(),
		get("/w/{workspace}/brandings/{id}", looksRead, c.branding),
		get("/w/{workspace}/brandings/{id}/edit", looksWrite, c.editBranding),
		post("/w/{workspace}/brandings/{id}", looksWrite, c.updateBranding).resuming(),
		get("/w/{workspace}/brandings/{id}/move", looksWrite, asksMove("branding", (*visit).brandingMove)),
		post("/w/{workspace}/brandings/{id}/move", looksWrite, moves("branding", "folder", (*visit).brandingMove, c.app.MoveBranding)).resuming(),
		get("/w/{workspace}/brandings/{id}/delete", looksWrite, c.deleteBrandingForm),
		post("/w/{workspace}/brandings/{id}/delete", looksWrite, c.deleteBranding),

		get("/w/{workspace}/documents", docsRead, c.looseDocuments),
		get("/w/{workspace}/documents/new", docsWrite, c.newDocument),
		post("/w/{workspace}/documents", docsWrite, c.createDocument).withText().resuming(),
		post("/w/{workspace}/documents/preview", docsWrite, c.preview).withText().changingNothing().costing(),
		get("/w/{workspace}/documents/{id}", docsRead, c.document).costing(),
		get("/w/{workspace}/documents/{id}/edit", docsWrite, c.editDocument),
		post("/w/{workspace}/documents/{id}", docsWrite, c.updateDocument).withText().resuming(),
		get("/w/{workspace}/documents/{id}/versions", docsRead, c.versions),
		get("/w/{workspace}/documents/{id}/versions/{n}", docsRead, c.version).costing(),
		get("/w/{workspace}/documents/{id}/versions/{n}/restore", docsWrite, c.restoreVersionForm),
		post("/w/{workspace}/documents/{id}/versions/{n}/restore", docsWrite, c.restoreVersion),
		get("/w/{workspace}/documents/{id}/delete", docsWrite, c.deleteDocumentForm),
		post("/w/{workspace}/documents/{id}/delete", docsWrite, c.deleteDocument),
		post("/w/{workspace}/documents/{id}/restore", docsWrite, c.restoreDocument),

		get("/w/{workspace}/documents/{id}/share", sharesRead, c.shareDocument),
		post("/w/{workspace}/documents/{id}/share", sharesWrite, c.makeDocumentShare).resuming(),
		get("/w/{workspace}/projects/{id}/share", sharesRead, c.shareProject),
		post("/w/{workspace}/projects/{id}/share", sharesWrite, c.makeProjectShare).resuming(),
		post("/w/{workspace}/shares/{id}", sharesWrite, c.updateShare).resuming(),
		post("/w/{workspace}/shares/{id}/delete", sharesWrite, c.deleteShare),

		get("/w/{workspace}/trash", docsRead, c.trash),
		get("/w/{workspace}/trash/{id}/delete", docsWrite, c.purgeForm),
		post("/w/{workspace}/trash/{id}/delete", docsWrite, c.purge),

		get("/w/{workspace}/media", needs(sheaf.MediaRead), c.media),
		post("/w/{workspace}/media", needs(sheaf.MediaWrite), c.uploadMedium).withFile(),
		get("/w/{workspace}/media/{id}/content", needs(sheaf.MediaRead), c.mediumContent),
		get("/w/{workspace}/media/{id}/rename", needs(sheaf.MediaWrite), c.renameMediumForm),
		post("/w/{workspace}/media/{id}/rename", needs(sheaf.MediaWrite), c.renameMedium).resuming(),
		get("/w/{workspace}/media/{id}/delete", needs(sheaf.MediaWrite), c.deleteMediumForm),
		post("/w/{workspace}/media/{id}/delete", needs(sheaf.MediaWrite), c.deleteMedium),

		get("/w/{workspace}/webhooks", hooksRead, c.webhooks),
		get("/w/{workspace}/webhooks/new", hooksWrite, c.newWebhook),
		post("/w/{workspace}/webhooks", hooksWrite, c.createWebhook).resuming(),
		get("/w/{workspace}/webhooks/{id}", hooksRead, c.webhook),
		get("/w/{workspace}/webhooks/{id}/edit", hooksWrite, c.editWebhook),
		post("/w/{workspace}/webhooks/{id}", hooksWrite, c.updateWebhook).resuming(),
		get("/w/{workspace}/webhooks/{id}/filter", hooksRead, c.filter),
		post("/w/{workspace}/webhooks/{id}/filter", hooksWrite, c.changeFilter),
		post("/w/{workspace}/webhooks/{id}/test", hooksWrite, c.testWebhook),
		get("/w/{workspace}/webhooks/{id}/rotate", hooksWrite, c.onWebhook("webhook-rotate")),
		post("/w/{workspace}/webhooks/{id}/rotate", hooksWrite, c.rotateSecret),
		get("/w/{workspace}/webhooks/{id}/pause", hooksWrite, c.onWebhook("webhook-pause")),
		post("/w/{workspace}/webhooks/{id}/pause", hooksWrite, c.pauseWebhook),
		get("/w/{workspace}/webhooks/{id}/reactivate", hooksWrite, c.reactivateForm),
		post("/w/{workspace}/webhooks/{id}/reactivate", hooksWrite, c.reactivateWebhook),
		post("/w/{workspace}/webhooks/{id}/recover", hooksWrite, c.recoverWebhook),
		post("/w/{workspace}/webhooks/{id}/resend", hooksWrite, c.resend),
		get("/w/{workspace}/webhooks/{id}/delete", hooksWrite, c.onWebhook("webhook-delete")),
		post("/w/{workspace}/webhooks/{id}/delete", hooksWrite, c.deleteWebhook),
		get("/w/{workspace}/deliveries/{id}", hooksRead, c.delivery),
		post("/w/{workspace}/deliveries/{id}/redeliver", hooksWrite, c.redeliver),

		get("/w/{workspace}/keys", needs(sheaf.KeysRead), c.keys),
		get("/w/{workspace}/keys/new", needs(sheaf.KeysWrite), c.newKey),
		post("/w/{workspace}/keys", needs(sheaf.KeysWrite), c.createKey).resuming(),
		get("/w/{workspace}/keys/{id}/revoke", needs(sheaf.KeysWrite), c.revokeKeyForm),
		post("/w/{workspace}/keys/{id}/revoke", needs(sheaf.KeysWrite), c.revokeKey),

		get("/w/{workspace}/activity", needs(sheaf.EventsRead), c.activity),
		get("/w/{workspace}/events/{id}", needs(sheaf.EventsRead), c.event),

		get("/w/{workspace}/members", read, c.members),
		get("/w/{workspace}/members/invite", owners, c.inviteForm),
		post("/w/{workspace}/members/invite", owners, c.invite).resuming(),
		get("/w/{workspace}/members/{id}/role", owners, c.roleForm),
		post("/w/{workspace}/members/{id}/role", owners, c.setRole).resuming(),
		get("/w/{workspace}/members/{id}/remove", read, c.removeMemberForm),
		post("/w/{workspace}/members/{id}/remove", read, c.removeMember),
		post("/w/{workspace}/invitations/{id}/withdraw", owners, c.withdraw),

		get("/w/{workspace}/settings", read, c.settings),
		post("/w/{workspace}/settings/name", owners, c.renameWorkspace).resuming(),
		post("/w/{workspace}/settings/plan", owners, c.changePlan).resuming(),
		post("/w/{workspace}/settings/branding", looksWrite, c.chooseBranding).resuming(),
	}
}
