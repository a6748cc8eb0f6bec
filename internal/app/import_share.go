package app

import (
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// ImportShare is a share to import: what it shows and how. Its address and password are secrets
// that no export contains.
type ImportShare struct {
	sheaf.ShareChange      // without a password
	HasPassword       bool // it had a password where it was exported
}

// lockedShare takes the place of the hash of a share's password. It matches no password.
const lockedShare = "locked"

// acceptShare accepts a share, which gets a new address: its old one leads to where it was
// exported. If it had a password, no password opens it until a new one is set. So the import
// publishes nothing that was protected.
func (im *importing) acceptShare(reader *store.Reader, r ImportRecord) error {
	id, in := sheaf.ShareID(r.ID), r.Share
	if im.shares[id] {
		im.out.Skipped.Shares++
		return nil
	}
	s := in.Apply(sheaf.Share{ID: id, ResourceType: sheaf.Shareable(in.ResourceType.Value), ResourceID: in.ResourceID.Value, Revision: 1})
	if err := firstError(im.shareableKnown(s), im.releaseKnown(reader, s)); err != nil {
		return err
	}
	if s.BrandingID != nil && !im.brandings[*s.BrandingID] {
		return notEarlier("branding_id", "branding", string(*s.BrandingID))
	}
	if err := oneMoreShare(im.ws); err != nil {
		return err
	}
	if in.HasPassword {
		s.PasswordHash = lockedShare
	}
	im.ws.LastNumber++
	s.Number = im.ws.LastNumber
	s.CreatedAt, s.UpdatedAt = r.times(im.now)
	im.shares[id] = true
	im.ws.Shares++
	im.out.Added.Shares++
	im.newShares = append(im.newShares, &s)
	im.created = append(im.created, creation{sheaf.ShareCreated, r.ID, &s})
	return nil
}

// shareableKnown returns Invalid unless what s shows is in the workspace or was accepted.
func (im *importing) shareableKnown(s sheaf.Share) error {
	known := im.documents[sheaf.DocumentID(s.ResourceID)]
	switch s.ResourceType {
	case sheaf.ShareOfFolder:
		if f, found := im.folders[sheaf.FolderID(s.ResourceID)]; found {
			return folderIsShareable(f)
		}
		known = false
	case sheaf.ShareOfProject:
		known = im.projects[sheaf.ProjectID(s.ResourceID)]
	}
	if !known {
		return notEarlier("resource_id", string(s.ResourceType), s.ResourceID)
	}
	return nil
}
