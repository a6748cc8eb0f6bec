package storetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/fill"
	"sheaf.dev/internal/store"
)

func (f *fixture) loadDocument(id sheaf.DocumentID) (sheaf.Document, error) {
	return try(f, func(r *store.Reader) (sheaf.Document, error) { return r.Document(f.ws.ID, id) })
}

func (f *fixture) wantDocument(what string, want sheaf.Document) {
	f.Helper()
	got := get(f, func(r *store.Reader) (sheaf.Document, error) { return r.AnyDocument(f.ws.ID, want.ID) })
	same(f, what, got, want)
}

func (f *fixture) documentWith(externalID string) (d sheaf.Document, found bool, err error) {
	f.read(func(r *store.Reader) error {
		d, found, err = r.DocumentWith(f.ws.ID, externalID)
		return err
	})
	return d, found, err
}

func (f *fixture) wantDocumentWith(externalID string, want sheaf.Document) {
	f.Helper()
	got, found, err := f.documentWith(externalID)
	if !found || err != nil {
		f.Errorf("%q finds nothing: %v", externalID, err)
	}
	same(f, externalID, got, want)
}

// change writes d over before.
func (f *fixture) change(before, d sheaf.Document, documents int64) {
	f.Helper()
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
		w.Documents += documents
		return tx.UpdateDocument(w.ID, before, d)
	}))
}

func (f *fixture) wantDocumentCount(id sheaf.ProjectID, want int64) {
	f.Helper()
	p, err := f.loadProject(id)
	f.must(err)
	if p.DocumentCount != want {
		f.Errorf("document_count is %d, want %d", p.DocumentCount, want)
	}
}

func documentRoundTrip(f *fixture) {
	one, two := f.project(nil), f.project(nil)
	d := f.document(func(d *sheaf.Document) {
		d.Description, d.ProjectID = ptr("About"), &one.ID
		d.ExternalID, d.URL, d.Metadata = ptr("wiki:1 ä"), ptr("https://example.com/1"), `{"a":"1"}`
	})
	f.wantDocument("created", d)
	f.wantDocumentWith("wiki:1 ä", d)
	f.wantDocumentCount(one.ID, 1)
	before := d
	d.Title, d.Description, d.ProjectID, d.Revision, d.UpdatedAt = "Renamed", nil, &two.ID, 2, f.now()
	f.change(before, d, 0)
	f.wantDocument("moved", d)
	f.wantDocumentCount(one.ID, 0)
	f.wantDocumentCount(two.ID, 1)
	before = d
	d.ProjectID, d.ExternalID, d.URL, d.Metadata = nil, ptr("wiki:2"), nil, `{"b":"2","c":"\u2028"}`
	f.change(before, d, 0)
	f.wantDocument("in no project", d)
	f.wantDocumentWith("wiki:2", d)
	if _, found, err := f.documentWith("wiki:1 ä"); found || err != nil {
		f.Errorf("the former external id finds it: %v", err)
	}
	before = d
	d.ExternalID, d.Metadata = nil, ""
	f.change(before, d, 0)
	f.wantDocument("without references", d)
	text := d
	text.ExternalID, text.URL, text.Metadata = ptr("wiki:3"), ptr("http://example.com/3"), `{}`
	f.wantDocument("with a text and references", f.rewrite(text, "Rewritten", "text"))
	f.wantDocumentCount(two.ID, 0)

	theirs, _ := f.newWorkspace("Theirs")
	_, err := try(f, func(r *store.Reader) (sheaf.Document, error) { return r.AnyDocument(theirs.ID, d.ID) })
	f.wantKind(err, sheaf.NotFound)
}

