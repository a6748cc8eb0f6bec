package app

import (
	"bytes"
	"context"
	"testing"
	"time"

	"sheaf.dev/internal/media"
	"sheaf.dev/internal/sheaf"
)

// joining is a media store that signals when it has joined an upload.
type joining struct {
	media.Store
	joined func()
}

func (j joining) Join(ctx context.Context, upload string, at media.Progress, key media.Key) error {
	err := j.Store.Join(ctx, upload, at, key)
	j.joined()
	return err
}

// D101: if another node deletes an upload while it is being finished, the client does not get the
// answer that it is complete, since there is no medium. If another node finishes it meanwhile, the
// client does.
func TestUpload_EndedOrFinishedByAnotherNodeMeanwhile(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		in, _ := ada(t, a)
		n, _ := signIn(t, a, in)
		owner := caller(t, a, n.Token)
		folder := media.Folder(t.TempDir())
		file := []byte("some bytes")
		begin := func() sheaf.Upload {
			t.Helper()
			u, err := a.CreateUpload(t.Context(), owner, NewUpload{Length: int64(len(file))})
			if err != nil {
				t.Fatal(err)
			}
			return u
		}
		send := func(u sheaf.Upload) error {
			_, err := a.AppendUpload(t.Context(), owner, u.ID, 0, Piece{Reader: bytes.NewReader(file), Interrupt: func() {}})
			return err
		}
		// endRow does the first step of another node. It removes the bytes afterwards.
		endRow := func(u sheaf.Upload) error {
			return do(t.Context(), a, owner, scope(sheaf.MediaWrite), nil, func(w *work) error {
				u, _, err := w.Upload(w.ws.ID, u.ID)
				if err != nil {
					return err
				}
				return w.DeleteUpload(&w.ws, u)
			})
		}
		gone := func(what string, u sheaf.Upload, err error) {
			t.Helper()
			wantKind(t, what, err, sheaf.NotFound)
			_, err = a.Medium(t.Context(), owner, u.ID)
			wantKind(t, "its medium", err, sheaf.NotFound)
		}

		a.media = folder
		early := begin()
		at, err := folder.Append(t.Context(), uploadName(owner.Workspace, early.ID), media.Progress{}, bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if err := endRow(early); err != nil {
			t.Fatal(err)
		}
		early.Offset, early.State = at.Offset, at.State
		gone("ended before it is announced", early, a.finishUpload(t.Context(), owner, early))

		late := begin()
		a.media = joining{folder, func() {
			if err := endRow(late); err != nil {
				t.Error(err)
			}
		}}
		gone("ended before it is published", late, send(late))

		twice := begin()
		a.media = joining{folder, func() {
			a.media = folder // the other node has no such hook
			u, _, err := a.findUpload(t.Context(), owner, twice.ID)
			if err == nil {
				err = a.finishUpload(t.Context(), owner, u)
			}
			if err != nil {
				t.Errorf("on the other node: %v", err)
			}
		}}
		if err := send(twice); err != nil {
			t.Errorf("finished by another node: %v", err)
		}
		if m, err := a.Medium(t.Context(), owner, twice.ID); err != nil || m.Bytes != int64(len(file)) {
			t.Errorf("the medium is %+v, %v", m, err)
		}
	})
}
