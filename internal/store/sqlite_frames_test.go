package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// framesOf returns the frames of a store's log.
func framesOf(t *testing.T, folder string) (log []byte, frames [][]byte) {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(folder, FileName+"-wal"))
	if err != nil || len(log) < logHeader {
		t.Fatalf("the log has %d bytes, %v", len(log), err)
	}
	size := frameHeader + int(binary.BigEndian.Uint32(log[8:]))
	for at := logHeader; at+size <= len(log); at += size {
		frames = append(frames, log[at:at+size])
	}
	return log, frames
}

// checkFrames expects our checksum in every page of the log, and sums that SQLite will accept.
func checkFrames(t *testing.T, folder string) (frames int) {
	t.Helper()
	log, all := framesOf(t, folder)
	sum := [2]uint32{binary.BigEndian.Uint32(log[24:]), binary.BigEndian.Uint32(log[28:])}
	for i, f := range all {
		if string(f[8:16]) != string(log[16:24]) {
			return i // of the log before
		}
		if number := binary.BigEndian.Uint32(f); !isSound(f[frameHeader:], number) {
			t.Errorf("frame %d: page %d has not its checksum", i+1, number)
		}
		sum = addWords(binary.LittleEndian, addWords(binary.LittleEndian, sum, f[:8]), f[frameHeader:])
		if sum != [2]uint32{binary.BigEndian.Uint32(f[16:]), binary.BigEndian.Uint32(f[20:])} {
			t.Fatalf("frame %d does not add up", i+1)
		}
	}
	return len(all)
}

func TestFrames_HaveTheirChecksums(t *testing.T) {
	t.Parallel()
	o := Options{Folder: t.TempDir()}
	s := openTest(t, o)
	stopped(s)
	for i := range 20 {
		put(t, s, testWorkspace(sheaf.WorkspaceID(fmt.Sprint(i))))
	}
	if n := checkFrames(t, o.Folder); n < 20 {
		t.Errorf("the log has %d frames", n)
	}
}

// A transaction that outgrows the cache writes pages into the log before its end, and some of them again.
func TestFrames_OfATransactionThatOutgrowsTheCache(t *testing.T) {
	t.Parallel()
	o := Options{Folder: t.TempDir()}
	s := openTest(t, o)
	stopped(s)
	err := s.Write(context.Background(), func(tx *Tx) error {
		for range 3 {
			if err := tx.exec(written, 1500); err != nil {
				return err
			}
			if err := tx.exec("UPDATE settings SET value = value || 'x' WHERE length(value) > 3000"); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := checkFrames(t, o.Folder); n < 3000 {
		t.Errorf("the log has %d frames: it did not outgrow the cache", n)
	}
}

// What rots in the log is refused when it is read, not only when the log is opened.
func TestFrames_DamageIsRefusedWhenItIsRead(t *testing.T) {
	t.Parallel()
	o := Options{Folder: t.TempDir()}
	s, err := openMigrated(o.Folder)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() // with an error: it cannot be brought into the file either
	stopped(s)
	w := testWorkspace("w")
	w.Name = strings.Repeat("told ", 400)
	put(t, s, w)
	path := filepath.Join(o.Folder, FileName+"-wal")
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; ; at++ { // every copy of the page
		next := strings.Index(string(log[at:]), "told told")
		if next < 0 {
			break
		}
		at += next
		log[at] = 'g'
	}
	if err := os.WriteFile(path, log, 0o600); err != nil {
		t.Fatal(err)
	}
	err = s.Read(context.Background(), func(r *Reader) error {
		_, err := r.Workspaces()
		return err
	})
	if sheaf.KindOf(err) != sheaf.Unavailable {
		t.Errorf("got %v, want Unavailable", err)
	}
}

// Whoever else has the file open, we alone bring the log over, and one of us at a time.
func TestHold_KeepsOthersFromTheFile(t *testing.T) {
	t.Parallel()
	o := Options{Folder: t.TempDir()}
	first, second := openTest(t, o), openTest(t, o)
	put(t, first, testWorkspace("w"))
	for i, s := range []*Store{first, second} {
		p := stopped(s)
		if !p.hold.has() {
			t.Errorf("store %d does not have it", i)
		}
		if full, err := p.empty(); full || err != nil {
			t.Errorf("store %d cannot empty the log: %v", i, err)
		}
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	put(t, second, testWorkspace("x"))
	if got := workspaces(t, second); got != "w x" {
		t.Errorf("after the other store was closed: %s", got)
	}
}
