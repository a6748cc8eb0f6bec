package doctor

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sheaf.dev/internal/media"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// mediumCheck names the check that every medium has its bytes.
const mediumCheck = "medium bytes"

// mediaPage is how many media are read at a time: their bytes are looked at outside of any snapshot.
const mediaPage = 100

// MediaPlace is how far a look at the bytes of media has come: up to a medium of a workspace. The zero
// value is before all of them. Workspaces are in the order of their ids.
type MediaPlace struct {
	Workspace sheaf.WorkspaceID
	Number    int64 // of the medium that was looked at last
}

// RandomMediaPlace returns a place somewhere among the media, so that one who looks at some of them and
// begins anew with each start comes to all of them. random returns a number from 0 up to below n.
func RandomMediaPlace(ctx context.Context, s *store.Store, random func(n int64) int64) (place MediaPlace, err error) {
	err = s.Read(ctx, func(r *store.Reader) error {
		all, err := r.Workspaces()
		if err != nil {
			return err
		}
		slices.SortFunc(all, func(a, b sheaf.Workspace) int { return strings.Compare(string(a.ID), string(b.ID)) })
		sum := int64(0)
		for i := range all {
			sum += all[i].LastNumber
		}
		if sum == 0 {
			return nil
		}
		at := random(sum)
		for i := range all {
			if at < all[i].LastNumber {
				place = MediaPlace{all[i].ID, at}
				return nil
			}
			at -= all[i].LastNumber
		}
		return nil
	})
	return place, err
}

// MediaFiles is how ExamineMedia looks at the bytes of media.
type MediaFiles struct {
	media.Store
	// Verify hashes the bytes: nil, media.ErrDamaged or media.ErrNotFound, or why it could not. If it is nil,
	// only their number is compared.
	Verify func(context.Context, media.Key) error
}

// ExamineMedia reports media whose bytes are missing, too few or too many, or damaged. It looks at up to
// `most` media after the place `from`, so that a timer need not look at millions of files at once. It calls
// tell for each, with the place before it, and returns how far it came; the zero value after the last.
func ExamineMedia(ctx context.Context, s *store.Store, files MediaFiles, from MediaPlace, most int, tell func(before MediaPlace, f Finding)) (MediaPlace, error) {
	ids, err := workspacesFrom(ctx, s, from.Workspace)
	if err != nil {
		return from, err
	}
	for _, id := range ids {
		at := MediaPlace{Workspace: id}
		if id == from.Workspace {
			at = from
		}
		for {
			n := min(mediaPage, most)
			at, n, err = examineMedia(ctx, s, files, at, n, tell)
			if most -= n; err != nil || most == 0 {
				return at, err
			}
			if n < mediaPage {
				break
			}
		}
	}
	return MediaPlace{}, nil
}

// workspacesFrom returns the workspaces from one on.
func workspacesFrom(ctx context.Context, s *store.Store, from sheaf.WorkspaceID) (ids []sheaf.WorkspaceID, err error) {
	err = s.Read(ctx, func(r *store.Reader) error {
		all, err := r.WorkspaceIDs()
		ids = slices.DeleteFunc(all, func(id sheaf.WorkspaceID) bool { return id < from })
		return err
	})
	return ids, err
}

// examineMedia looks at a page of a workspace, and returns how many media that had.
func examineMedia(ctx context.Context, s *store.Store, files MediaFiles, at MediaPlace, most int, tell func(MediaPlace, Finding)) (MediaPlace, int, error) {
	var page []sheaf.Medium
	err := s.Read(ctx, func(r *store.Reader) (err error) {
		page, err = r.MediaAfter(at.Workspace, at.Number, most)
		return err
	})
	if err != nil {
		return at, 0, err
	}
	for i := range page {
		m := &page[i]
		fault, err := files.fault(ctx, at.Workspace, m)
		if err != nil {
			return at, i, err
		}
		if fault != "" && isThere(ctx, s, at.Workspace, m.ID) {
			tell(at, Finding{Check: mediumCheck, Workspace: at.Workspace, Text: fault})
		}
		at.Number = m.Number
	}
	return at, len(page), nil
}

// fault says what is wrong with the bytes of a medium, "" for nothing.
func (files MediaFiles) fault(ctx context.Context, ws sheaf.WorkspaceID, m *sheaf.Medium) (fault string, err error) {
	key := media.Key{Workspace: string(ws)}
	if _, err := hex.Decode(key.SHA256[:], []byte(m.SHA256)); err != nil {
		return fmt.Sprintf("%s has no hash", m.ID), nil
	}
	size := m.Bytes
	content, err := files.Open(ctx, key)
	if err == nil {
		size = content.Size()
		err = content.Close()
	}
	if err == nil && files.Verify != nil && size == m.Bytes {
		err = files.Verify(ctx, key)
	}
	switch {
	case errors.Is(err, media.ErrNotFound):
		return fmt.Sprintf("%s (%s) has no bytes where media are kept", m.ID, sheaf.Clip(m.Filename)), nil
	case errors.Is(err, media.ErrDamaged):
		return fmt.Sprintf("%s (%s) is damaged: its file has other bytes than were uploaded", m.ID, sheaf.Clip(m.Filename)), nil
	case err != nil:
		return "", fmt.Errorf("look for the bytes of media: %w", err)
	case size != m.Bytes:
		return fmt.Sprintf("%s (%s) has %d bytes, and its file %d", m.ID, sheaf.Clip(m.Filename), m.Bytes, size), nil
	}
	return "", nil
}

// isThere reports whether the medium was not deleted meanwhile.
func isThere(ctx context.Context, s *store.Store, ws sheaf.WorkspaceID, id sheaf.MediumID) bool {
	return s.Read(ctx, func(r *store.Reader) error {
		_, err := r.Medium(ws, id)
		return err
	}) == nil
}
