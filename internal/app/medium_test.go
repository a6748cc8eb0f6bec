package app

import (
	"bytes"
	"crypto/sha256"
	"io"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
)

// D104: nodes that share no place for files refuse them, and say what is missing.
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
