package app

import (
	"fmt"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// checkRecords returns QUOTA_REACHED when the workspace has as many projects, folders, documents and
// brandings as its plan allows. It is asked under the workspace's lock, before one more is added, so that the
// number holds exactly. Operators, who import, are not asked.
func (w *work) checkRecords() error {
	most := int64(w.app.maxRecords(w.ws.Plan))
	// Each record has a number of its own: where fewer were ever given, there is nothing to count.
	if most == 0 || w.ws.LastNumber < most {
		return nil
	}
	used := w.ws.Projects + w.ws.Documents + w.ws.Brandings
	if used < most {
		folders, err := w.CountFolders(w.ws.ID)
		if err != nil {
			return err
		}
		used += folders
	}
	if used < most {
		return nil
	}
	return &sheaf.Error{Kind: sheaf.Forbidden, Code: sheaf.CodeQuota,
		Text: fmt.Sprintf("this workspace has %d projects, folders, documents and brandings, and the %s plan allows %d: delete some, or upgrade the plan", used, w.ws.Plan, most)}
}

// checkStorage returns QUOTA_REACHED when the workspace has no room for a text of a document, which
// is empty for one that is being made. It is asked under the workspace's lock, before the text is
// added, so that the bound holds exactly. A text that the document has, or had, needs no room.
func (w *work) checkStorage(id sheaf.DocumentID, t store.Text) error {
	most := w.app.quota(w.ws.Plan)
	if most == 0 || t.Bytes() == 0 || w.ws.Storage+t.Bytes() <= most {
		return nil
	}
	if id != "" {
		if has, err := w.HasText(w.ws.ID, id, t); has || err != nil {
			return err
		}
	}
	return storageReached(w.ws, most, t)
}

func storageReached(ws sheaf.Workspace, most int64, t store.Text) error {
	return &sheaf.Error{Kind: sheaf.Forbidden, Code: sheaf.CodeQuota,
		Text: fmt.Sprintf("this workspace stores %d bytes of texts, versions included, and the %s plan allows %d: this text has %d more; "+
			"shorten it, or upgrade the plan", ws.Storage, ws.Plan, most, t.Bytes())}
}
