package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/media"
	"sheaf.dev/internal/sheaf"
)

// After its lines a backup has the bytes of live media; equal bytes of one workspace are stored
// once. Each is an uncompressed gzip member, whose name identifies it. The last member is a
// summary:
//
//	medium <workspace> <hash> <bytes>   the bytes
//	…
//	media                               a backupMedia, as one line of JSON
//
// So common tools can extract a medium from a backup, and only one chunk at a time is in memory.

// backupMedia is the content of the last member before the footer.
type backupMedia struct {
	Media int64 `json:"media"` // number of members with all of their bytes
	Bytes int64 `json:"bytes"`
	// Deleted names media that were deleted while the backup was made. A restore deletes them too.
	Deleted []string `json:"deleted"`
	// Lost names media whose bytes were missing, or were not the right ones, although they were not
	// deleted. If they were not the right ones, the file may contain a part of them.
	Lost []string `json:"lost"`
}

const backupMediaName = "media"

// mediumBytes identifies the bytes of one or more live media.
type mediumBytes struct {
	key  media.Key
	size int64
}

func (b mediumBytes) memberName() string {
	return fmt.Sprintf("medium %s %s %d", b.key.Workspace, b.key.Hash(), b.size)
}

// parseMember is the inverse of memberName.
func parseMember(name string) (b mediumBytes, ok bool) {
	var workspace, hash string
	n, err := fmt.Sscanf(name, "medium %s %s %d", &workspace, &hash, &b.size)
	if n != 3 || err != nil {
		return b, false
	}
	b.key, ok = parseStored(workspace + "/" + hash)
	return b, ok && b.memberName() == name
}

// storedName returns the name of bytes in a backupMedia. parseStored is its inverse.
func storedName(k media.Key) string { return k.Workspace + "/" + k.Hash() }

func parseStored(name string) (media.Key, bool) {
	workspace, hash, _ := strings.Cut(name, "/")
	workspace, ok := sheaf.ParseUUID(workspace)
	sum, isHash := mediumHash(hash).([]byte)
	if !ok || !isHash {
		return media.Key{}, false
	}
	return media.Key{Workspace: workspace, SHA256: [32]byte(sum)}, true
}

const storedBytes = `
SELECT w.id, m.hash, MAX(m.bytes)
FROM media m
JOIN workspaces w ON w.ws = m.ws
WHERE m.state = 1
GROUP BY w.id, m.hash`

// eachStored calls each for the bytes of all live media.
func (r *Reader) eachStored(each func(mediumBytes) error) error {
	return r.each(storedBytes, func(w *row) error {
		b := mediumBytes{key: media.Key{Workspace: string(readID[sheaf.WorkspaceID](w)), SHA256: [32]byte(w.Blob())}, size: w.Int()}
		return each(b)
	})
}

// backupMedia writes the listed bytes, then the summary. It may take hours, so no snapshot is open
// meanwhile.
func (s *Store) backupMedia(ctx context.Context, z *footedWriter, files media.Store, listed *spool, count *BackupCount) error {
	end := backupMedia{Deleted: []string{}, Lost: []string{}}
	err := listed.each(func(b mediumBytes) error {
		failpoint.Pass(failpoint.InBackup)
		fate, id, err := s.backupMedium(ctx, z, files, b)
		switch {
		case err != nil:
			return fmt.Errorf("back up the bytes of a medium in workspace %s: %w", b.key.Workspace, err)
		case fate == deletedMeanwhile:
			end.Deleted = append(end.Deleted, storedName(b.key))
		case fate == lostBytes:
			end.Lost = append(end.Lost, storedName(b.key))
			count.Lost = append(count.Lost, fmt.Sprintf("%s of workspace %s", id, b.key.Workspace))
		default:
			end.Media++
			end.Bytes += b.size
		}
		return nil
	})
	if err != nil {
		return err
	}
	count.Media, count.MediaBytes = end.Media, end.Bytes
	line, err := json.Marshal(end)
	if err != nil {
		return err
	}
	return z.member(backupMediaName, strings.NewReader(string(line)+"\n"))
}

// fate is the result of backing up one medium's bytes.
type fate int

const (
	tookBytes fate = iota
	deletedMeanwhile
	lostBytes
)

// backupMedium writes the bytes of one medium. If they are missing, the rows tell why. If no live
// medium has them any more, they were deleted. If the same medium was live before and after, they
// are lost. If another medium with the same bytes was added meanwhile, it has stored them: try
// again.
func (s *Store) backupMedium(ctx context.Context, z *footedWriter, files media.Store, b mediumBytes) (fate, sheaf.MediumID, error) {
	for before := sheaf.MediumID(""); ; {
		err := copyMedium(ctx, z, files, b)
		if err == nil {
			return tookBytes, "", nil
		}
		if !errors.Is(err, media.ErrNotFound) && !errors.Is(err, media.ErrDiffers) {
			return 0, "", err
		}
		id, live, asked := s.liveWith(ctx, b.key)
		switch {
		case asked != nil:
			return 0, "", asked
		case !live:
			return deletedMeanwhile, "", nil
		case id == before || errors.Is(err, media.ErrDiffers): // bytes never change once written
			return lostBytes, id, nil
		}
		before = id
	}
}

