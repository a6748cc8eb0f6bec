package console

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"io"
	"net/http"
	"strings"
	"testing"

	"sheaf.dev/internal/icon"
)

func takesGzip(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip, br") }

// unpacked returns the content of a compressed answer.
func unpacked(t *testing.T, b []byte) string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Pages and files are compressed for browsers that accept it, with the same content.
func TestCompression_KeepsTheContent(t *testing.T) {
	w := newTown(t)
	for _, path := range []string{"/w/{workspace}/settings", "/assets/console.js", "/assets/" + iconFile} {
		plain := w.ask(http.MethodGet, w.address(path), w.owner)
		compressed := w.ask(http.MethodGet, w.address(path), w.owner, takesGzip)
		if h := compressed.Header(); h.Get("Content-Encoding") != "gzip" || !strings.Contains(strings.Join(h.Values("Vary"), ", "), "Accept-Encoding") {
			t.Errorf("%s: %v", path, h)
		}
		if plain.Header().Get("Content-Encoding") != "" || compressed.Body.Len() > plain.Body.Len()/2 {
			t.Errorf("%s: %d of %d bytes", path, compressed.Body.Len(), plain.Body.Len())
		}
		if strings.HasPrefix(path, "/assets/") && unpacked(t, compressed.Body.Bytes()) != plain.Body.String() {
			t.Errorf("%s says something else", path)
		}
		if tag := compressed.Header().Get("ETag"); tag != "" && tag == plain.Header().Get("ETag") {
			t.Errorf("%s: other bytes have the same tag", path)
		}
	}
}

// Pages are not compressed if another site made the browser request them, nor if they answer a
// form, which may show a secret: their length would reveal their content.
func TestCompression_NotForOthersAndNotForSecrets(t *testing.T) {
	w := newTown(t)
	for _, site := range []string{"cross-site", "same-site"} {
		got := w.ask(http.MethodGet, w.address("/w/{workspace}/search?q=x"), w.owner, takesGzip, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", site) })
		if got.Code != http.StatusOK || got.Header().Get("Content-Encoding") != "" {
			t.Errorf("%s: %d %v", site, got.Code, got.Header())
		}
	}
	for _, site := range []string{"same-origin", "none"} {
		got := w.ask(http.MethodGet, w.address("/w/{workspace}/search?q=x"), w.owner, takesGzip, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", site) })
		if got.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: %d %v", site, got.Code, got.Header())
		}
	}
	made := w.ask(http.MethodPost, w.address("/w/{workspace}/keys"), w.owner, takesGzip)
	if made.Code != http.StatusOK || made.Header().Get("Content-Encoding") != "" || !strings.Contains(made.Body.String(), "shf_") {
		t.Errorf("a new key: %d %v", made.Code, made.Header())
	}
}

// Every icon is drawn once, in one file, and pages refer to it.
func TestIcons_AreDrawnOnce(t *testing.T) {
	sheet := string(iconSheet())
	if err := xml.Unmarshal([]byte(sheet), new(struct{})); err != nil {
		t.Fatal(err)
	}
	for _, one := range icon.All() {
		if strings.Count(sheet, `<symbol id="`+one.ID+`" viewBox="0 0 24 24"`) != 1 {
			t.Errorf("the icon %s is not in it once", one.ID)
		}
	}
	for id := range ownIcons {
		if strings.Count(sheet, `<symbol id="`+id+`" viewBox="0 0 24 24"`) != 1 {
			t.Errorf("the console's icon %s is not in it once", id)
		}
	}
	if n := strings.Count(sheet, "<svg"); n != 1 {
		t.Errorf("it has %d drawings that nobody can refer to", n-1)
	}
	w := newTown(t)
	page := w.get("projects/new")
	w.wantIn(page, true, `/assets/icons.svg?v=`+w.c.files.hash[iconFile]+`#rocket"/></svg>`)
	w.wantIn(page, false, "<path d=\"M20 20a2 2")
}
