package httpapi

import (
	"net/http"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/obs"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// route is one operation. Exactly one of do, doJSON, doText and doFile is set: it says what body the operation
// takes.
type route struct {
	method, path string
	need         []sheaf.Scope                                   // the key must have all of these
	oneOf        []sheaf.Scope                                   // and one of these, unless the list is empty
	do           func(*exchange) (answer, error)                 // no body, or with streams a body read in pieces
	doJSON       func(*exchange, *strict.Fields) (answer, error) // the body as a JSON object
	doText       func(*exchange, string) (answer, error)         // the body as a text
	doFile       func(*exchange, app.NewMedium) (answer, error)  // a file, as the body or in a form
	cached       bool
	streams      bool
	optional     bool
	public       bool // no key is needed
	once         bool // an Idempotency-Key is supported
	counted      *obs.Route
}

// handler is the type of a function that serves a route.
type handler interface {
	func(*exchange) (answer, error) | func(*exchange, *strict.Fields) (answer, error) | func(*exchange, string) (answer, error) |
		func(*exchange, app.NewMedium) (answer, error)
}

// on returns a route. need lists the scopes that a key must have. A POST supports Idempotency-Key.
func on[H handler](method, path string, need []sheaf.Scope, do H, options ...func(*route)) route {
	r := route{method: method, path: path, need: need, once: method == http.MethodPost}
	switch do := any(do).(type) {
	case func(*exchange) (answer, error):
		r.do = do
	case func(*exchange, *strict.Fields) (answer, error):
		r.doJSON = do
	case func(*exchange, string) (answer, error):
		r.doText = do
	case func(*exchange, app.NewMedium) (answer, error):
		r.doFile = do
	}
	for _, option := range options {
		option(&r)
	}
	return r
}

// The options of a route. tus is another.
var (
	// cached is for answers that depend only on projects, folders, documents, brandings and media.
	cached = func(r *route) { r.cached = true }
	// anyScope is for a key that has at least one of the scopes. The request decides which one it needs.
	anyScope = func(r *route) { r.need, r.oneOf = anyKey, r.need }
	// emptyBody allows a request without a body, which then means an empty object.
	emptyBody = func(r *route) { r.optional = true }
	// streamed is for a body that the function reads in pieces.
	streamed = func(r *route) { r.streams = true }
	// notOnce ignores Idempotency-Key: every request has its effect.
	notOnce = func(r *route) { r.once = false }
	// noKey is for a route that needs no key, and shows nothing that would need one.
	noKey = func(r *route) { r.public = true }
)

// hasBody reports whether the route takes a body.
func (r *route) hasBody() bool {
	return r.doJSON != nil || r.doText != nil || r.doFile != nil || r.streams
}

// anyKey is for the routes that every key of a paid plan may use.
var anyKey = []sheaf.Scope{}

func needs(scopes ...sheaf.Scope) []sheaf.Scope { return scopes }

// allRoutes returns all routes of the API.
func (s *Server) allRoutes() []route {
	const get, post, put, patch, remove = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete
	read, write := needs(sheaf.ProjectsRead), needs(sheaf.ProjectsWrite)
	hooksRead, hooksWrite := needs(sheaf.WebhooksRead), needs(sheaf.WebhooksWrite)
	brandingsRead, brandingsWrite := needs(sheaf.BrandingsRead), needs(sheaf.BrandingsWrite)
	docsRead, docsWrite := needs(sheaf.DocumentsRead), needs(sheaf.DocumentsWrite)
	// A key that creates a share must be able to read what it shows. For a project, app also requires
	// projects:read.
	publish := needs(sheaf.SharesWrite, sheaf.DocumentsRead, sheaf.MediaRead)
	proposalsRead, proposalsWrite, proposalsApprove := needs(sheaf.ProposalsRead), needs(sheaf.ProposalsWrite), needs(sheaf.ProposalsApprove)
	releasesRead, releasesWrite := needs(sheaf.ReleasesRead), needs(sheaf.ReleasesWrite)
	releasedRead := needs(sheaf.ReleasesRead, sheaf.DocumentsRead)
	mediaRead, mediaWrite := needs(sheaf.MediaRead), needs(sheaf.MediaWrite)
	return []route{
		on(get, "/api/v1/projects", read, s.listProjects, cached),
		on(post, "/api/v1/projects", write, creates(wholeProject, s.App.CreateProject, createdProject)),
		on(put, "/api/v1/projects", write, puts(wholeProject, s.App.PutProject, createdProject, shownProject)),
		on(get, "/api/v1/projects/{id}", read, shows(s.App.Project, shownDetail), cached),
		on(patch, "/api/v1/projects/{id}", write, updates(projectPatch, s.App.UpdateProject, shownProject)),
		on(remove, "/api/v1/projects/{id}", write, deletes(s.App.DeleteProject)),
		on(post, "/api/v1/projects/{id}/move", write, moves("folder_id", s.App.MoveProject, shownProject)),
		on(get, "/api/v1/projects/{id}/tree", needs(sheaf.ProjectsRead, sheaf.DocumentsRead), s.getTree, cached),
		on(get, "/api/v1/projects/{id}/releases", releasesRead, s.listReleases),
		on(post, "/api/v1/projects/{id}/releases", releasesWrite, s.createRelease),

		on(get, "/api/v1/releases/{id}", releasesRead, shows(s.App.Release, shownRelease)),
		on(patch, "/api/v1/releases/{id}", releasesWrite, updates(releasePatch, s.App.UpdateRelease, shownRelease)),
		on(remove, "/api/v1/releases/{id}", releasesWrite, deletes(s.App.DeleteRelease)),
		on(get, "/api/v1/releases/{id}/tree", releasedRead, s.releaseTree),
		on(get, "/api/v1/releases/{id}/diff", releasedRead, s.diffRelease),
		on(get, "/api/v1/releases/{id}/documents/{document}", releasedRead, s.releasedDocument),
		on(get, "/api/v1/releases/{id}/documents/{document}/content", releasedRead, s.releasedContent),
		on(get, "/api/v1/releases/{id}/media/{medium}/content", needs(sheaf.ReleasesRead, sheaf.DocumentsRead, sheaf.MediaRead), s.releasedMedium),

		on(get, "/api/v1/folders", read, s.listFolders, cached),
		on(post, "/api/v1/folders", write, creates(wholeFolder, s.App.CreateFolder, createdFolder)),
		on(put, "/api/v1/folders", write, puts(wholeFolder, s.App.PutFolder, createdFolder, shownFolder)),
		on(get, "/api/v1/folders/{id}", read, shows(s.App.Folder, shownFolder), cached),
		on(patch, "/api/v1/folders/{id}", write, updates(folderFields, s.App.UpdateFolder, shownFolder)),
		on(remove, "/api/v1/folders/{id}", write, deletes(s.App.DeleteFolder)),
		on(post, "/api/v1/folders/{id}/move", write, moves("parent_id", s.App.MoveFolder, shownFolder)),

		on(get, "/api/v1/brandings", brandingsRead, s.listBrandings, cached),
		on(post, "/api/v1/brandings", brandingsWrite, creates(brandingChange, s.App.CreateBranding, createdBranding)),
		on(get, "/api/v1/brandings/{id}", brandingsRead, shows(s.App.Branding, shownBranding), cached),
		on(patch, "/api/v1/brandings/{id}", brandingsWrite, updates(brandingChange, s.App.UpdateBranding, shownBranding)),
		on(remove, "/api/v1/brandings/{id}", brandingsWrite, deletes(s.App.DeleteBranding)),
		on(post, "/api/v1/brandings/{id}/move", brandingsWrite, moves("folder_id", s.App.MoveBranding, shownBranding)),

		on(get, "/api/v1/documents", docsRead, s.listDocuments, cached),
		on(post, "/api/v1/documents", docsWrite, creates(wholeDocument, s.App.CreateDocument, createdDocument)),
		on(put, "/api/v1/documents", docsWrite, puts(wholeDocument, s.App.PutDocument, createdDocument, shownDocument)),
		on(get, "/api/v1/documents/{id}", docsRead, shows(s.App.DocumentText, shownText), cached),
		on(patch, "/api/v1/documents/{id}", docsWrite, updates(documentPatch, s.App.UpdateDocument, shownDocument)),
		on(remove, "/api/v1/documents/{id}", docsWrite, deletes(s.App.DeleteDocument)),
		on(remove, "/api/v1/documents/{id}/permanent", docsWrite, s.purgeDocument),
		on(post, "/api/v1/documents/{id}/move", docsWrite, s.moveDocument),
		on(post, "/api/v1/documents/{id}/restore", docsWrite, s.restoreDocument),
		on(get, "/api/v1/documents/{id}/content", docsRead, s.getContent, cached),
		on(put, "/api/v1/documents/{id}/content", docsWrite, s.putContent),
		on(get, "/api/v1/documents/{id}/versions", docsRead, s.listVersions),
		on(get, "/api/v1/documents/{id}/versions/{n}", docsRead, s.getVersion),
		on(get, "/api/v1/documents/{id}/versions/{n}/diff", docsRead, s.diffVersions),
		on(post, "/api/v1/documents/{id}/versions/{n}/restore", docsWrite, s.restoreVersion),

		on(get, "/api/v1/shares", needs(sheaf.SharesRead), s.listShares),
		on(post, "/api/v1/shares", publish, creates(newShare, s.App.CreateShare, createdShare)),
		on(get, "/api/v1/shares/{id}", needs(sheaf.SharesRead), shows(s.App.Share, shownShare)),
		on(patch, "/api/v1/shares/{id}", publish, updates(shareChange, s.App.UpdateShare, shownShare)),
		on(remove, "/api/v1/shares/{id}", needs(sheaf.SharesWrite), deletes(s.App.DeleteShare)),

		on(get, "/api/v1/proposals", proposalsRead, s.listProposals),
		on(post, "/api/v1/proposals", proposalsWrite, s.createProposal),
		on(get, "/api/v1/proposals/{id}", proposalsRead, shows(s.App.Proposal, shownProposalDetail)),
		on(patch, "/api/v1/proposals/{id}", proposalsWrite, s.updateProposal),
		on(get, "/api/v1/proposals/{id}/changes/{n}", needs(sheaf.ProposalsRead, sheaf.DocumentsRead), s.previewChange),
		on(post, "/api/v1/proposals/{id}/approve", proposalsApprove, decides(s.App.ApproveProposal)),
		on(remove, "/api/v1/proposals/{id}/approve", proposalsApprove, s.takeBackApproval),
		on(post, "/api/v1/proposals/{id}/accept", needs(sheaf.ProposalsApprove, sheaf.DocumentsWrite), decides(s.App.AcceptProposal)),
		on(post, "/api/v1/proposals/{id}/reject", proposalsApprove, s.rejectProposal, emptyBody),
		on(post, "/api/v1/proposals/{id}/withdraw", proposalsWrite, decides(s.App.WithdrawProposal)),
		on(get, "/api/v1/proposals/{id}/comments", proposalsRead, s.listComments),
		on(post, "/api/v1/proposals/{id}/comments", proposalsWrite, s.createComment),
		on(patch, "/api/v1/proposals/{id}/comments/{n}", proposalsWrite, s.updateComment),
		on(remove, "/api/v1/proposals/{id}/comments/{n}", proposalsWrite, s.deleteComment),

		on(get, "/api/v1/media", mediaRead, s.listMedia, cached),
		on(post, "/api/v1/media", mediaWrite, s.uploadMedium),
		on(get, "/api/v1/media/{id}", mediaRead, shows(s.App.Medium, shownMedium), cached),
		on(patch, "/api/v1/media/{id}", mediaWrite, updates(mediumChange, s.App.ChangeMedium, shownMedium)),
		on(remove, "/api/v1/media/{id}", mediaWrite, deletes(s.App.DeleteMedium)),
		on(get, "/api/v1/media/{id}/content", mediaRead, s.mediumContent, cached),

		on(http.MethodOptions, "/api/v1/uploads", nil, s.uploadOptions, noKey),
		on(http.MethodOptions, "/api/v1/uploads/{id}", nil, s.uploadOptions, noKey),
		on(post, "/api/v1/uploads", mediaWrite, s.createUpload, tus, notOnce),
		on(http.MethodHead, "/api/v1/uploads/{id}", mediaWrite, s.headUpload, tus),
		on(patch, "/api/v1/uploads/{id}", mediaWrite, s.appendUpload, tus, streamed),
		on(remove, "/api/v1/uploads/{id}", mediaWrite, s.deleteUpload, tus),

		on(post, "/api/v1/batch", needs(sheaf.ProjectsWrite, sheaf.DocumentsWrite, sheaf.SharesWrite), s.batch, anyScope),

		on(get, "/api/v1/search", needs(sheaf.ProjectsRead, sheaf.DocumentsRead), s.search, anyScope),

		on(get, "/api/v1/events", needs(sheaf.EventsRead), s.listEvents),
		on(post, "/api/v1/events", needs(sheaf.EventsWrite), s.publishEvent),
		on(get, "/api/v1/events/stream", needs(sheaf.EventsRead), s.streamEvents),
		on(get, "/api/v1/events/{id}", needs(sheaf.EventsRead), s.getEvent),
		on(get, "/api/v1/events/{id}/deliveries", needs(sheaf.EventsRead, sheaf.WebhooksRead), s.listFates),

		on(get, "/api/v1/audit", needs(sheaf.AuditRead), s.listAudit),

		on(get, "/api/webhooks/subscriptions", hooksRead, lists(s.App.Subscriptions)),
		on(post, "/api/webhooks/subscriptions", hooksWrite, creates(subscriptionChange, s.App.CreateSubscription, createdSubscription)),
		on(get, "/api/webhooks/subscriptions/{id}", hooksRead, shows(s.App.Subscription, shownSubscription)),
		on(patch, "/api/webhooks/subscriptions/{id}", hooksWrite, updates(subscriptionPatch, s.App.UpdateSubscription, shownSubscription)),
		on(remove, "/api/webhooks/subscriptions/{id}", hooksWrite, deletes(s.App.DeleteSubscription)),
		on(post, "/api/webhooks/subscriptions/{id}/test", hooksWrite, s.testSubscription, notOnce),
		on(post, "/api/webhooks/subscriptions/{id}/rotate-secret", hooksWrite, s.rotateSecret, emptyBody),
		on(post, "/api/webhooks/subscriptions/{id}/recover", hooksWrite, s.recoverDeliveries),
		on(get, "/api/webhooks/subscriptions/{id}/deliveries", hooksRead, s.listDeliveries),
		on(get, "/api/webhooks/deliveries/{id}", hooksRead, shows(s.App.Delivery, shownDelivery)),
		on(post, "/api/webhooks/deliveries/{id}/redeliver", hooksWrite, s.redeliver),

		on(get, "/api/v1/api-keys", needs(sheaf.KeysRead), lists(s.App.Keys)),
		on(post, "/api/v1/api-keys", needs(sheaf.KeysWrite), s.createKey),
		on(post, "/api/v1/api-keys/{id}/rotate", needs(sheaf.KeysWrite), s.rotateKey, emptyBody),
		on(remove, "/api/v1/api-keys/{id}", needs(sheaf.KeysWrite), s.revokeKey),

		on(get, "/api/v1/me", anyKey, s.me),
		on(get, "/api/v1/icons", anyKey, s.listIcons),
	}
}