func documentDeleted(f *fixture) {
	p := f.project(nil)
	d := f.document(func(d *sheaf.Document) { d.ProjectID = &p.ID })
	gone := d
	gone.Deleted = ptr(f.now())
	f.change(d, gone, -1)
	_, err := f.loadDocument(d.ID)
	f.wantKind(err, sheaf.NotFound)
	f.wantDocument("deleted", gone)
	f.wantDocumentCount(p.ID, 0)
	for _, filter := range []sheaf.DocumentFilter{{}, {Project: sheaf.Some(p.ID)}, {Query: "letter"}} {
		filter.Limit = 10
		page := get(f, func(r *store.Reader) (sheaf.Page[sheaf.Document], error) { return r.Documents(f.ws.ID, filter) })
		if page.Total != 0 || len(page.Items) != 0 {
			f.Errorf("filter %+v: got %d of %d, want none", filter, len(page.Items), page.Total)
		}
	}
	f.change(gone, d, +1)
	f.wantDocument("restored", d)
	f.wantDocumentCount(p.ID, 1)
}

// documentDeletedTogether checks the trash: a document that went along with the one above it is left
// out by Apart, unless that one is not in the trash or belongs to another deletion.
func documentDeletedTogether(f *fixture) {
	trashed := func(parent *sheaf.Document, deletion int64) sheaf.Document {
		d := f.document(func(d *sheaf.Document) {
			if parent != nil {
				d.ParentID = &parent.ID
			}
		})
		gone := d
		gone.Deleted, gone.Deletion = ptr(f.now()), deletion
		f.change(d, gone, -1)
		return gone
	}
	live := f.document(nil)
	top := trashed(nil, -7)
	along := trashed(&top, 7)
	trashed(&along, 7)
	other := trashed(&along, -9)
	below := trashed(&live, 7)
	alone := trashed(&top, 0)
	f.read(func(r *store.Reader) error {
		page, err := r.Documents(f.ws.ID, sheaf.DocumentFilter{Deleted: true, Apart: true, Paging: sheaf.Paging{Limit: 10}})
		if err != nil {
			return err
		}
		var got []sheaf.DocumentID
		for _, d := range page.Items {
			got = append(got, d.ID)
		}
		same(f, "the lines of the trash", got, []sheaf.DocumentID{top.ID, other.ID, below.ID, alone.ID})
		same(f, "their number", page.Total, int64(4))
		n, err := r.CountDeletedTogether(f.ws.ID, 7)
		same(f, "what went along", n, int64(3))
		return err
	})
}

func documentConstraints(f *fixture) {
	d := f.document(nil)
	again := d
	again.Number = 1000
	insert := func(tx *store.Tx) error { return tx.InsertDocument(f.ws.ID, again, f.author()) }
	f.wantIs(f.store.Write(context.Background(), insert), store.ErrDuplicate)
	again.ID, again.Number = sheaf.DocumentID(f.id()), d.Number
	f.wantIs(f.store.Write(context.Background(), insert), store.ErrDuplicate)
	again.Number, again.ProjectID = 1000, ptr(sheaf.ProjectID(f.id()))
	f.wantIs(f.store.Write(context.Background(), insert), store.ErrReference)
	update := func(tx *store.Tx) error {
		dangling := d
		dangling.ProjectID = again.ProjectID
		return tx.UpdateDocument(f.ws.ID, d, dangling)
	}
	f.wantIs(f.store.Write(context.Background(), update), store.ErrReference)
	f.wantDocument("untouched", d)
}

func documentNewest(f *fixture) {
	p := f.project(nil)
	in := func(d *sheaf.Document) { d.ProjectID = &p.ID }
	one, two, three := f.document(in), f.document(in), f.document(in)
	f.document(nil)
	moved := one
	moved.UpdatedAt = three.UpdatedAt
	f.change(one, moved, 0)
	gone := two
	gone.Deleted = ptr(f.now())
	f.change(two, gone, -1)
	for most, want := range map[int][]sheaf.DocumentID{10: {three.ID, one.ID}, 1: {three.ID}} {
		got := get(f, func(r *store.Reader) ([]sheaf.Document, error) { return r.NewestDocuments(f.ws.ID, p.ID, most) })
		same(f, "newest change first, ties by creation", ids(got, func(d sheaf.Document) sheaf.DocumentID { return d.ID }), want)
	}
}

