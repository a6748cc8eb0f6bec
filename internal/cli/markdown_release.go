package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"sheaf.dev/client"
	"sheaf.dev/internal/markdown"
	"sheaf.dev/internal/sheaf"
)

// releaseFiller reads the documents of the release. Their paths depend on fields that the tree does not
// have, so it reads each document once, and keeps the texts in a temporary file.
func (c *exportMarkdown) releaseFiller(ctx context.Context, api *client.Client) (*filler, error) {
	r, err := api.Releases.Get(ctx, c.Release)
	if err != nil {
		return nil, err
	}
	if c.Project != "" && c.Project != r.ProjectID {
		return nil, sheaf.Invalidf("release %s is of another project: leave out --project, or name a release of that project", r.ID)
	}
	tree, err := api.Releases.Tree(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	texts, err := newTextFile()
	if err != nil {
		return nil, err
	}
	f, err := c.readRelease(ctx, api, r, tree, texts)
	if err != nil {
		return nil, errors.Join(err, texts.Close())
	}
	return f, nil
}

func (c *exportMarkdown) readRelease(ctx context.Context, api *client.Client, r client.Release, tree client.DocumentTree, texts *textFile) (*filler, error) {
	pages, media := map[string]markdown.Page{}, map[string]markdown.Medium{}
	var all []client.Document
	for _, e := range tree.Data {
		d, err := api.Releases.Document(ctx, r.ID, e.ID)
		if errors.Is(err, client.ErrNotFound) { // deleted from all releases meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		if !c.chosen(markdownDocument(d)) {
			continue
		}
		text := or(d.Content, "")
		if err := texts.add(d.ID, text); err != nil {
			return nil, err
		}
		for _, id := range markdown.MediaIn(text) {
			if _, known := media[id]; known {
				continue
			}
			m, err := api.Releases.Medium(ctx, r.ID, id)
			if errors.Is(err, client.ErrNotFound) { // there was no such medium
				continue
			}
			if err != nil {
				return nil, err
			}
			media[id] = markdown.Medium{ID: id, Filename: m.Filename, SHA256: m.SHA256}
		}
		d.Content = nil
		all = append(all, d)
	}
	if len(all) == 0 {
		return nil, errNothingToExport
	}
	slices.SortStableFunc(all, func(a, b client.Document) int { return a.CreatedAt.Compare(b.CreatedAt) })
	documents := make([]markdown.Document, len(all))
	for i, d := range all {
		documents[i] = markdownDocument(d)
		pages[d.ID] = documents[i].Page
	}
	var used []markdown.Medium
	for _, id := range slices.Sorted(maps.Keys(media)) {
		used = append(used, media[id])
	}
	places := markdown.LayoutProject(documents)
	return &filler{export: markdown.NewExport(places, markdown.MediaPaths(places.Paths, documents, used)), done: map[string]bool{},
		page: func(_ context.Context, id string) (page markdown.Document, err error) {
			page.Page = pages[id]
			page.Content, err = texts.text(id)
			return page, err
		},
		medium: func(ctx context.Context, id string, to io.Writer) error {
			return api.Releases.DownloadMedium(ctx, r.ID, id, to)
		},
		close: texts.Close}, nil
}

// textFile keeps texts in a temporary file without a name.
type textFile struct {
	*os.File
	end   int64
	spans map[string][2]int64 // the offset and the length of each text
}

func newTextFile() (*textFile, error) {
	f, err := os.CreateTemp("", "sheaf-export-*") // mode 0600
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &textFile{File: f, spans: map[string][2]int64{}}, nil
}

func (t *textFile) add(id, text string) error {
	n, err := t.WriteString(text)
	if err != nil {
		return fmt.Errorf("keep the texts of the release: %w", err)
	}
	t.spans[id] = [2]int64{t.end, int64(n)}
	t.end += int64(n)
	return nil
}

func (t *textFile) text(id string) (string, error) {
	b := make([]byte, t.spans[id][1])
	if _, err := t.ReadAt(b, t.spans[id][0]); err != nil {
		return "", fmt.Errorf("read the texts of the release: %w", err)
	}
	return string(b), nil
}
