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
			err := doctor.Examine(context.Background(), a.Store, doctor.Examination{Now: a.Clock.Now(), Media: doctor.MediaFiles{Store: files, Verify: func(ctx context.Context, key media.Key) error { return media.Verify(ctx, files, key) }}}, func(f doctor.Finding) {
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

// D104: the doctor reads the bytes, if it is asked to, and finds a medium whose bytes are damaged.
func TestExamine_DamagedMedium(t *testing.T) {
	t.Parallel()
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		w := a.Workspace(sheaf.Business)
		id := w.Client("").POST("/api/v1/media?filename=a.txt", []byte("some words"), "Content-Type: text/plain").Want(t, 201).Text(t, "id")
		files := flipped{a.Media}
		for _, reads := range []bool{false, true} {
			x := doctor.Examination{Now: a.Clock.Now(), Media: doctor.MediaFiles{Store: files}}
			if reads {
				x.Media.Verify = func(ctx context.Context, key media.Key) error { return media.Verify(ctx, files, key) }
			}
			var found []string
			if err := doctor.Examine(t.Context(), a.Store, x, func(f doctor.Finding) { found = append(found, f.Text) }); err != nil {
				t.Fatal(err)
			}
			if got := len(found) == 1 && strings.Contains(found[0], id) && strings.Contains(found[0], "damaged"); got != reads {
				t.Errorf("reading %v: found %q", reads, found)
			}
		}
	})
}

// flipped has another first bit of every file than was stored.
type flipped struct{ media.Store }

func (f flipped) Open(ctx context.Context, key media.Key) (media.Content, error) {
	c, err := f.Store.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	return &flippedContent{Content: c}, nil
}

type flippedContent struct {
	media.Content
	read bool
}

func (c *flippedContent) Read(b []byte) (int, error) {
	n, err := c.Content.Read(b)
	if n > 0 && !c.read {
		b[0] ^= 1
		c.read = true
	}
	return n, err
}

// longer returns one byte more of each file than the file has.
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