// documentsOfLargeProject lists a project that has most of the workspace's documents: the store then
// reads the order's index, and skips the documents of other projects.
func documentsOfLargeProject(f *fixture) {
	large, small := f.project(nil), f.project(nil)
	for range 2 {
		f.must(fill.Documents(f.store, f.ws.ID, small.ID, 40))
		f.must(fill.Documents(f.store, f.ws.ID, large.ID, 300))
	}
	all := get(f, func(r *store.Reader) ([]sheaf.Document, error) { return r.NewestDocuments(f.ws.ID, large.ID, 700) })
	same(f, "documents", len(all), 600)
	for sort, compare := range map[sheaf.DocumentSort]func(a, b sheaf.Document) int{
		sheaf.DocumentsByCreated: func(a, b sheaf.Document) int { return cmp.Compare(a.Number, b.Number) },
		sheaf.DocumentsByTitle: func(a, b sheaf.Document) int {
			return cmp.Or(cmp.Compare(a.Title, b.Title), cmp.Compare(a.Number, b.Number))
		},
	} {
		slices.SortFunc(all, compare)
		for _, p := range []sheaf.Paging{{Limit: 50}, {Limit: 50, Offset: 270}, {Limit: 50, Offset: 560}, {Limit: 50, Desc: true}} {
			filter := sheaf.DocumentFilter{Project: sheaf.Some(large.ID), Sort: sort, Paging: p}
			got := get(f, func(r *store.Reader) (sheaf.Page[sheaf.Document], error) { return r.Documents(f.ws.ID, filter) })
			want := slices.Clone(all)
			if p.Desc {
				slices.Reverse(want)
			}
			want = want[p.Offset:min(len(want), p.Offset+p.Limit)]
			id := func(d sheaf.Document) sheaf.DocumentID { return d.ID }
			same(f, fmt.Sprint(sort, p), ids(got.Items, id), ids(want, id))
			same(f, "total", got.Total, int64(600))
		}
	}
}

// unlink takes at most `most` documents out of a project, and returns their previous state.
func unlink(tx *store.Tx, ws sheaf.WorkspaceID, project sheaf.ProjectID, at time.Time, most int64) ([]sheaf.Document, error) {
	documents, err := tx.LinkedDocuments(ws, project, most)
	if err != nil || len(documents) == 0 {
		return nil, err
	}
	return documents, tx.UnlinkDocuments(ws, project, at, documents[len(documents)-1])
}

func documentUnlink(f *fixture) {
	p := f.project(nil)
	in := func(d *sheaf.Document) { d.ProjectID = &p.ID }
	d, gone, elsewhere := f.document(in), f.document(in), f.document(nil)
	deleted := gone
	deleted.Deleted = ptr(f.now())
	f.change(gone, deleted, -1)
	now := f.now()
	ahead := f.document(func(d *sheaf.Document) { d.ProjectID, d.UpdatedAt = &p.ID, now })
	for most, want := range []int64{0, 1, 2, 3, 3} {
		n := get(f, func(r *store.Reader) (int64, error) { return r.CountLinked(f.ws.ID, p.ID, int64(most)) })
		same(f, "counted as far as asked", n, want)
	}
	var before, rest []sheaf.Document
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) (err error) {
		if before, err = unlink(tx, w.ID, p.ID, now, 2); err != nil {
			return err
		}
		if rest, err = unlink(tx, w.ID, p.ID, now, 2); err != nil {
			return err
		}
		w.Projects--
		return tx.DeleteProject(w.ID, p)
	}))
	same(f, "two of them as they were", before, []sheaf.Document{d, deleted})
	same(f, "the rest", rest, []sheaf.Document{ahead})
	d.ProjectID, d.UpdatedAt, d.Revision = nil, now, 2
	ahead.ProjectID, ahead.UpdatedAt, ahead.Revision = nil, now, 2
	deleted.ProjectID = nil
	f.wantDocument("unlinked", d)
	f.wantDocument("unlinked, at the same time", ahead)
	f.wantDocument("deleted and unlinked without a trace", deleted)
	f.wantDocument("not in the project", elsewhere)
}

