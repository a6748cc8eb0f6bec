package console

import (
	"net/http"

	"sheaf.dev/internal/sheaf"
)

// needs allows members of the workspace in the path whose role has the scope.
func needs(s sheaf.Scope) access { return access{byMember, s} }

func newRoute(method, path string, who access, do func(*visit) error, all []marks) route {
	r := route{method: method, path: path, who: who, do: do}
	for _, m := range all {
		r.marks |= m
	}
	return r
}

// allRoutes returns all routes of the console.
func (c *Console) allRoutes() []route {
	get := func(path string, who access, do func(*visit) error, m ...marks) route {
		return newRoute(http.MethodGet, path, who, do, m)
	}
	post := func(path string, who access, do func(*visit) error, m ...marks) route {
		return newRoute(http.MethodPost, path, who, do, m)
	}
	read, write := needs(sheaf.ProjectsRead), needs(sheaf.ProjectsWrite)
	docsRead, docsWrite := needs(sheaf.DocumentsRead), needs(sheaf.DocumentsWrite)
	proposalsRead, proposalsWrite, proposalsApprove := needs(sheaf.ProposalsRead), needs(sheaf.ProposalsWrite), needs(sheaf.ProposalsApprove)
	releasesRead, releasesWrite := needs(sheaf.ReleasesRead), needs(sheaf.ReleasesWrite)
	brandingsRead, brandingsWrite := needs(sheaf.BrandingsRead), needs(sheaf.BrandingsWrite)
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
		get("/invite/{token}/provider", anyone, c.joinAtProvider),
		get("/sign-in", anyone, c.signInForm),
		post("/sign-in", anyone, c.signIn),
		get("/sign-in/code", anyone, c.codeForm),
		post("/sign-in/code", anyone, c.signInWithCode),
		get("/sign-in/set-up", anyone, c.offerForm),
		post("/sign-in/set-up", anyone, c.setUpAtSignIn),
		get("/sign-in/provider", anyone, c.beginAtProvider),
		get(ProviderCallback, anyone, c.backFromProvider),
		get("/sign-in/bind", anyone, c.bindForm),
		post("/sign-in/bind", anyone, c.bind),
		get("/sign-in/forgot", anyone, c.forgotForm),
		post("/sign-in/forgot", anyone, c.forgot),
		get("/sign-in/reset/{token}", anyone, c.resetForm),
		post("/sign-in/reset/{token}", anyone, c.reset),
		post("/sign-in/continue", signedIn, c.continueSignIn, readOnly),
		post("/sign-out", anyone, c.signOut),

		post("/sign-out-everywhere", signedIn, c.signOutEverywhere),
		get("/account", signedIn, c.account),
		post("/account/name", signedIn, c.renamePerson),
		post("/account/password", signedIn, c.changePassword),
		get("/account/second-factor", signedIn, c.newFactor),
		post("/account/second-factor", signedIn, c.setUpFactor),
		post("/account/second-factor/codes", signedIn, c.newRecoveryCodes),
		post("/account/second-factor/off", signedIn, c.turnOffFactor),
		post("/account/sessions/{id}/end", signedIn, c.endSession),

		get("/oauth/authorize", signedIn, c.authorize, costly),
		get("/w/{workspace}/connect", read, c.connectForm, costly),
		post("/w/{workspace}/connect", read, c.connect),
		post("/w/{workspace}/apps/{id}/disconnect", read, c.disconnectApp),

		get("/w/{workspace}", read, c.workspace),
		get("/w/{workspace}/live", needs(sheaf.EventsRead), c.follow),
		get("/w/{workspace}/search", read, c.search, costly),
		get("/w/{workspace}/jump", read, c.jump, costly),

		get("/w/{workspace}/projects", read, c.overview),
		post("/w/{workspace}/steps/close", write, c.closeSteps),
		get("/w/{workspace}/projects/new", write, c.newProject),
		get("/w/{workspace}/projects/choose", read, c.chooseProject),
		post("/w/{workspace}/projects", write, c.createProject, resumable),
		get("/w/{workspace}/projects/{id}", read, c.project),
		get("/w/{workspace}/projects/{id}/edit", write, c.editProject),
		post("/w/{workspace}/projects/{id}", write, c.updateProject, resumable),
		get("/w/{workspace}/projects/{id}/move", write, moveFormHandler("project", (*visit).projectMove)),
		post("/w/{workspace}/projects/{id}/move", write, moveHandler("project", "folder", (*visit).projectMove, c.app.MoveProject), resumable),
		get("/w/{workspace}/projects/{id}/delete", write, c.deleteProjectForm),
		post("/w/{workspace}/projects/{id}/delete", write, c.deleteProject),

		get("/w/{workspace}/folders/new", write, c.newFolder),
		get("/w/{workspace}/folders/choose", read, c.chooseFolder),
		post("/w/{workspace}/folders", write, c.createFolder, resumable),
		get("/w/{workspace}/folders/{id}", read, c.folder),
		get("/w/{workspace}/folders/{id}/branch", read, c.branch),
		get("/w/{workspace}/folders/{id}/edit", write, c.editFolder),
		post("/w/{workspace}/folders/{id}", write, c.updateFolder, resumable),
		get("/w/{workspace}/folders/{id}/move", write, moveFormHandler("folder", (*visit).folderMove)),
		post("/w/{workspace}/folders/{id}/move", write, moveHandler("folder", "parent", (*visit).folderMove, c.app.MoveFolder), resumable),
		get("/w/{workspace}/folders/{id}/delete", write, confirm("folder-delete", true, "folder", c.app.FolderRemoval)),
		post("/w/{workspace}/folders/{id}/delete", write, c.deleteFolder),

		get("/w/{workspace}/selection/move", write, c.moveSelectionForm),
		post("/w/{workspace}/selection/move", write, c.moveSelection),
		get("/w/{workspace}/selection/places", docsRead, c.choosePlace),
		get("/w/{workspace}/selection/delete", write, c.deleteSelectionForm),
		post("/w/{workspace}/selection/delete", write, c.deleteSelection),
		post("/w/{workspace}/selection/suggest-move", proposalsWrite, suggestSelected(suggestMove)),
		post("/w/{workspace}/selection/suggest-delete", proposalsWrite, suggestSelected(suggestDelete)),
		get("/w/{workspace}/selection/share", sharesWrite, c.shareSelectionForm),
		post("/w/{workspace}/selection/share", sharesWrite, c.shareSelection),
		post("/w/{workspace}/selection/undo", write, c.undoSelection),
		post("/w/{workspace}/selection/order", write, c.arrange),

		get("/w/{workspace}/brandings", brandingsRead, c.brandings),
		get("/w/{workspace}/brandings/new", brandingsWrite, c.newBranding),
		post("/w/{workspace}/brandings", brandingsWrite, c.createBranding, resumable),
		get("/w/{workspace}/brandings/sample", brandingsRead, c.sampleBranding),
		get("/w/{workspace}/brandings/{id}", brandingsRead, c.branding),
		get("/w/{workspace}/brandings/{id}/edit", brandingsWrite, c.editBranding),
		post("/w/{workspace}/brandings/{id}", brandingsWrite, c.updateBranding, resumable),
		get("/w/{workspace}/brandings/{id}/move", brandingsWrite, moveFormHandler("branding", (*visit).brandingMove)),
		post("/w/{workspace}/brandings/{id}/move", brandingsWrite, moveHandler("branding", "folder", (*visit).brandingMove, c.app.MoveBranding), resumable),
		get("/w/{workspace}/brandings/{id}/delete", brandingsWrite, c.deleteBrandingForm),
		post("/w/{workspace}/brandings/{id}/delete", brandingsWrite, c.deleteBranding),

		get("/w/{workspace}/documents", docsRead, c.looseDocuments),
		get("/w/{workspace}/documents/new", docsWrite, c.newDocument),
		post("/w/{workspace}/documents", docsWrite, c.createDocument, longForm, resumable),
		post("/w/{workspace}/documents/preview", proposalsWrite, c.preview, longForm, readOnly, costly),
		get("/w/{workspace}/documents/links", docsRead, c.linkTargets),
		get("/w/{workspace}/documents/{id}", docsRead, c.document, costly),
		get("/w/{workspace}/documents/{id}/branch", docsRead, c.documentBranch),
		get("/w/{workspace}/documents/{id}/linked", docsRead, c.linked, costly),
		get("/w/{workspace}/documents/{id}/edit", docsWrite, c.editDocument),
		post("/w/{workspace}/documents/{id}", docsWrite, c.updateDocument, longForm, resumable),
		get("/w/{workspace}/documents/{id}/versions", docsRead, c.versions),
		get("/w/{workspace}/documents/{id}/versions/compare", docsRead, c.compareVersions, costly),
		get("/w/{workspace}/documents/{id}/versions/{n}", docsRead, c.version, costly),
		get("/w/{workspace}/documents/{id}/versions/{n}/restore", docsWrite, c.restoreVersionForm),
		post("/w/{workspace}/documents/{id}/versions/{n}/restore", docsWrite, c.restoreVersion),
		get("/w/{workspace}/documents/{id}/delete", docsWrite, c.deleteDocumentForm),
		post("/w/{workspace}/documents/{id}/delete", docsWrite, c.deleteDocument),
		post("/w/{workspace}/documents/{id}/restore", docsWrite, c.restoreDocument),

		get("/w/{workspace}/documents/{id}/share", sharesRead, showShares(sheaf.ShareOfDocument)),
		post("/w/{workspace}/documents/{id}/share", sharesWrite, makeShare(sheaf.ShareOfDocument), resumable),
		get("/w/{workspace}/projects/{id}/share", sharesRead, showShares(sheaf.ShareOfProject)),
		post("/w/{workspace}/projects/{id}/share", sharesWrite, makeShare(sheaf.ShareOfProject), resumable),
		get("/w/{workspace}/folders/{id}/share", sharesRead, showShares(sheaf.ShareOfFolder)),
		post("/w/{workspace}/folders/{id}/share", sharesWrite, makeShare(sheaf.ShareOfFolder), resumable),
		post("/w/{workspace}/shares/{id}", sharesWrite, c.updateShare, resumable),
		post("/w/{workspace}/shares/{id}/delete", sharesWrite, c.deleteShare),

		get("/w/{workspace}/proposals", proposalsRead, c.proposals),
		get("/w/{workspace}/proposals/{id}", proposalsRead, c.proposal, costly),
		post("/w/{workspace}/proposals/{id}/approve", proposalsApprove, c.approveProposal),
		post("/w/{workspace}/proposals/{id}/ask", proposalsWrite, c.askReviewer),
		post("/w/{workspace}/proposals/{id}/take-back", proposalsApprove, c.takeBackApproval),
		post("/w/{workspace}/proposals/{id}/accept", proposalsApprove, c.acceptProposal),
		post("/w/{workspace}/proposals/{id}/reject", proposalsApprove, c.rejectProposal),
		post("/w/{workspace}/proposals/{id}/withdraw", proposalsWrite, c.withdrawProposal),
		post("/w/{workspace}/proposals/{id}/revert", proposalsWrite, c.revertProposal),
		post("/w/{workspace}/proposals/{id}/comments", proposalsWrite, c.addComment, resumable),
		get("/w/{workspace}/proposals/{id}/comments/{n}/edit", proposalsWrite, c.editComment),
		post("/w/{workspace}/proposals/{id}/comments/{n}", proposalsWrite, c.updateComment, resumable),
		post("/w/{workspace}/proposals/{id}/comments/{n}/delete", proposalsWrite, c.deleteComment),
		get("/w/{workspace}/documents/suggest", proposalsWrite, c.suggestNewForm),
		post("/w/{workspace}/documents/suggest", proposalsWrite, c.suggestNew, longForm, resumable),
		get("/w/{workspace}/documents/{id}/suggest", proposalsWrite, c.suggestForm),
		post("/w/{workspace}/documents/{id}/suggest", proposalsWrite, c.suggest, longForm, resumable),
		get("/w/{workspace}/documents/{id}/suggest-move", proposalsWrite, suggestActForm(suggestMove)),
		post("/w/{workspace}/documents/{id}/suggest-move", proposalsWrite, suggestAct(suggestMove), resumable),
		get("/w/{workspace}/documents/{id}/suggest-delete", proposalsWrite, suggestActForm(suggestDelete)),
		post("/w/{workspace}/documents/{id}/suggest-delete", proposalsWrite, suggestAct(suggestDelete), resumable),
		get("/w/{workspace}/documents/{id}/versions/{n}/suggest", proposalsWrite, c.suggestVersionForm),
		post("/w/{workspace}/documents/{id}/versions/{n}/suggest", proposalsWrite, c.suggestVersion, resumable),
		get("/w/{workspace}/trash/{id}/suggest", proposalsWrite, c.suggestRestoreForm),
		post("/w/{workspace}/trash/{id}/suggest", proposalsWrite, c.suggestRestore, resumable),

		get("/w/{workspace}/projects/{id}/releases", releasesRead, c.releases),
		get("/w/{workspace}/projects/{id}/releases/new", releasesWrite, c.newRelease),
		get("/w/{workspace}/projects/{id}/releases/compare", releasesRead, c.compareReleases, costly),
		post("/w/{workspace}/projects/{id}/releases", releasesWrite, c.createRelease, resumable),
		get("/w/{workspace}/releases/{id}", releasesRead, c.release),
		get("/w/{workspace}/releases/{id}/documents/{document}", releasesRead, c.releasedDocument, costly),
		get("/w/{workspace}/releases/{id}/documents/{document}/compare", releasesRead, c.compareReleased, costly),
		get("/w/{workspace}/releases/{id}/media/{medium}/content", releasesRead, c.releasedMedium),
		get("/w/{workspace}/releases/{id}/edit", releasesWrite, c.editRelease),
		post("/w/{workspace}/releases/{id}", releasesWrite, c.updateRelease, resumable),
		get("/w/{workspace}/releases/{id}/delete", releasesWrite, c.deleteReleaseForm),
		post("/w/{workspace}/releases/{id}/delete", releasesWrite, c.deleteRelease),

		get("/w/{workspace}/trash", docsRead, c.trash),
		get("/w/{workspace}/trash/{id}/delete", docsWrite, c.purgeForm),
		post("/w/{workspace}/trash/{id}/delete", docsWrite, c.purge),

		get("/w/{workspace}/media", needs(sheaf.MediaRead), shows("media", (*visit).mediaPage)),
		post("/w/{workspace}/media", needs(sheaf.MediaWrite), c.uploadMedium, upload),
		get("/w/{workspace}/media/{id}/content", needs(sheaf.MediaRead), c.mediumContent),
		get("/w/{workspace}/media/{id}/rename", needs(sheaf.MediaWrite), c.renameMediumForm),
		post("/w/{workspace}/media/{id}/rename", needs(sheaf.MediaWrite), c.renameMedium, resumable),
		get("/w/{workspace}/media/{id}/delete", needs(sheaf.MediaWrite), confirm("medium-delete", false, "medium", c.app.Medium)),
		post("/w/{workspace}/media/{id}/delete", needs(sheaf.MediaWrite), c.deleteMedium),

		get("/w/{workspace}/webhooks", hooksRead, c.webhooks),
		get("/w/{workspace}/webhooks/new", hooksWrite, c.newWebhook),
		post("/w/{workspace}/webhooks", hooksWrite, c.createWebhook, resumable),
		get("/w/{workspace}/webhooks/{id}", hooksRead, c.webhook),
		get("/w/{workspace}/webhooks/{id}/edit", hooksWrite, c.editWebhook),
		post("/w/{workspace}/webhooks/{id}", hooksWrite, c.updateWebhook, resumable),
		get("/w/{workspace}/webhooks/{id}/filter", hooksRead, c.filter),
		post("/w/{workspace}/webhooks/{id}/filter", hooksWrite, c.changeFilter),
		post("/w/{workspace}/webhooks/{id}/test", hooksWrite, c.testWebhook),
		get("/w/{workspace}/webhooks/{id}/rotate", hooksWrite, confirm("webhook-rotate", false, "webhook", c.app.Subscription)),
		post("/w/{workspace}/webhooks/{id}/rotate", hooksWrite, c.rotateSecret),
		get("/w/{workspace}/webhooks/{id}/pause", hooksWrite, confirm("webhook-pause", false, "webhook", c.app.Subscription)),
		post("/w/{workspace}/webhooks/{id}/pause", hooksWrite, switchWebhook("webhook-pause", false)),
		get("/w/{workspace}/webhooks/{id}/reactivate", hooksWrite, shows("webhook-reactivate", (*visit).undeliveredWebhook)),
		post("/w/{workspace}/webhooks/{id}/reactivate", hooksWrite, switchWebhook("webhook-reactivate", true)),
		post("/w/{workspace}/webhooks/{id}/recover", hooksWrite, c.recoverWebhook),
		post("/w/{workspace}/webhooks/{id}/resend", hooksWrite, c.resend),
		get("/w/{workspace}/webhooks/{id}/delete", hooksWrite, confirm("webhook-delete", false, "webhook", c.app.Subscription)),
		post("/w/{workspace}/webhooks/{id}/delete", hooksWrite, c.deleteWebhook),
		get("/w/{workspace}/deliveries/{id}", hooksRead, c.delivery),
		post("/w/{workspace}/deliveries/{id}/redeliver", hooksWrite, c.redeliver),

		get("/w/{workspace}/keys", needs(sheaf.KeysRead), c.keys),
		get("/w/{workspace}/keys/new", needs(sheaf.KeysWrite), c.newKey),
		post("/w/{workspace}/keys", needs(sheaf.KeysWrite), c.createKey, resumable),
		get("/w/{workspace}/keys/{id}", needs(sheaf.KeysRead), c.keyTrace),
		post("/w/{workspace}/keys/{id}/revoke-all", needs(sheaf.KeysWrite), c.revokeWithMade),
		get("/w/{workspace}/keys/{id}/rotate", needs(sheaf.KeysWrite), c.rotateKeyForm),
		post("/w/{workspace}/keys/{id}/rotate", needs(sheaf.KeysWrite), c.rotateKey),
		get("/w/{workspace}/keys/{id}/revoke", needs(sheaf.KeysWrite), shows("key-revoke", (*visit).keyOf)),
		post("/w/{workspace}/keys/{id}/revoke", needs(sheaf.KeysWrite), c.revokeKey),

		get("/w/{workspace}/activity", needs(sheaf.EventsRead), c.activity),
		get("/w/{workspace}/events/{id}", needs(sheaf.EventsRead), c.event),
		get("/w/{workspace}/audit", needs(sheaf.AuditRead), c.audit),

		get("/w/{workspace}/members", read, c.members),
		get("/w/{workspace}/members/invite", owners, c.inviteForm),
		post("/w/{workspace}/members/invite", owners, c.invite, resumable),
		get("/w/{workspace}/members/{id}/role", owners, shows("member-role", (*visit).memberOf)),
		post("/w/{workspace}/members/{id}/role", owners, c.setRole, resumable),
		get("/w/{workspace}/members/{id}/access", owners, c.accessForm),
		post("/w/{workspace}/members/{id}/access", owners, c.setAccess, resumable),
		get("/w/{workspace}/members/{id}/remove", read, shows("member-remove", (*visit).memberToRemove)),
		post("/w/{workspace}/members/{id}/remove", read, c.removeMember),
		post("/w/{workspace}/invitations/{id}/withdraw", owners, c.withdraw),

		get("/w/{workspace}/settings", read, c.settings),
		post("/w/{workspace}/settings/name", owners, c.renameWorkspace, resumable),
		post("/w/{workspace}/settings/plan", owners, c.changePlan, resumable),
		post("/w/{workspace}/settings/branding", brandingsWrite, c.chooseBranding, resumable),
	}
}