// copyMedium adds a member with the bytes, and verifies them on the way. If they are not the right
// ones, the member is cut short.
func copyMedium(ctx context.Context, z *footedWriter, files media.Store, b mediumBytes) error {
	content, err := files.Open(ctx, b.key)
	if err != nil {
		return err
	}
	defer content.Close()
	return z.member(b.memberName(), untilDone{ctx, media.Checked(content, b.size, b.key)})
}

// untilDone is a Reader that fails once ctx has ended.
type untilDone struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (r untilDone) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

const liveWith = `
SELECT id
FROM media
WHERE ws = $1 AND hash = $2 AND state = 1
ORDER BY number DESC
LIMIT 1`

// liveWith returns the newest live medium with these bytes; live is false if there is none.
func (s *Store) liveWith(ctx context.Context, k media.Key) (id sheaf.MediumID, live bool, err error) {
	err = s.Read(ctx, func(r *Reader) (err error) {
		id, live, err = one(r, liveWith, readID[sheaf.MediumID], sheaf.WorkspaceID(k.Workspace), k.SHA256[:])
		return err
	})
	return id, live, err
}

// readMedia reads the members after the lines. It returns io.EOF at the end of an intact file.
func (r *backupReader) readMedia() error {
	for {
		name, err := r.next()
		if err != nil {
			return err
		}
		if r.media != nil {
			return errDamaged // no member may follow the summary
		}
		if name == backupMediaName {
			err = json.NewDecoder(r.z).Decode(&r.media)
		} else if b, ok := parseMember(name); !ok {
			return errDamaged
		} else if r.each != nil {
			if err := r.each(b, tornContent{r.z}); err != nil {
				return err
			}
		}
		if err == nil {
			_, err = io.Copy(io.Discard, r.z)
		}
		if err != nil {
			return torn(err)
		}
	}
}

// tornContent translates read errors as torn does.
type tornContent struct{ io.Reader }

// Read implements io.Reader.
func (r tornContent) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = torn(err)
	}
	return n, err
}

// complete returns nil if a file that was read to its end has everything that its form requires.
func (r *backupReader) complete(head BackupHead) error {
	return errorIf((r.media != nil) != head.HasMedia(), errDamaged)
}

// RestoreMedia stores the bytes of a backup's media, and then calls restore, which inserts the
// rows. If either fails, it removes the bytes that it added; bytes that were there before stay.
func RestoreMedia(ctx context.Context, in io.Reader, files media.Store, restore func() error) (stored int64, err error) {
	added, err := newSpool()
	if err != nil {
		return 0, err
	}
	defer added.close()
	if stored, err = storeMedia(ctx, in, files, added); err != nil {
		err = fmt.Errorf("the media cannot be restored: %w", err)
	} else {
		err = restore()
	}
	if err != nil {
		_ = added.each(func(b mediumBytes) error { return files.Remove(context.WithoutCancel(ctx), b.key) })
		return 0, err
	}
	return stored, nil
}

// storeMedia stores the bytes of a backup's media and returns their number. It adds those that were
// not there before to `added`.
func storeMedia(ctx context.Context, in io.Reader, files media.Store, added *spool) (stored int64, err error) {
	r, err := newBackupReader(in)
	if err != nil {
		return 0, err
	}
	r.each = func(b mediumBytes, content io.Reader) error {
		err := restoreMedium(ctx, files, b, content, added)
		if errors.Is(err, media.ErrDiffers) {
			return nil // these bytes were wrong in the original store too; the summary does not count them
		}
		stored++
		return err
	}
	_, err = io.Copy(io.Discard, r)
	if err == nil && r.media != nil && stored != r.media.Media {
		err = errDamaged
	}
	return stored, err
}

// restoreMedium stores the bytes of one medium, and adds it to `added` if they were not there
// before.
func restoreMedium(ctx context.Context, files media.Store, b mediumBytes, content io.Reader, added *spool) error {
	before, err := files.Open(ctx, b.key)
	switch {
	case err == nil:
		err = before.Close()
	case errors.Is(err, media.ErrNotFound):
		err = added.add(b)
	}
	if err != nil {
		return err
	}
	return files.Put(ctx, b.key, b.size, content)
}

const (
	dropRestoredLogos = `
UPDATE brandings
SET logo_media_id = NULL, revision = revision + 1
WHERE ws = $1 AND logo_media_id IN (SELECT id FROM media WHERE ws = $1 AND hash = $2 AND state = 1)`
	dropRestoredBytes = `
UPDATE workspaces
SET storage = storage - (SELECT COALESCE(SUM(bytes), 0) FROM media WHERE ws = $1 AND hash = $2 AND state = 1)
WHERE ws = $1`
	dropRestoredMedia = `
DELETE FROM media
WHERE ws = $1 AND hash = $2 AND state = 1`
)

// dropMedia deletes the media of a restored copy that have these bytes. Like the original deletion,
// it removes them from brandings and from the workspace's storage. It emits no event.
func (tx *Tx) dropMedia(name string) error {
	key, ok := parseStored(name)
	if !ok {
		return errDamaged
	}
	ws := sheaf.WorkspaceID(key.Workspace)
	for _, sql := range []string{dropRestoredLogos, dropRestoredBytes, dropRestoredMedia} {
		if err := tx.exec(sql, ws, key.SHA256[:]); err != nil {
			return fmt.Errorf("leave out a medium that was deleted: %w", err)
		}
	}
	return nil
}
