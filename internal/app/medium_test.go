package app

import (
	"bytes"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/media"
	"sheaf.dev/internal/sheaf"
)

// D104: nodes without a shared media storage refuse files, and say what is missing.
func TestMedia_WithoutAPlaceForFiles(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		in, _ := ada(t, a)
		n, _ := signIn(t, a, in)
		owner := caller(t, a, n.Token)
		file := []byte("x")
		_, err := a.UploadMedium(t.Context(), owner, NewMedium{Bytes: 1, SHA256: sha256.Sum256(file), Open: func() io.Reader { return bytes.NewReader(file) }})
		wantKind(t, "without a bucket", err, sheaf.Unavailable)
		if err == nil || !strings.Contains(err.Error(), "--media-url") {
			t.Errorf("got %v, which does not say what is missing", err)
		}
		page, err := a.Media(t.Context(), owner, sheaf.MediumFilter{Paging: sheaf.Paging{Limit: 1}})
		if err != nil || page.Total != 0 {
			t.Errorf("of the refused upload is left: %+v, %v", page, err)
		}
		if err := a.Operator().SettleMedia(t.Context()); err != nil {
			t.Errorf("the sweep: %v", err)
		}
	})
}

// D104: if files cannot be written, the upload is refused, and neither a row nor its quota is left.
// Once they can be written again, it is accepted.
func TestMedia_WhereFilesCannotBeWritten(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		in, _ := ada(t, a)
		n, _ := signIn(t, a, in)
		owner := caller(t, a, n.Token)
		blocked := filepath.Join(t.TempDir(), "media") // a file in place of the folder
		if err := os.WriteFile(blocked, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		a.media = media.Folder(blocked)
		file := []byte("some bytes")
		upload := func() error {
			_, err := a.UploadMedium(t.Context(), owner, NewMedium{Bytes: int64(len(file)), SHA256: sha256.Sum256(file), Open: func() io.Reader { return bytes.NewReader(file) }})
			return err
		}
		err := upload()
		wantKind(t, "without a place", err, sheaf.Unavailable)
		if err == nil || !strings.Contains(err.Error(), "the storage of media") {
			t.Errorf("got %v, which a person does not understand", err)
		}
		begun, err := a.CreateUpload(t.Context(), owner, NewUpload{Length: 10})
		if err != nil {
			t.Fatal(err)
		}
		piece := func() (sheaf.Upload, error) {
			return a.AppendUpload(t.Context(), owner, begun.ID, 0, Piece{Reader: bytes.NewReader(file), Interrupt: func() {}})
		}
		_, err = piece()
		wantKind(t, "a piece without a place", err, sheaf.Unavailable)
		page, err := a.Media(t.Context(), owner, sheaf.MediumFilter{Paging: sheaf.Paging{Limit: 1}})
		if err != nil || page.Total != 0 {
			t.Errorf("of the refused upload is left: %+v, %v", page, err)
		}
		if err := os.Remove(blocked); err != nil {
			t.Fatal(err)
		}
		if err := upload(); err != nil {
			t.Errorf("with a place again: %v", err)
		}
		if u, err := piece(); err != nil || !u.Whole() {
			t.Errorf("a piece with a place again: %+v, %v", u, err)
		}
	})
}
