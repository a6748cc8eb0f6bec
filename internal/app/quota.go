package app

import (
	"fmt"

	"sheaf.dev/internal/sheaf"
)

// checkRecords returns QUOTA_REACHED when the workspace has as many projects, folders and documents
// as its plan allows. It is asked under the workspace's lock, before one more is added, so that the
// number holds exactly. Operators, who import, are not asked.
func (w *work) checkRecords() error {
	most := int64(w.app.maxRecords(w.ws.Plan))
	// Each record has a number of its own: where fewer were ever given, there is nothing to count.
	if most == 0 || w.ws.LastNumber < most {
		return nil
	}
	used := w.ws.Projects + w.ws.Documents
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
		Text: fmt.Sprintf("this workspace has %d projects, folders and documents, and the %s plan allows %d: delete some, or upgrade the plan", used, w.ws.Plan, most)}
}
