package engine

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"sheaf.dev/internal/store/engine/checksum"
)

// unstamped returns a folder with a file without checksums, like one after VACUUM by another
// program.
func unstamped(t *testing.T, change func(file []byte)) (folder string) {
	t.Helper()
	folder = t.TempDir()
	s, err := openMigrated(Options{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "w")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, FileName)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for end := pageSizeOf(file); end <= len(file); end += pageSizeOf(file) {
		clear(file[end-checksum.Bytes : end])
	}
	change(file)
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

func pageSizeOf(file []byte) int { return int(binary.BigEndian.Uint16(file[16:])) }

func TestSQLite_FileThatAnotherProgramRewroteIsTakenOver(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{Folder: unstamped(t, func([]byte) {})}).(*SQLite)
	if got := things(t, s); got != "w" {
		t.Errorf("got %s", got)
	}
	if unsound, pages, err := s.Unsound(); unsound != 0 || pages == 0 || err != nil {
		t.Errorf("%d of %d pages have no checksum, %v", unsound, pages, err)
	}
}

// A wrong checksum is not a missing one, whatever the other pages have.
func TestSQLite_RewrittenFileWithAWrongChecksumIsRefused(t *testing.T) {
	t.Parallel()
	folder := unstamped(t, func(file []byte) { file[5*pageSizeOf(file)-1] = 1 })
	refuses(t, folder, "run sheaf repair")
	s, err := OpenTrusting(context.Background(), testOptions(Options{Folder: folder}))
	if err != nil {
		t.Fatal(err)
	}
	unsound, pages, err := s.Unsound()
	if unsound != pages || err != nil {
		t.Errorf("%d of %d pages are unsound, %v", unsound, pages, err)
	}
	if n, err := s.Restamp(); n != pages || err != nil {
		t.Errorf("%d of %d pages got their checksum, %v", n, pages, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := things(t, openTest(t, Options{Folder: folder})); got != "w" {
		t.Errorf("after the repair: %s", got)
	}
}
