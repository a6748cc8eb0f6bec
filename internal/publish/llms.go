package publish

import (
	"bytes"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

const (
	// llmsPages is the largest number of pages in llms.txt: the first page, and the documents of the largest
	// project that has a tree. llmsBytes is the size after which the list ends.
	llmsPages = sheaf.MaxTree + 1
	llmsBytes = 4 << 20
	// listCost is about the processor time to list 10,000 pages, in nanoseconds.
	listCost = 100_000_000

	textType = "text/plain; charset=utf-8"
)

// list calls write with the first `most` pages of a listed share, and returns what it wrote. A list
// waits for a turn, as the rendering of a text does, so few lists are in memory at once.
func (v *visit) list(most int, described bool, write func(b *bytes.Buffer, all app.SharedPages)) ([]byte, error) {
	if !v.listed() {
		return nil, errNothing
	}
	done, err := v.publisher.Render.Turn(v.AwaitTurn, listCost)
	if err != nil {
		return nil, crowded(err)
	}
	defer done()
	all, err := v.publisher.App.SharedPages(v.r.Context(), v.share, most, described)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	write(&b, all)
	return b.Bytes(), nil
}

// pageOf returns the address of a page in a list.
func (v *visit) pageOf(p *app.SharedPage) string {
	if p.ID == v.share.ResourceID {
		return v.home()
	}
	return v.below(p.ID)
}

// llms answers with llms.txt: the title of the share, its description, and links to the twins of its pages
// in reading order. A folder has a section for each project.
func (v *visit) llms() error {
	body, err := v.list(llmsPages, true, v.writeLLMs)
	if err != nil {
		return err
	}
	return v.keep(body, textType, pageBrand{})
}

func (v *visit) writeLLMs(b *bytes.Buffer, all app.SharedPages) {
	first, pages := &all.Pages[0], all.Pages[1:]
	heading(b, "#", first.Title)
	begin(b, "", &first.Description)
	top := 1 // level of the outermost pages in a list
	switch {
	case first.Kind == sheaf.ShareOfDocument:
		pages, top = all.Pages, 0
		heading(b, "##", "Pages")
	case first.Kind == sheaf.ShareOfProject && len(pages) > 0:
		heading(b, "##", "Pages")
	}
	var folders []string // names of the folders above the next page
	for i := range pages {
		p := &pages[i]
		if b.Len() > llmsBytes {
			all.More = true
			break
		}
		if p.Kind != sheaf.ShareOfDocument {
			folders = append(folders[:min(p.Level-1, len(folders))], p.Title)
		}
		switch p.Kind {
		case sheaf.ShareOfFolder:
			continue
		case sheaf.ShareOfProject:
			separate(b)
			heading(b, "##", strings.Join(folders, " / "))
			top = p.Level
		}
		v.item(b, p.Level-top, p.Title, v.pageOf(p), p.Description)
	}
	if all.More {
		separate(b)
		heading(b, "##", "Optional")
		b.WriteString("- [Sitemap](" + v.share.URL + "/sitemap.xml): more pages than this list has\n")
	}
}

// separate ends a list.
func separate(b *bytes.Buffer) {
	if !bytes.HasSuffix(b.Bytes(), []byte("\n\n")) {
		b.WriteByte('\n')
	}
}
