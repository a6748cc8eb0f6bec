package doctor

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"sheaf.dev/internal/media"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// mediumCheck names the check that every medium has its bytes.
const mediumCheck = "medium bytes"

// mediaPage is how many media are read at a time: their bytes are looked at outside of any snapshot.
const mediaPage = 100

// examineMedia looks whether every medium of the workspace has its bytes, and as many as it says.
func examineMedia(ctx context.Context, s *store.Store, files media.Store, ws sheaf.WorkspaceID, tell func(Finding)) error {
	for offset := 0; ; offset += mediaPage {
		var page sheaf.Page[sheaf.Medium]
		err := s.Read(ctx, func(r *store.Reader) (err error) {
			page, err = r.Media(ws, sheaf.MediumFilter{Paging: sheaf.Paging{Limit: mediaPage, Offset: offset}})
			return err
		})
		if err != nil {
			return err
		}
		for i := range page.Items {
			fault, err := missing(ctx, files, ws, &page.Items[i])
			if err != nil {
				return err
			}
			if fault != "" && isThere(ctx, s, ws, page.Items[i].ID) {
				tell(Finding{Check: mediumCheck, Workspace: ws, Text: fault})
			}
		}
		if len(page.Items) < mediaPage {
			return nil
		}
	}
}

// missing says what a medium lacks, "" for nothing.
func missing(ctx context.Context, files media.Store, ws sheaf.WorkspaceID, m *sheaf.Medium) (fault string, err error) {
	key := media.Key{Workspace: string(ws)}
	if _, err := hex.Decode(key.SHA256[:], []byte(m.SHA256)); err != nil {
		return fmt.Sprintf("%s has no hash", m.ID), nil
	}
	content, err := files.Open(ctx, key)
	switch {
	case errors.Is(err, media.ErrNotFound):
		return fmt.Sprintf("%s (%s) has no bytes where media are kept", m.ID, sheaf.Clip(m.Filename)), nil
	case err != nil:
		return "", fmt.Errorf("look for the bytes of media: %w", err)
	}
	defer content.Close()
	if n := content.Size(); n != m.Bytes {
		return fmt.Sprintf("%s (%s) has %d bytes, and its file %d", m.ID, sheaf.Clip(m.Filename), m.Bytes, n), nil
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
