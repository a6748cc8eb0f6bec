package doctor_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"sheaf.dev/internal/media"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/store/doctor"
)

// D104: the doctor finds a medium whose bytes are not there, or others than it says, and none that has its own.
func TestExamine_EveryMediumHasItsBytes(t *testing.T) {
	t.Parallel()
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		w := a.Workspace(sheaf.Business)
		ids := make([]string, 120) // more than are read at a time
		for i := range ids {
			ids[i] = w.Client("").POST(fmt.Sprintf("/api/v1/media?filename=%d.txt", i), fmt.Appendf(nil, "file %d", i), "Content-Type: text/plain").Want(t, 201).Text(t, "id")
		}
		found := func(files media.Store) (out []string) {
			err := doctor.Examine(context.Background(), a.Store, doctor.Examination{Now: a.Clock.Now(), Media: files}, func(f doctor.Finding) {
				if f.Check == "medium bytes" {
					out = append(out, f.Text)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		if got := found(a.Media); len(got) > 0 {
			t.Errorf("all have their bytes, and found are %q", got)
		}
		key := media.Key{Workspace: string(w.ID), SHA256: sha256.Sum256([]byte("file 110"))}
		if err := a.Media.Remove(context.Background(), key); err != nil {
			t.Fatal(err)
		}
		if got := found(a.Media); len(got) != 1 || !strings.Contains(got[0], ids[110]) || !strings.Contains(got[0], "has no bytes") {
			t.Errorf("one has none, and found are %q", got)
		}
		w.Client("").DELETE("/api/v1/media/"+ids[110]).Want(t, 204)
		if got := found(longer{a.Media}); len(got) != len(ids)-1 || !strings.Contains(got[0], "and its file") {
			t.Errorf("all are too long, and found are %d", len(got))
		}
	})
}

// longer has a byte more of every file than there is.
type longer struct{ media.Store }

func (l longer) Open(ctx context.Context, key media.Key) (media.Content, error) {
	c, err := l.Store.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	return longerContent{c}, nil
}

type longerContent struct{ media.Content }

func (c longerContent) Size() int64 { return c.Content.Size() + 1 }
