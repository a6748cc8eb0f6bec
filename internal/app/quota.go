package app

import (
	"fmt"

	"sheaf.dev/internal/disk"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// checkRecords returns QUOTA_REACHED if the workspace has as many projects, folders, documents and
// brandings as its plan allows. It is called under the workspace's lock, before one more is added,
// so the limit is exact. Imports by operators do not call it.
func (w *work) checkRecords() error { return w.checkRecordsFor(1) }

// checkRecordsFor is checkRecords for n more records.
func (w *work) checkRecordsFor(n int64) error {
	most := int64(w.app.maxRecords(w.ws.Plan))
	// Each record has its own number. If fewer numbers than the limit were ever given, nothing need
	// be counted.
	if most == 0 || w.ws.LastNumber+n <= most {
		return nil
	}
	used := w.ws.Projects + w.ws.Documents + w.ws.Brandings
	if used+n <= most {
		folders, err := w.CountFolders(w.ws.ID)
		if err != nil {
			return err
		}
		restoring, err := w.CountRestoring(w.ws.ID)
		if err != nil {
			return err
		}
		used += folders + restoring
	}
	if used+n <= most {
		return nil
	}
	return &sheaf.Error{Kind: sheaf.Forbidden, Code: sheaf.CodeQuota,
		Text: fmt.Sprintf("this workspace has %d projects, folders, documents and brandings, and the %s plan allows %d: delete some, or upgrade the plan", used, w.ws.Plan, most)}
}

// The bytes of reported events and kept answers count against the quota together with those of
// texts and media. But texts and media are refused only for their own bytes: no ordinary change
// fails because of what the log holds. docs/decisions/0015 gives the reasons.

// checkStorage returns QUOTA_REACHED if the workspace has no room for the text t of the document
// id. id is empty for a new document. It is called under the workspace's lock, before the text is
// added, so the limit is exact. A text that a version of the document has takes no room. While the
// disk is tight, a large text is Unavailable.
func (w *work) checkStorage(id sheaf.DocumentID, t store.Text) error {
	if t.Bytes() > largeText {
		if err := w.app.diskBelow(disk.Tight); err != nil {
			return err
		}
	}
	most := w.app.quota(w.ws.Plan)
	if most == 0 || t.Bytes() == 0 || w.ws.Storage+t.Bytes() <= most {
		return nil
	}
	if id != "" {
		if has, err := w.HasText(w.ws.ID, id, t); has || err != nil {
			return err
		}
	}
	return storageReached(w.ws, most, "text", t.Bytes())
}

// checkRoom returns QUOTA_REACHED if the workspace has no room for a file of `bytes` bytes. It is
// called under the workspace's lock, before they are counted.
func (w *work) checkRoom(bytes int64) error {
	if most := w.app.quota(w.ws.Plan); most > 0 && w.ws.Storage+bytes > most {
		return storageReached(w.ws, most, "file", bytes)
	}
	return nil
}

// checkReported returns QUOTA_REACHED if the workspace has no room for one more reported event.
func (w *work) checkReported(e sheaf.Event) error {
	if most := w.app.quota(w.ws.Plan); most > 0 && w.ws.Used()+int64(len(e.Body)) > most {
		return keptReached(w.ws, most, fmt.Sprintf("this event has %d more; report less, wait until older events are removed, delete what is not needed, or upgrade the plan", len(e.Body)))
	}
	return nil
}

// checkAnswers returns QUOTA_REACHED if the quota has no byte left for the answer to a request with
// an Idempotency-Key. The length of the answer is not known before the request is carried out, so
// the last answer may exceed the quota, once.
func (w *work) checkAnswers() error {
	if most := w.app.quota(w.ws.Plan); most > 0 && w.ws.Used()-w.expired >= most {
		return keptReached(w.ws, most, "no answer can be kept for an Idempotency-Key; send the request without one, delete what is not needed, or upgrade the plan")
	}
	return nil
}

func keptReached(ws sheaf.Workspace, most int64, then string) error {
	return &sheaf.Error{Kind: sheaf.Forbidden, Code: sheaf.CodeQuota,
		Text: fmt.Sprintf("this workspace stores %d bytes, %d of them in reported events and kept answers, and the %s plan allows %d: %s", ws.Used(), ws.Kept, ws.Plan, most, then)}
}

// checkReserved returns QUOTA_REACHED if the unfinished uploads, with one more of `length` bytes,
// would reserve more than their share of the quota. It is called under the workspace's lock.
func (w *work) checkReserved(length int64) error {
	most := w.app.quota(w.ws.Plan) / sheaf.UploadsShare
	if most == 0 {
		return nil
	}
	reserved, err := w.ReservedByUploads(w.ws.ID)
	if err != nil || reserved+length <= most {
		return err
	}
	return &sheaf.Error{Kind: sheaf.Forbidden, Code: sheaf.CodeQuota,
		Text: fmt.Sprintf("unfinished uploads of this workspace reserve %d bytes, and at most %d are allowed, a quarter of its quota: this one has %d more; "+
			"finish or delete others, or upgrade the plan", reserved, most, length)}
}

func storageReached(ws sheaf.Workspace, most int64, what string, more int64) error {
	return &sheaf.Error{Kind: sheaf.Forbidden, Code: sheaf.CodeQuota,
		Text: fmt.Sprintf("this workspace stores %d bytes of texts, versions included, and media, and the %s plan allows %d: this %s has %d more; "+
			"make it smaller, delete what is not needed, or upgrade the plan", ws.Storage, ws.Plan, most, what, more)}
}
