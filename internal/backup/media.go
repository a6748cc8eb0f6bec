package backup

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/media"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// After its lines a backup has the bytes of live media; equal bytes of one workspace are stored
// once. Each is an uncompressed gzip member, whose name identifies it. The last member is a
// summary:
//
//	medium <workspace> <hash> <bytes>   the bytes
//	…
//	media                               a mediaSummary, as one line of JSON
//
// So common tools can extract a medium from a backup, and only one chunk at a time is in memory.

// mediaSummary is the content of the last member before the footer.
type mediaSummary struct {
	Media int64 `json:"media"` // number of members with all of their bytes
	Bytes int64 `json:"bytes"`
	// Deleted names media that were deleted while the backup was made. A restore deletes them too.
	Deleted []string `json:"deleted"`
	// Lost names media whose bytes were missing, or were not the right ones, although they were not
	// deleted. If they were not the right ones, the file may contain a part of them.
	Lost []string `json:"lost"`
}

const summaryName = "media"

// keyOf returns where the bytes are stored.
func keyOf(b store.MediumBytes) media.Key {
	return media.Key{Workspace: string(b.Workspace), SHA256: b.SHA256}
}

func memberName(b store.MediumBytes) string {
	return fmt.Sprintf("medium %s %x %d", b.Workspace, b.SHA256, b.Size)
}

// parseMember is the inverse of memberName.
func parseMember(name string) (b store.MediumBytes, ok bool) {
	var workspace, hash string
	var size int64
	if n, err := fmt.Sscanf(name, "medium %s %s %d", &workspace, &hash, &size); n != 3 || err != nil {
		return b, false
	}
	b, ok = parseStored(workspace + "/" + hash)
	b.Size = size
	return b, ok && memberName(b) == name
}

// storedName returns the name of bytes in a mediaSummary. parseStored is its inverse.
func storedName(b store.MediumBytes) string { return fmt.Sprintf("%s/%x", b.Workspace, b.SHA256) }

func parseStored(name string) (b store.MediumBytes, ok bool) {
	workspace, hash, _ := strings.Cut(name, "/")
	workspace, ok = sheaf.ParseUUID(workspace)
	sum, err := hex.DecodeString(hash)
	if !ok || err != nil || len(sum) != len(b.SHA256) {
		return b, false
	}
	return store.MediumBytes{Workspace: sheaf.WorkspaceID(workspace), SHA256: [32]byte(sum)}, true
}

