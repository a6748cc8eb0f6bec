package app

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/aymanbagabas/go-udiff"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Versions returns a page of a document's versions by number. The last of all is the present one.
// It returns NotFound for a document that does not exist or is deleted.
func (a *App) Versions(ctx context.Context, c Caller, id sheaf.DocumentID, p sheaf.Paging) (sheaf.Page[sheaf.Version], error) {
	return read(ctx, a, c, scope(sheaf.DocumentsRead), func(r *store.Reader) (sheaf.Page[sheaf.Version], error) {
		return r.Versions(c.Workspace, id, p)
	})
}

// Version returns one version of a document with its text, or NotFound.
func (a *App) Version(ctx context.Context, c Caller, id sheaf.DocumentID, number int64) (sheaf.VersionText, error) {
	return read(ctx, a, c, scope(sheaf.DocumentsRead), func(r *store.Reader) (sheaf.VersionText, error) {
		if _, err := r.Document(c.Workspace, id); err != nil {
			return sheaf.VersionText{}, err
		}
		return r.Version(c.Workspace, id, number)
	})
}

// maxDiffLines bounds the length of texts that are compared.
const maxDiffLines = 20_000

// DiffVersions returns a unified diff of a document's text between the version `from` and the
// version `to`; nil means the present one. If the texts are the same, it is empty. A text of more
// than 20,000 lines is Invalid, and a version that is not kept is NotFound.
//
// Its cost is bounded: after a hundred differences the search for common lines ends, and the rest
// is shown as one replacement.
func (a *App) DiffVersions(ctx context.Context, c Caller, id sheaf.DocumentID, from int64, to *int64) (string, error) {
	pair, err := read(ctx, a, c, scope(sheaf.DocumentsRead), func(r *store.Reader) (pair [2]sheaf.VersionText, err error) {
		d, err := r.Document(c.Workspace, id)
		if err != nil {
			return pair, err
		}
		other := d.Version
		if to != nil {
			other = *to
		}
		if pair[0], err = r.Version(c.Workspace, id, from); err != nil {
			return pair, err
		}
		pair[1], err = r.Version(c.Workspace, id, other)
		return pair, err
	})
	if err != nil {
		return "", err
	}
	for i := range pair {
		if err := checkLines(fmt.Sprintf("version %d", pair[i].Number), pair[i].Content); err != nil {
			return "", err
		}
	}
	return udiff.Unified(diffLabel(&pair[0]), diffLabel(&pair[1]), pair[0].Content, pair[1].Content), nil
}

func checkLines(name, text string) error {
	if n := strings.Count(text, "\n"); n > maxDiffLines {
		return sheaf.Invalidf("%s has %d lines, and at most %d are compared: read both versions and compare them yourself", name, n, maxDiffLines)
	}
	return nil
}

// DiffTexts returns a unified diff of two texts that need not be stored, such as a draft. Its
// errors are those of DiffVersions.
func DiffTexts(from, to string) (string, error) {
	if err := firstError(checkLines("the saved text", from), checkLines("your text", to)); err != nil {
		return "", err
	}
	return udiff.Unified("saved", "yours", from, to), nil
}

// diffLabel returns the name of a version for the head of a diff. It is one line, whatever the
// title contains.
func diffLabel(v *sheaf.VersionText) string {
	title := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, v.Title)
	return fmt.Sprintf("version %d: %s", v.Number, title)
}

// RestoreVersion gives the document the title and text of an earlier version, as a new version. If
// it has them already, nothing happens.
func (a *App) RestoreVersion(ctx context.Context, c Caller, id sheaf.DocumentID, number int64, match sheaf.Match) (sheaf.Document, error) {
	return write(ctx, a, c, scope(sheaf.DocumentsWrite), nil, func(w *work) (sheaf.Document, error) {
		before, err := w.Document(w.ws.ID, id)
		if err != nil {
			return before, err
		}
		v, err := w.VersionOf(w.ws.ID, id, number)
		if err := firstMissing(err, match.Check(before.Revision)); err != nil {
			return before, err
		}
		d := before
		d.Title, d.ContentBytes, d.ContentSHA256 = v.Title, v.ContentBytes, v.ContentSHA256
		if w.restricted() {
			earlier, err := w.Version(w.ws.ID, id, number)
			if err == nil {
				err = w.mayName(&before, sheaf.Some(earlier.Content))
			}
			if err != nil {
				return before, err
			}
		}
		if err := w.mayShow(&before, d, sheaf.Opt[string]{}); err != nil {
			return before, err
		}
		by := w.author()
		by.Restored = &number
		return w.changeDocumentBy(by, before, d, store.Text{})
	})
}
