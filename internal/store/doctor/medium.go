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

// mediaPage is the number of media that are read at a time. Their bytes are checked outside the snapshot.
const mediaPage = 100

// MediaPlace is the position of a check of media: the workspace and the medium that were checked last. The zero
// value is the start. Workspaces are in the order of their ids.
type MediaPlace struct {
	Workspace sheaf.WorkspaceID
	Number    int64 // number of the medium that was checked last
}

// RandomMediaPlace returns a random position among the media. A server that restarts often and checks a few media
// each time so reaches all of them. random returns a number in [0, n).
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

// MediaFiles gives ExamineMedia access to the bytes of media.
type MediaFiles struct {
	media.Store
	// Verify hashes the bytes. It returns nil, media.ErrDamaged, media.ErrNotFound, or another error if it
	// could not read them. If Verify is nil, only the number of bytes is compared.
	Verify func(context.Context, media.Key) error
}

// ExamineMedia reports media whose bytes are missing, too few, too many or damaged. It checks up to `most` media
// after the position `from`, so that a timer need not check millions of files at once. It calls tell for each
// finding, with the position before that medium. It returns the position it reached; the zero value means that
// it reached the end.
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

// workspacesFrom returns the workspaces whose id is `from` or later.
func workspacesFrom(ctx context.Context, s *store.Store, from sheaf.WorkspaceID) (ids []sheaf.WorkspaceID, err error) {
	err = s.Read(ctx, func(r *store.Reader) error {
		all, err := r.WorkspaceIDs()
		ids = slices.DeleteFunc(all, func(id sheaf.WorkspaceID) bool { return id < from })
		return err
	})
	return ids, err
}

// examineMedia checks one page of media of a workspace, and returns their number.
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

// fault returns what is wrong with the bytes of a medium, or "".
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

// isThere reports whether the medium still exists.
func isThere(ctx context.Context, s *store.Store, ws sheaf.WorkspaceID, id sheaf.MediumID) bool {
	return s.Read(ctx, func(r *store.Reader) error {
		_, err := r.Medium(ws, id)
		return err
	}) == nil
}
