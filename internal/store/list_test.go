package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/pgtest"
)

// A page of all projects is the same in whatever folders they are and whatever its offset, although
// it is read from several indexes.
func TestProjects_AreMergedFromTheirParts(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"SQLite": {Folder: t.TempDir()}, "PostgreSQL": {DatabaseURL: pgtest.URL(t)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openTest(t, o)
			all := fillParts(t, s)
			for _, sort := range listSorts {
				slices.SortFunc(all, byOrder(sort))
				for offset := 0; offset < len(all); offset += 33 {
					for _, desc := range []bool{false, true} {
						f := sheaf.ProjectFilter{Sort: sort, Paging: sheaf.Paging{Limit: 40, Offset: offset, Desc: desc}}
						var got sheaf.Page[sheaf.Project]
						err := s.Read(context.Background(), func(r *Reader) (err error) {
							got, err = r.Projects(theWorkspace, f)
							return err
						})
						if err != nil {
							t.Fatal(err)
						}
						want := slices.Clone(all)
						if desc {
							slices.Reverse(want)
						}
						want = want[offset:min(offset+40, len(want))]
						if !slices.EqualFunc(got.Items, want, func(a sheaf.Project, b *sheaf.Project) bool { return a.ID == b.ID }) {
							t.Errorf("by %s behind %d, desc %t: %d projects, begin with %d, want %d, beginning with %d",
								sort, offset, desc, len(got.Items), got.Items[0].Number, len(want), want[0].Number)
						}
					}
				}
			}
		})
	}
}

// fillParts creates projects in every part of the lists, in an order that matches none of the sort
// orders.
func fillParts(t *testing.T, s *Store) (all []*sheaf.Project) {
	t.Helper()
	w := testWorkspace(theWorkspace)
	w.Projects = 4 * farSkip
	put(t, s, w)
	folder, now := sheaf.FolderID("0198c0de-0000-7000-8000-00000000000f"), time.UnixMilli(1_790_000_000_000)
	for i := range 4 * farSkip {
		p := &sheaf.Project{ID: sheaf.ProjectID(sheaf.NewUUID(now, rand.Reader)), Name: fmt.Sprint(i * 7 % 11), Number: int64(i + 1),
			UpdatedAt: now.Add(time.Duration(i*5%17) * time.Second)}
		if i%3 == 0 {
			p.FolderID = &folder
		}
		if i%5 < 2 {
			p.SortOrder = int32(i%7 - 3)
		}
		all = append(all, p)
	}
	err := s.Write(context.Background(), func(tx *Tx) error {
		if err := tx.SaveWorkspace(w); err != nil {
			return err
		}
		if err := tx.InsertFolder(theWorkspace, sheaf.Folder{ID: folder, EntityType: sheaf.ProjectFolder, Depth: 1, Number: 10_000}); err != nil {
			return err
		}
		return tx.InsertProjects(theWorkspace, all)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func byOrder(s sheaf.ProjectSort) func(a, b *sheaf.Project) int {
	return func(a, b *sheaf.Project) int {
		first := 0
		switch s {
		case sheaf.ByName:
			first = cmp.Compare(Fold(a.Name), Fold(b.Name))
		case sheaf.ByUpdated:
			first = a.UpdatedAt.Compare(b.UpdatedAt)
		case sheaf.ByOrder:
			first = cmp.Compare(a.SortOrder, b.SortOrder)
		}
		return cmp.Or(first, cmp.Compare(a.Number, b.Number))
	}
}
