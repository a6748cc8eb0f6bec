package offsite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sheaf.dev/internal/media"
)

// Keep says which backups stay: the newest Count, and all that are younger than Age. The newest always stays.
type Keep struct {
	Count int
	Age   time.Duration
}

// abandonedAfter is how old a backup without a manifest is when it is removed: its process has died.
const abandonedAfter = 48 * time.Hour

// Tidy removes the backups that need not stay, and the media that only they have. `newest` is the backup that was just
// written and read back: without it in the bucket, Tidy removes nothing. It returns how many backups it removed.
func (b *Bucket) Tidy(ctx context.Context, newest *Manifest, keep Keep) (removed int, err error) {
	whole, begun, err := b.stamps(ctx)
	if err != nil {
		return 0, err
	}
	if !slices.Contains(whole, newest.Stamp) {
		return 0, fmt.Errorf("the bucket does not list the backup %s, which it has just answered: nothing is removed", newest.Stamp)
	}
	oldest := newest.Stamp
	for i, stamp := range whole {
		at, _ := stampTime(stamp)
		if stamp >= newest.Stamp || len(whole)-i <= keep.Count || b.Now().Sub(at) < keep.Age {
			oldest = min(oldest, stamp)
			continue
		}
		if err := b.removeBackup(ctx, stamp); err != nil {
			return removed, err
		}
		removed++
	}
	for _, stamp := range begun {
		if at, _ := stampTime(stamp); b.Now().Sub(at) > abandonedAfter {
			if err := b.removeBackup(ctx, stamp); err != nil {
				return removed, err
			}
		}
	}
	return removed, b.removeMarked(ctx, oldest)
}

// removeBackup removes the manifest first, so that no backup counts that lacks a piece.
func (b *Bucket) removeBackup(ctx context.Context, stamp string) error {
	folder := backupsFolder + stamp + "/"
	if err := b.Objects.Remove(ctx, folder+manifestName); err != nil {
		return err
	}
	return b.removeBelow(ctx, folder)
}

func (b *Bucket) removeBelow(ctx context.Context, folder string) error {
	return b.Objects.List(ctx, folder, func(o media.Object) error { return b.Objects.Remove(ctx, o.Name) })
}

// removeMarked removes the media whose mark is not newer than the oldest backup, and then the marks.
func (b *Bucket) removeMarked(ctx context.Context, oldest string) error {
	return b.Objects.List(ctx, goneFolder, func(o media.Object) error {
		parts := strings.Split(strings.TrimPrefix(o.Name, goneFolder), "/")
		stamp := parts[len(parts)-1]
		if _, ours := stampTime(stamp); !ours || stamp > oldest {
			return nil
		}
		var err error
		switch {
		case len(parts) == 3 && parts[1] == everything: // all media of recipients
			err = b.removeBelow(ctx, mediaFolder+parts[0]+"/")
		case len(parts) == 4 && isWorkspace(parts[1]) && parts[2] == everything:
			err = b.removeBelow(ctx, mediaFolder+parts[0]+"/"+parts[1]+"/")
		case len(parts) == 4 && isWorkspace(parts[1]):
			err = b.Objects.Remove(ctx, mediaFolder+parts[0]+"/"+parts[1]+"/"+parts[2]+".age")
		default:
			return nil
		}
		if err != nil {
			return err
		}
		return b.Objects.Remove(ctx, o.Name)
	})
}
