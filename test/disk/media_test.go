package disk

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"sheaf.dev/internal/media"
	"sheaf.dev/internal/sheaftest/proof"
	"sheaf.dev/test/lossfs"
)

// After a power cut at any operation of the disk, all bytes of media that were stored before are there, and every
// upload can go on from the progress that was told; no file that has a name in the end is half there.
func TestPowerCut_MediaLoseNothingStored(t *testing.T) {
	t.Parallel()
	chance := rand.New(rand.NewPCG(10, 11))
	r := recordMedia(t, media.Folder)
	figures, lost := []proof.Figure{{Name: "operations", Value: len(r.log)}, {Name: "stored", Value: len(r.told)}}, 0
	for _, how := range []struct {
		name string
		loss lossfs.Loss
	}{{"cuts, nothing unsynced left", lossfs.All}, {"a beginning left", lossfs.Tail}, {"any sectors left", lossfs.Some}} {
		cuts, complaints := r.cut(t, how.loss, chance)
		figures = append(figures, proof.Figure{Name: how.name, Value: cuts})
		lost += len(complaints)
		for _, c := range complaints[:min(len(complaints), 10)] {
			t.Error(c)
		}
	}
	careless := recordMedia(t, func(path string) media.Store { return unflushed{media.Folder(path), path} })
	_, caught := careless.cut(t, lossfs.All, chance)
	proof.Row{Name: "power cut, folder of media", Figures: figures, Lost: lost, Control: "files that are not flushed", Caught: len(caught) > 0}.Report(t)
}

// mediaRecording is what a store did to its disk, and what it told meanwhile.
type mediaRecording struct {
	log  []lossfs.Op
	told []promise // by the marks of the log
}

// A promise is what a store has told: these bytes are stored, or so much of the upload is there.
type promise struct {
	content []byte         // nil: it is an upload that goes on
	at      media.Progress // of the upload
	joined  bool           // what the upload gathered is stored
}

const cutWorkspace = "01a1e2e6-5a47-7a5d-b17c-1eb6392c5b37"

func cutKey(b []byte) media.Key { return media.Key{Workspace: cutWorkspace, SHA256: sha256.Sum256(b)} }

// recordMedia stores bytes on a folder that remembers, in one call and in pieces.
func recordMedia(t *testing.T, open func(string) media.Store) *mediaRecording {
	t.Helper()
	path := t.TempDir()
	folder := mount(t, path)
	s := open(filepath.Join(path, "media"))
	r := &mediaRecording{}
	tell := func(p promise) {
		folder.Mark(len(r.told))
		r.told = append(r.told, p)
	}
	for i := range proof.Rounds(3, 20, 60) {
		b := bytes.Repeat([]byte{byte(i)}, 700*i+1)
		if err := s.Put(t.Context(), cutKey(b), int64(len(b)), bytes.NewReader(b)); err != nil {
			t.Fatal(err)
		}
		tell(promise{content: b})
	}
	var at media.Progress
	var err error
	for range 3 {
		if at, err = s.Append(t.Context(), "upload", at, bytes.NewReader(piece)); err != nil {
			t.Fatal(err)
		}
		tell(promise{at: at})
	}
	whole := bytes.Repeat(piece, 3)
	if err := s.Join(t.Context(), "upload", at, cutKey(whole)); err != nil {
		t.Fatal(err)
	}
	tell(promise{content: whole, joined: true})
	r.log = folder.Log()
	return r
}

var piece = bytes.Repeat([]byte("a piece "), 150)

// cut cuts the power before every operation, and returns how often it did and what was wrong then.
func (r *mediaRecording) cut(t *testing.T, loss lossfs.Loss, chance *rand.Rand) (cuts int, complaints []string) {
	t.Helper()
	disk, told := lossfs.NewDisk(), -1
	for k, op := range r.log {
		if op.Kind == lossfs.Mark {
			told = op.Mark
		}
		cuts++
		if err := r.examine(t, disk.Cut(loss, chance), r.told[:told+1]); err != nil {
			complaints = append(complaints, fmt.Sprintf("cut before operation %d (%s %s): %v", k, op.Kind, op.Name, err))
		}
		disk.Do(op)
	}
	return cuts, complaints
}

// examine opens what the cut left, and compares it with what was told.
func (r *mediaRecording) examine(t *testing.T, files map[string][]byte, told []promise) error {
	t.Helper()
	rest := t.TempDir()
	for name, content := range files {
		path := filepath.Join(rest, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	s := media.Folder(filepath.Join(rest, "media"))
	if err := whole(t.Context(), s); err != nil {
		return err
	}
	var upload *promise
	for i, p := range told {
		if p.content == nil {
			upload = &told[i]
			continue
		}
		if p.joined {
			upload = nil
		}
		if got, err := readAll(t.Context(), s, cutKey(p.content)); err != nil || !bytes.Equal(got, p.content) {
			return fmt.Errorf("of %d stored bytes %d are there: %w", len(p.content), len(got), err)
		}
	}
	if upload == nil {
		return nil
	}
	// What was joined before the cut, and not told, is there under its key.
	at, err := s.Append(t.Context(), "upload", upload.at, bytes.NewReader(nil))
	if errors.Is(err, media.ErrNotFound) && s.Join(t.Context(), "upload", upload.at, cutKey(bytes.Repeat(piece, 3))) == nil {
		return nil
	}
	if err != nil || at.Offset != upload.at.Offset {
		return fmt.Errorf("the upload of %d bytes cannot go on: %w", upload.at.Offset, err)
	}
	return nil
}

// whole looks whether every file is what its name says.
func whole(ctx context.Context, s media.Store) error {
	return s.List(ctx, cutWorkspace, func(key media.Key, _ int64) error {
		b, err := readAll(ctx, s, key)
		if err == nil && cutKey(b) != key {
			err = fmt.Errorf("a file of %d bytes is not what its name says", len(b))
		}
		return err
	})
}

func readAll(ctx context.Context, s media.Store, key media.Key) ([]byte, error) {
	c, err := s.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return io.ReadAll(c)
}

// unflushed is the control: it stores files as somebody does who forgets to flush them.
type unflushed struct {
	media.Store
	path string
}

// Put writes the file under its name, and leaves the rest to chance.
func (u unflushed) Put(_ context.Context, key media.Key, _ int64, r io.Reader) error {
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	path := filepath.Join(u.path, "content", key.Workspace, key.Hash()[:2], key.Hash())
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, b, 0o600))
}
