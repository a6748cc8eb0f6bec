package app

import "sheaf.dev/internal/sheaf"

// ImportShare is a share to import: what it shows and how. Its address and its password are secrets,
// which no export has.
type ImportShare struct {
	sheaf.ShareChange      // without a password
	HasPassword       bool // it had one where it was exported
}

// lockedShare stands where the hash of a share's password would: no password is right.
const lockedShare = "locked"

// acceptShare accepts a share, which gets an address of its own: the one that it had leads to where it
// was exported. One that had a password has one that nobody knows, until somebody sets it: so nothing
// is open that was not.
func (im *importing) acceptShare(r ImportRecord) error {
	id, in := sheaf.ShareID(r.ID), r.Share
	if im.shares[id] {
		im.out.Skipped.Shares++
		return nil
	}
	s := in.Apply(sheaf.Share{ID: id, ResourceType: sheaf.Shareable(in.ResourceType.Value), ResourceID: in.ResourceID.Value, Revision: 1})
	known := im.documents[sheaf.DocumentID(s.ResourceID)]
	if s.ResourceType == sheaf.ShareOfProject {
		known = im.projects[sheaf.ProjectID(s.ResourceID)]
	}
	if !known {
		return notEarlier("resource_id", string(s.ResourceType), s.ResourceID)
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
