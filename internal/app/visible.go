package app

import (
	"html"
	"regexp"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// Some shares belong to other people. A document that a share shows can be read by anybody who has
// the address. So a change of a document must not show there what its author may not read.

// mayShow returns Forbidden if d, as the change leaves it, shows in a share what the caller may not
// read. before is nil for a new document. content is the text if the caller sent it.
//
//	what becomes visible                        the caller needs
//	a document that was in no share, or a text
//	that the caller did not send                documents:read, media:read
//	a medium that the text names                media:read
//
// mayShowProject and mayShowFolder have the rule for a project or a folder that is moved. For a restricted
// caller only visible shares count: a refusal because of another share would reveal that a folder above is shared.
// A caller with both scopes costs nothing, nor does a workspace without shares.
func (w *work) mayShow(before *sheaf.Document, d sheaf.Document, content sheaf.Opt[string]) error {
	reads, sees := w.caller.May(sheaf.DocumentsRead), w.caller.May(sheaf.MediaRead)
	if reads && sees || w.ws.Shares == 0 {
		return nil
	}
	shown, err := w.isShown(d)
	if err != nil || !shown {
		return err
	}
	was := false
	if before != nil && before.Deleted == nil {
		if was, err = w.isShown(*before); err != nil {
			return err
		}
	}
	if before != nil && (!was || !content.Set && d.ContentSHA256 != before.ContentSHA256) {
		return w.mayPublish(sheaf.DocumentsRead, sheaf.MediaRead)
	}
	named := mediaIn(content.Value)
	if sees || len(named) == 0 {
		return nil
	}
	if was { // the share shows it already, so it may go on showing it
		old, err := w.DocumentText(w.ws.ID, d.ID)
		if err != nil {
			return err
		}
		for id := range mediaIn(old.Content) {
			delete(named, id)
		}
	}
	if len(named) == 0 {
		return nil
	}
	return w.mayPublish(sheaf.MediaRead)
}

// isShown reports whether a share that has not expired shows the document.
func (w *work) isShown(d sheaf.Document) (bool, error) {
	shown, err := w.IsShared(w.ws.ID, sheaf.ShareOfDocument, string(d.ID), w.now)
	if err != nil || shown || d.ProjectID == nil {
		return shown, err
	}
	p, err := w.Project(w.ws.ID, *d.ProjectID)
	if err != nil {
		return false, ignoreMissing(err)
	}
	return w.isProjectShown(p)
}

// ignoreMissing returns err unless it is NotFound: what does not exist is not shown.
func ignoreMissing(err error) error {
	if sheaf.KindOf(err) == sheaf.NotFound {
		return nil
	}
	return err
}

// isProjectShown reports whether a share that has not expired shows the project.
func (w *work) isProjectShown(p sheaf.Project) (bool, error) {
	shown, err := w.IsShared(w.ws.ID, sheaf.ShareOfProject, string(p.ID), w.now)
	if err != nil || shown {
		return shown, err
	}
	return w.isFolderShown(p.FolderID)
}

// isFolderShown reports whether a share that has not expired shows the folder. nil is the root
// level, which cannot be shared.
func (w *work) isFolderShown(id *sheaf.FolderID) (bool, error) {
	if id == nil {
		return false, nil
	}
	return w.IsFolderShared(w.ws.ID, *id, w.now)
}

// mayShowProject returns Forbidden if a share begins to show the project `before`, because it moves
// to another folder, and the caller may not read all of it.
func (w *work) mayShowProject(before, p sheaf.Project) error {
	if sheaf.SameID(before.FolderID, p.FolderID) {
		return nil
	}
	return w.mayReveal(func() (bool, error) { return w.isFolderShown(p.FolderID) }, func() (bool, error) { return w.isProjectShown(before) })
}

// mayShowFolder is mayShowProject for a folder that moves with everything below it.
func (w *work) mayShowFolder(before, f sheaf.Folder) error {
	if sheaf.SameID(before.ParentID, f.ParentID) {
		return nil
	}
	return w.mayReveal(func() (bool, error) { return w.isFolderShown(f.ParentID) }, func() (bool, error) { return w.isFolderShown(&before.ID) })
}

// mayReveal returns Forbidden if a share shows something that none showed before, and the caller
// lacks a scope to read what a folder has.
func (w *work) mayReveal(shows, showed func() (bool, error)) error {
	needed := shownBy(sheaf.ShareOfFolder)
	if w.ws.Shares == 0 || w.mayPublish(needed...) == nil {
		return nil
	}
	if shown, err := shows(); err != nil || !shown {
		return err
	}
	if was, err := showed(); err != nil || was {
		return err
	}
	return w.mayPublish(needed...)
}

// mayPublish returns Forbidden, with the reason, unless the caller has these scopes.
func (w *work) mayPublish(all ...sheaf.Scope) error {
	for _, s := range all {
		if !w.caller.May(s) {
			return sheaf.Forbiddenf("with this change a share would show what this key may not read: it lacks the scope %s; use a key that has it, or create one with it", s)
		}
	}
	return nil
}

// mediaAddresses matches the address of a medium anywhere in a text.
var mediaAddresses = regexp.MustCompile(mediaScheme + `[0-9a-f-]{32,}`)

// mediaScheme is the beginning of such an address.
const mediaScheme = "media:"

// mediaIn returns the addresses of media in a text. A page resolves backslashes, numeric references
// and names of entities in an address, one after the other, so they are resolved here too. mediaIn
// may return more than a page would show, and never less.
func mediaIn(text string) map[string]bool {
	text = html.UnescapeString(html.UnescapeString(strings.ReplaceAll(text, `\`, "")))
	text = strings.ToLower(text)
	out := map[string]bool{}
	for _, address := range mediaAddresses.FindAllString(text, -1) {
		out[address] = true
	}
	return out
}