// writeMedia writes the listed bytes, then the summary. It may take hours, so no snapshot is open
// meanwhile.
func writeMedia(ctx context.Context, st *store.Store, z *footedWriter, files media.Store, send Send, listed *spool, count *Count) error {
	end := mediaSummary{Deleted: []string{}, Lost: []string{}}
	err := listed.each(func(b store.MediumBytes) error {
		failpoint.Pass(failpoint.InBackup)
		fate, id, err := writeMedium(ctx, st, z, files, send, b)
		switch {
		case err != nil:
			return fmt.Errorf("back up the bytes of a medium in workspace %s: %w", b.Workspace, err)
		case fate == deletedMeanwhile:
			end.Deleted = append(end.Deleted, storedName(b))
		case fate == lostBytes:
			end.Lost = append(end.Lost, storedName(b))
			count.Lost = append(count.Lost, fmt.Sprintf("%s of workspace %s", id, b.Workspace))
		default:
			end.Media++
			end.Bytes += b.Size
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
	return z.member(summaryName, strings.NewReader(string(line)+"\n"))
}

// fate is the result of backing up one medium's bytes.
type fate int

const (
	tookBytes fate = iota
	deletedMeanwhile
	lostBytes
)

// writeMedium writes the bytes of one medium. If they are missing, the rows tell why. If no live
// medium has them any more, they were deleted. If the same medium was live before and after, they
// are lost. If another medium with the same bytes was added meanwhile, it has stored them: try
// again.
func writeMedium(ctx context.Context, st *store.Store, z *footedWriter, files media.Store, send Send, b store.MediumBytes) (fate, sheaf.MediumID, error) {
	for before := sheaf.MediumID(""); ; {
		err := copyMedium(ctx, z, files, send, b)
		if err == nil {
			return tookBytes, "", nil
		}
		if !errors.Is(err, media.ErrNotFound) && !errors.Is(err, media.ErrDiffers) {
			return 0, "", err
		}
		var id sheaf.MediumID
		var live bool
		read := st.Read(ctx, func(r *store.Reader) (err error) {
			id, live, err = r.LiveWith(b.Workspace, b.SHA256)
			return err
		})
		switch {
		case read != nil:
			return 0, "", read
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
func copyMedium(ctx context.Context, z *footedWriter, files media.Store, send Send, b store.MediumBytes) error {
	content, err := files.Open(ctx, keyOf(b))
	if err != nil {
		return err
	}
	defer content.Close()
	checked := untilDone{ctx, media.Checked(content, b.Size, keyOf(b))}
	if send == nil {
		return z.member(memberName(b), checked)
	}
	if err := send(ctx, b, checked); err != nil {
		return err
	}
	return z.member(memberName(b), strings.NewReader(""))
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

// readMedia reads the members after the lines. It returns io.EOF at the end of an intact file.
func (r *reader) readMedia() error {
	for {
		name, err := r.next()
		if err != nil {
			return err
		}
		if r.media != nil {
			return errDamaged // no member may follow the summary
		}
		if name == summaryName {
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
func (r *reader) complete(head Head) error {
	if (r.media != nil) != head.HasMedia() {
		return errDamaged
	}
	return nil
}

// RestoreMedia stores the bytes of a backup's media, and then calls restore, which inserts the
// rows. If either fails, it removes the bytes that it added; bytes that were there before stay.
func RestoreMedia(ctx context.Context, in io.Reader, files media.Store, restore func() error) (stored int64, err error) {
	return RestoreMediaBeside(ctx, in, files, nil, restore)
}

// Fetch returns the bytes of a medium that WriteBeside has sent.
type Fetch func(ctx context.Context, b store.MediumBytes) (io.ReadCloser, error)

// RestoreMediaBeside is RestoreMedia for a backup whose bytes are beside it. If fetch is nil, they are in the file.
func RestoreMediaBeside(ctx context.Context, in io.Reader, files media.Store, fetch Fetch, restore func() error) (stored int64, err error) {
	added, err := newSpool()
	if err != nil {
		return 0, err
	}
	defer added.close()
	if stored, err = storeMedia(ctx, in, files, fetch, added); err != nil {
		err = fmt.Errorf("the media cannot be restored: %w", err)
	} else {
		err = restore()
	}
	if err != nil {
		_ = added.each(func(b store.MediumBytes) error { return files.Remove(context.WithoutCancel(ctx), keyOf(b)) })
		return 0, err
	}
	return stored, nil
}

// storeMedia stores the bytes of a backup's media and returns their number. It adds those that were
// not there before to `added`.
func storeMedia(ctx context.Context, in io.Reader, files media.Store, fetch Fetch, added *spool) (stored int64, err error) {
	r, err := newReader(in)
	if err != nil {
		return 0, err
	}
	r.each = func(b store.MediumBytes, content io.Reader) error {
		if fetch != nil {
			stored++
			return fetchMedium(ctx, files, b, fetch, added)
		}
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

// fetchMedium stores the bytes of a medium that are beside the backup.
func fetchMedium(ctx context.Context, files media.Store, b store.MediumBytes, fetch Fetch, added *spool) error {
	content, err := fetch(ctx, b)
	if err != nil {
		return err
	}
	defer content.Close()
	if err := restoreMedium(ctx, files, b, content, added); err != nil {
		return fmt.Errorf("the medium %s: %w", storedName(b), err)
	}
	return nil
}

// restoreMedium stores the bytes of one medium, and adds it to `added` if they were not there
// before.
func restoreMedium(ctx context.Context, files media.Store, b store.MediumBytes, content io.Reader, added *spool) error {
	before, err := files.Open(ctx, keyOf(b))
	switch {
	case err == nil:
		err = before.Close()
	case errors.Is(err, media.ErrNotFound):
		err = added.add(b)
	}
	if err != nil {
		return err
	}
	return files.Put(ctx, keyOf(b), b.Size, content)
}
