package storetest

import (
	"fmt"
	"strings"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// rewrite gives the document a text and a title, and returns it as it is then.
func (f *fixture) rewrite(before sheaf.Document, title, content string) sheaf.Document {
	f.Helper()
	text := store.NewText(content)
	d := before
	d.Version, d.Revision, d.Title, d.UpdatedAt = before.Version+1, before.Revision+1, title, f.now()
	d.ContentBytes, d.ContentSHA256 = text.Bytes(), text.SHA256()
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
		grown, err := tx.AddVersion(w.ID, before, d, f.author(), text)
		w.Storage += grown
		return err
	}))
	return d
}

// wantKept fails unless the workspace counts that many bytes of reported events and kept answers.
func (f *fixture) wantKept(want int) {
	f.Helper()
	if w := get(f, func(r *store.Reader) (sheaf.Workspace, error) { return r.Workspace(f.ws.ID) }); w.Kept != int64(want) {
		f.Errorf("the workspace keeps %d bytes of reported events and answers, want %d", w.Kept, want)
	}
}

func (f *fixture) wantStorage(want int) {
	f.Helper()
	w := get(f, func(r *store.Reader) (sheaf.Workspace, error) { return r.Workspace(f.ws.ID) })
	if w.Storage != int64(want) {
		f.Errorf("the workspace stores %d bytes, want %d", w.Storage, want)
	}
}

func (f *fixture) wantText(d sheaf.Document, want string) {
	f.Helper()
	got := get(f, func(r *store.Reader) (sheaf.DocumentText, error) { return r.DocumentText(f.ws.ID, d.ID) })
	same(f, "the document", got.Document, d)
	if got.Content != want {
		f.Errorf("the text has %d bytes, want %d", len(got.Content), len(want))
	}
}

// longTexts are texts that are hard to keep.
var longTexts = []string{"a", "\r\n\t“odd” \\ \U0001F600", strings.Repeat("# Title\n\nSome words.\n", 500),
	strings.Repeat("\x01", 300), strings.Repeat("é", sheaf.MaxContent/2)}

func textRoundTrip(f *fixture) {
	d := f.document(nil)
	f.wantText(d, "")
	stored := 0
	for _, text := range longTexts {
		d = f.rewrite(d, d.Title, text)
		f.wantText(d, text)
		f.wantDocument("without its text", d)
		stored += len(text)
		f.wantStorage(stored)
	}
	d = f.rewrite(d, d.Title, "")
	f.wantText(d, "")
	f.wantStorage(stored)
	_, err := try(f, func(r *store.Reader) (sheaf.DocumentText, error) {
		return r.DocumentText(f.ws.ID, sheaf.DocumentID(f.id()))
	})
	f.wantKind(err, sheaf.NotFound)
	theirs, _ := f.newWorkspace("Theirs")
	_, err = try(f, func(r *store.Reader) (sheaf.DocumentText, error) { return r.DocumentText(theirs.ID, d.ID) })
	f.wantKind(err, sheaf.NotFound)
	_, err = try(f, func(r *store.Reader) (sheaf.VersionText, error) { return r.Version(theirs.ID, d.ID, 2) })
	f.wantKind(err, sheaf.NotFound)
}

// Equal texts of one document are stored once, those of two documents twice.
func textOnce(f *fixture) {
	d, other := f.document(nil), f.document(nil)
	text := strings.Repeat("again ", 100)
	d = f.rewrite(d, "One", text)
	f.wantStorage(len(text))
	d = f.rewrite(d, "Two", text)
	d = f.rewrite(d, "Two", "between")
	d = f.rewrite(d, "Three", text)
	f.wantStorage(len(text) + len("between"))
	f.wantText(d, text)
	f.rewrite(other, "One", text)
	f.wantStorage(2*len(text) + len("between"))
}

func versionPages(f *fixture) {
	d := f.document(func(d *sheaf.Document) { d.Title = "version 1" })
	for i := 2; i <= 7; i++ {
		d = f.rewrite(d, fmt.Sprint("version ", i), fmt.Sprint("text ", i))
	}
	for _, page := range []struct {
		limit, offset int
		desc          bool
		want          []int64
	}{
		{3, 0, true, []int64{7, 6, 5}}, {1, 0, true, []int64{7}}, {3, 3, true, []int64{4, 3, 2}}, {3, 6, true, []int64{1}},
		{100, 0, true, []int64{7, 6, 5, 4, 3, 2, 1}}, {3, 7, true, nil}, {3, 1000, true, nil},
		{3, 0, false, []int64{1, 2, 3}}, {3, 5, false, []int64{6, 7}}, {100, 0, false, []int64{1, 2, 3, 4, 5, 6, 7}}, {3, 7, false, nil},
	} {
		got := get(f, func(r *store.Reader) (sheaf.Page[sheaf.Version], error) {
			return r.Versions(f.ws.ID, d.ID, sheaf.Paging{Limit: page.limit, Offset: page.offset, Desc: page.desc})
		})
		if got.Total != 7 {
			f.Errorf("total %d", got.Total)
		}
		var numbers []int64
		for _, v := range got.Items {
			numbers = append(numbers, v.Number)
			if v.Title != fmt.Sprint("version ", v.Number) || v.UserID == nil || *v.UserID != f.user.ID || v.KeyID != nil {
				f.Errorf("version %d is %+v", v.Number, v)
			}
		}
		same(f, fmt.Sprintf("limit %d, offset %d, desc %t", page.limit, page.offset, page.desc), numbers, page.want)
	}
	for n := int64(1); n <= 7; n++ {
		v := get(f, func(r *store.Reader) (sheaf.VersionText, error) { return r.Version(f.ws.ID, d.ID, n) })
		want := fmt.Sprint("text ", n)
		if n == 1 {
			want = ""
		}
		if v.Content != want || v.Number != n {
			f.Errorf("version %d has the number %d and the text %q", n, v.Number, v.Content)
		}
	}
	for _, n := range []int64{0, 8} {
		_, err := try(f, func(r *store.Reader) (sheaf.VersionText, error) { return r.Version(f.ws.ID, d.ID, n) })
		f.wantKind(err, sheaf.NotFound)
	}
}

// What is removed are the oldest, and a text goes with the last version that has it.
func versionDropped(f *fixture) {
	d := f.document(nil)
	for _, text := range []string{"a", "bb", "a", "ccc", "bb", "dddd"} { // versions 2 to 7
		d = f.rewrite(d, "x", text)
	}
	f.wantStorage(1 + 2 + 3 + 4)
	drop := func(upTo int64, versions, freed int64) {
		f.Helper()
		f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
			n, bytes, err := tx.DropVersions(w.ID, d.ID, upTo)
			if n != versions || bytes != freed {
				f.Errorf("up to %d: %d versions and %d bytes went, want %d and %d", upTo, n, bytes, versions, freed)
			}
			w.Storage -= bytes
			return err
		}))
	}
	drop(3, 3, 0) // a and bb are in later versions
	drop(4, 1, 1)
	drop(6, 2, 5)
	drop(7, 0, 0) // the present one stays
	f.wantStorage(4)
	f.wantText(d, "dddd")
	page := get(f, func(r *store.Reader) (sheaf.Page[sheaf.Version], error) {
		return r.Versions(f.ws.ID, d.ID, sheaf.Paging{Limit: 10})
	})
	if page.Total != 1 || len(page.Items) != 1 || page.Items[0].Number != 7 {
		f.Errorf("left are %+v", page)
	}
}
