package httpapi

import (
	"net/http"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/obs"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// route is one operation. need are the scopes that a key must have. The functions below make routes, and
// each of them requires scopes.
type route struct {
	method, path string
	need         []sheaf.Scope
	oneOf        []sheaf.Scope // and one of these, unless there are none
	do           func(*exchange) (answer, error)
	takes        func(*exchange, *strict.Fields) (answer, error) // instead of do, with a body
	takesText    func(*exchange, string) (answer, error)         // instead of do, with a body that is a text
	takesFile    func(*exchange, app.NewMedium) (answer, error)  // instead of do, with a body that is a file
	cached       bool                                            // the answer depends on projects, folders, documents, brandings and media alone
	streams      bool                                            // do takes a body, piece by piece
	optional     bool                                            // the body may be left out
	public       bool                                            // needs no key, and says nothing that a key would open
	once         bool                                            // heeds an Idempotency-Key
	counted      *obs.Route
}

// anyKey is for the routes that every key of a paid plan may use.
var anyKey = []sheaf.Scope{}

// needs is what a key must be granted for a route, all of it.
func needs(scopes ...sheaf.Scope) []sheaf.Scope { return scopes }

// cachedGet reads projects, folders, documents, brandings or media and nothing else.
func cachedGet(path string, need []sheaf.Scope, do func(*exchange) (answer, error)) route {
	return route{method: http.MethodGet, path: path, need: need, do: do, cached: true}
}

// get is a GET of anything else. Its answer is not cached.
func get(path string, need []sheaf.Scope, do func(*exchange) (answer, error)) route {
	return route{method: http.MethodGet, path: path, need: need, do: do}
}

// getAny is get for a key with one of the scopes. The answer depends on which.
func getAny(path string, oneOf []sheaf.Scope, do func(*exchange) (answer, error)) route {
	return route{method: http.MethodGet, path: path, need: anyKey, oneOf: oneOf, do: do}
}

// post is a POST with a body. It supports Idempotency-Key.
func post(path string, need []sheaf.Scope, takes func(*exchange, *strict.Fields) (answer, error)) route {
	return route{method: http.MethodPost, path: path, need: need, takes: takes, once: true}
}

// postAny is post for a key with one of the scopes. The body decides which one is needed.
func postAny(path string, oneOf []sheaf.Scope, takes func(*exchange, *strict.Fields) (answer, error)) route {
	return route{method: http.MethodPost, path: path, need: anyKey, oneOf: oneOf, takes: takes, once: true}
}

// act is a POST without a body.
func act(path string, need []sheaf.Scope, do func(*exchange) (answer, error)) route {
	return route{method: http.MethodPost, path: path, need: need, do: do, once: true}
}

// actNow is act without support for Idempotency-Key: each request has its effect.
func actNow(path string, need []sheaf.Scope, do func(*exchange) (answer, error)) route {
	return route{method: http.MethodPost, path: path, need: need, do: do}
}

// postOrEmpty is post whose body may be missing, which means an empty object.
func postOrEmpty(path string, need []sheaf.Scope, takes func(*exchange, *strict.Fields) (answer, error)) route {
	r := post(path, need, takes)
	r.optional = true
	return r
}

// patch is a PATCH.
func patch(path string, need []sheaf.Scope, takes func(*exchange, *strict.Fields) (answer, error)) route {
	return route{method: http.MethodPatch, path: path, need: need, takes: takes}
}

// put is a PUT that creates or changes a record. It is idempotent by itself.
func put(path string, need []sheaf.Scope, takes func(*exchange, *strict.Fields) (answer, error)) route {
	return route{method: http.MethodPut, path: path, need: need, takes: takes}
}

// putText takes the body as it is, for a text.
func putText(path string, need []sheaf.Scope, takes func(*exchange, string) (answer, error)) route {
	return route{method: http.MethodPut, path: path, need: need, takesText: takes}
}

// upload is a POST with a file, as its body or in a form. It supports Idempotency-Key.
func upload(path string, need []sheaf.Scope, takes func(*exchange, app.NewMedium) (answer, error)) route {
	return route{method: http.MethodPost, path: path, need: need, takesFile: takes, once: true}
}

// body reports whether the route takes one.
func (r *route) body() bool {
	return r.takes != nil || r.takesText != nil || r.takesFile != nil || r.streams
}

// streaming is a route that takes a body piece by piece.
func streaming(r route) route {
	r.streams = true
	return r
}

// remove is a DELETE.
func remove(path string, need []sheaf.Scope, do func(*exchange) (answer, error)) route {
	return route{method: http.MethodDelete, path: path, need: need, do: do}
}

// allRoutes returns all routes of the API.
func (s *Server) allRoutes() []route {
	read, write := needs(sheaf.ProjectsRead), needs(sheaf.ProjectsWrite)
	hooksRead, hooksWrite := needs(sheaf.WebhooksRead), needs(sheaf.WebhooksWrite)
	looksRead, looksWrite := needs(sheaf.BrandingsRead), needs(sheaf.BrandingsWrite)
	docsRead, docsWrite := needs(sheaf.DocumentsRead), needs(sheaf.DocumentsWrite)
	// A key that creates a share must be able to read what it shows. For a project, app also requires
	// projects:read.
	publish := needs(sheaf.SharesWrite, sheaf.DocumentsRead, sheaf.MediaRead)
	mediaRead, mediaWrite := needs(sheaf.MediaRead), needs(sheaf.MediaWrite)
	return []route{
		cachedGet("/api/v1/projects", read, s.listProjects),
		post("/api/v1/projects", write, s.createProject),
		put("/api/v1/projects", write, s.putProject),
		cachedGet("/api/v1/projects/{id}", read, s.getProject),
		patch("/api/v1/projects/{id}", write, s.updateProject),
		remove("/api/v1/projects/{id}", write, s.deleteProject),
		post("/api/v1/projects/{id}/move", write, s.moveProject),

		cachedGet("/api/v1/folders", read, s.listFolders),
		post("/api/v1/folders", write, s.createFolder),
		put("/api/v1/folders", write, s.putFolder),
		cachedGet("/api/v1/folders/{id}", read, s.getFolder),
		patch("/api/v1/folders/{id}", write, s.updateFolder),
		remove("/api/v1/folders/{id}", write, s.deleteFolder),
		post("/api/v1/folders/{id}/move", write, s.moveFolder),

		cachedGet("/api/v1/brandings", looksRead, s.listBrandings),
		post("/api/v1/brandings", looksWrite, s.createBranding),
		cachedGet("/api/v1/brandings/{id}", looksRead, s.getBranding),
		patch("/api/v1/brandings/{id}", looksWrite, s.updateBranding),
		remove("/api/v1/brandings/{id}", looksWrite, s.deleteBranding),
		post("/api/v1/brandings/{id}/move", looksWrite, s.moveBranding),

		cachedGet("/api/v1/documents", docsRead, s.listDocuments),
		post("/api/v1/documents", docsWrite, s.createDocument),
		put("/api/v1/documents", docsWrite, s.putDocument),
		cachedGet("/api/v1/documents/{id}", docsRead, s.getDocument),
		patch("/api/v1/documents/{id}", docsWrite, s.updateDocument),
		remove("/api/v1/documents/{id}", docsWrite, s.deleteDocument),
		remove("/api/v1/documents/{id}/permanent", docsWrite, s.purgeDocument),
		act("/api/v1/documents/{id}/restore", docsWrite, s.restoreDocument),
		cachedGet("/api/v1/documents/{id}/content", docsRead, s.getContent),
		putText("/api/v1/documents/{id}/content", docsWrite, s.putContent),
		get("/api/v1/documents/{id}/versions", docsRead, s.listVersions),
		get("/api/v1/documents/{id}/versions/{n}", docsRead, s.getVersion),
		get("/api/v1/documents/{id}/versions/{n}/diff", docsRead, s.diffVersions),
		act("/api/v1/documents/{id}/versions/{n}/restore", docsWrite, s.restoreVersion),

		get("/api/v1/shares", needs(sheaf.SharesRead), s.listShares),
		post("/api/v1/shares", publish, s.createShare),
		get("/api/v1/shares/{id}", needs(sheaf.SharesRead), s.getShare),
		patch("/api/v1/shares/{id}", publish, s.updateShare),
		remove("/api/v1/shares/{id}", needs(sheaf.SharesWrite), s.deleteShare),

		cachedGet("/api/v1/media", mediaRead, s.listMedia),
		upload("/api/v1/media", mediaWrite, s.uploadMedium),
		cachedGet("/api/v1/media/{id}", mediaRead, s.getMedium),
		patch("/api/v1/media/{id}", mediaWrite, s.updateMedium),
		remove("/api/v1/media/{id}", mediaWrite, s.deleteMedium),
		cachedGet("/api/v1/media/{id}/content", mediaRead, s.mediumContent),

		{method: http.MethodOptions, path: "/api/v1/uploads", public: true, do: s.uploadOptions},
		{method: http.MethodOptions, path: "/api/v1/uploads/{id}", public: true, do: s.uploadOptions},
		tus(http.MethodPost, "/api/v1/uploads", mediaWrite, s.createUpload),
		tus(http.MethodHead, "/api/v1/uploads/{id}", mediaWrite, s.headUpload),
		streaming(tus(http.MethodPatch, "/api/v1/uploads/{id}", mediaWrite, s.appendUpload)),
		tus(http.MethodDelete, "/api/v1/uploads/{id}", mediaWrite, s.deleteUpload),

		postAny("/api/v1/batch", needs(sheaf.ProjectsWrite, sheaf.DocumentsWrite, sheaf.SharesWrite), s.batch),

		getAny("/api/v1/search", needs(sheaf.ProjectsRead, sheaf.DocumentsRead), s.search),

		get("/api/v1/events", needs(sheaf.EventsRead), s.listEvents),
		post("/api/v1/events", needs(sheaf.EventsWrite), s.publishEvent),
		get("/api/v1/events/stream", needs(sheaf.EventsRead), s.streamEvents),
		get("/api/v1/events/{id}", needs(sheaf.EventsRead), s.getEvent),
		get("/api/v1/events/{id}/deliveries", needs(sheaf.EventsRead, sheaf.WebhooksRead), s.listFates),

		get("/api/webhooks/subscriptions", hooksRead, s.listSubscriptions),
		post("/api/webhooks/subscriptions", hooksWrite, s.createSubscription),
		get("/api/webhooks/subscriptions/{id}", hooksRead, s.getSubscription),
		patch("/api/webhooks/subscriptions/{id}", hooksWrite, s.updateSubscription),
		remove("/api/webhooks/subscriptions/{id}", hooksWrite, s.deleteSubscription),
		actNow("/api/webhooks/subscriptions/{id}/test", hooksWrite, s.testSubscription),
		postOrEmpty("/api/webhooks/subscriptions/{id}/rotate-secret", hooksWrite, s.rotateSecret),
		post("/api/webhooks/subscriptions/{id}/recover", hooksWrite, s.recoverDeliveries),
		get("/api/webhooks/subscriptions/{id}/deliveries", hooksRead, s.listDeliveries),
		get("/api/webhooks/deliveries/{id}", hooksRead, s.getDelivery),
		act("/api/webhooks/deliveries/{id}/redeliver", hooksWrite, s.redeliver),

		get("/api/v1/api-keys", needs(sheaf.KeysRead), s.listKeys),
		post("/api/v1/api-keys", needs(sheaf.KeysWrite), s.createKey),
		remove("/api/v1/api-keys/{id}", needs(sheaf.KeysWrite), s.revokeKey),

		get("/api/v1/me", anyKey, s.me),
		get("/api/v1/icons", anyKey, s.listIcons),
	}
}