// trashWithinBounds: if documents have many versions, fewer of them are deleted in one transaction,
// each completely. The documents that were deleted first go first.
func trashWithinBounds(f *fixture) {
	var all []sheaf.Document
	for range 4 {
		before := f.writtenOften(150)
		d := before
		d.Deleted = ptr(f.now())
		f.change(before, d, -1)
		all = append(all, d)
	}
	remove := func(end store.TrashEnd, most int) (n int64) {
		f.write(func(tx *store.Tx) (err error) {
			w, err := tx.LockWorkspace(f.ws.ID)
			if err != nil {
				return err
			}
			n, err = tx.DeleteTrash(&w, end, most, func(sheaf.DocumentID) (bool, error) { return false, nil })
			if err == nil {
				err = tx.SaveWorkspace(w)
			}
			return err
		})
		return n
	}
	left := func() (n int) {
		for _, d := range all {
			if _, err := try(f, func(r *store.Reader) (sheaf.Document, error) { return r.AnyDocument(f.ws.ID, d.ID) }); err == nil {
				n++
			}
		}
		return n
	}
	var end store.TrashEnd
	f.read(func(r *store.Reader) error {
		_, found, err := r.TrashBeyond(f.ws.ID, 4)
		if found || err != nil {
			f.Errorf("of four, four are too many to keep: %v", err)
		}
		end, _, err = r.TrashBeyond(f.ws.ID, 1)
		return err
	})
	if n, rest := remove(end, 50), left(); n != 50 || rest != 2 {
		f.Errorf("dealt with %d, and %d documents are left, want 50 and 2", n, rest)
	}
	f.wantStorage(2 * 90)
	if n, rest := remove(end, 50), left(); n != 1 || rest != 1 {
		f.Errorf("dealt with %d, and %d documents are left, want 1 and 1", n, rest)
	}
	f.wantDocument("the last deleted", all[3])
	if n := remove(end, 50); n != 0 {
		f.Errorf("dealt with %d more", n)
	}
	if n := remove(store.TrashBefore(*all[3].Deleted), 50); n != 1 || left() != 0 {
		f.Errorf("dealt with %d, want the one that was deleted then", n)
	}
	f.wantStorage(0)
}

// trashInParts: a document whose versions have much text goes in parts, the oldest first, and its text
// with the last of them.
func trashInParts(f *fixture) {
	before, large := f.document(nil), strings.Repeat("x", sheaf.MaxContent-4)
	for i := range 80 {
		before = f.rewrite(before, before.Title, large+fmt.Sprintf("%4d", i))
	}
	d := before
	d.Deleted = ptr(f.now())
	f.change(before, d, -1)
	purge := func() (gone store.Purged) {
		f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) (err error) {
			gone, err = tx.PurgeDocument(w.ID, d.ID)
			w.Storage -= gone.Bytes
			return err
		}))
		return gone
	}
	for left := 80; ; {
		gone := purge()
		left -= int(gone.Bytes / sheaf.MaxContent)
		f.wantStorage(left * sheaf.MaxContent)
		if gone.Bytes > 40<<20 {
			f.Errorf("%d bytes went at once", gone.Bytes)
		}
		if gone.Whole {
			break
		}
		text := get(f, func(r *store.Reader) (sheaf.VersionText, error) { return r.Version(f.ws.ID, d.ID, d.Version) })
		if text.Content != large+"  79" {
			f.Error("its text went before the last part")
		}
	}
	f.wantStorage(0)
	_, err := try(f, func(r *store.Reader) (sheaf.Document, error) { return r.AnyDocument(f.ws.ID, d.ID) })
	f.wantKind(err, sheaf.NotFound)
}

// writtenOften creates a document with `times` past versions, which share 90 texts of one byte.
func (f *fixture) writtenOften(times int) sheaf.Document {
	d := f.document(nil)
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
		for i := range times {
			text, before := store.NewText(string(rune('!'+i%90))), d
			d.Version, d.Revision, d.Title = before.Version+1, before.Revision+1, before.Title+"."
			d.ContentBytes, d.ContentSHA256 = text.Bytes(), text.SHA256()
			grown, err := tx.AddVersion(w.ID, before, d, f.author(), text)
			if err != nil {
				return err
			}
			w.Storage += grown
		}
		return nil
	}))
	return d
}
