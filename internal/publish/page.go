package publish

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"sheaf.dev/internal/render"
	"sheaf.dev/internal/sheaf"
)

const (
	htmlType     = "text/html; charset=utf-8"
	markdownType = "text/markdown; charset=utf-8"
)

//go:embed pages
var pageFiles embed.FS

//go:embed static/publish.css
var pageStyle []byte

// layout is the data around every page.
type layout struct {
	Title       string
	Description string
	URL         string     // address of the page for link previews; empty: it must not be passed on
	Listed      bool       // search engines may list it
	Style       string     // address of the style sheet
	Bare        bool       // without header and footer
	Home        string     // address of the share, if the page is below it
	Project     string     // name of the shared project; empty: a document is shared
	Query       string     // words of a search
	Releases    *releases  // nil: the page shows no release, and readers cannot switch to one
	Tree        []*navItem // pages of the project, if the page shows them
	Icon        string     // address of the icon; empty: there is none
	Picture     picture    // of link previews
	For         alternates // for programs
	Brand       pageBrand
	Data        any // data of the page
}

// readPages parses the templates. A broken one ends the program at its start.
func readPages() *template.Template {
	return template.Must(template.New("").Option("missingkey=error").Funcs(template.FuncMap{"day": day}).ParseFS(pageFiles, "pages/*.html"))
}

// day shows a day to people, in UTC.
func day(t time.Time) template.HTML {
	t = t.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time>`, t.Format(sheaf.TimeFormat), t.Format("2 January 2006"))) // #nosec G203 -- nothing in it is anybody's text
}

// page renders the template with that name.
func (v *visit) page(name string, l layout, data any) ([]byte, error) {
	if !l.Bare {
		var err error
		if l.Releases, err = v.releases(); err != nil {
			return nil, err
		}
	}
	return v.publisher.write(name, l, data)
}

// write renders the template with that name. It needs no visit.
func (p *Publisher) write(name string, l layout, data any) ([]byte, error) {
	l.Style, l.Data = p.base+p.styles.address, data
	var b bytes.Buffer
	for _, part := range []string{"begin", name, "end"} {
		if err := p.pages.ExecuteTemplate(&b, part, l); err != nil {
			return nil, fmt.Errorf("make the page %s of a share: %w", name, err)
		}
	}
	return b.Bytes(), nil
}

// home returns the address of the share or, if the reader has switched to a release, of that.
func (v *visit) home() string { return v.shareHome() + v.releasePath() }

// shareHome returns the address of the share.
func (v *visit) shareHome() string { return v.publisher.base + sheaf.SharePath + v.share.Token }

// releasePath returns the part of an address below the share that names the release to which the reader
// has switched.
func (v *visit) releasePath() string {
	if v.switched == "" {
		return ""
	}
	return "/releases/" + string(v.switched)
}

// styles is the style sheet of the pages and of rendered texts, in one file. Its address changes
// with its content, so browsers keep it for good.
type styles struct {
	content       []byte
	name, address string
}

func readStyles() styles {
	content := append(bytes.Clone(pageStyle), render.CSS...)
	sum := sha256.Sum256(content)
	name := hex.EncodeToString(sum[:8]) + ".css"
	return styles{content: content, name: name, address: "/share-assets/" + name}
}

// style answers with a file of pages: the style sheet, or an icon.
func (v *visit) style() error {
	s := &v.publisher.styles
	if name := v.r.PathValue("file"); strings.HasPrefix(name, "icon-") {
		return v.icon(name)
	}
	if v.r.PathValue("file") != s.name {
		return errNothing
	}
	v.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	v.Header().Set("Content-Type", "text/css; charset=utf-8")
	http.ServeContent(v, v.r, s.name, time.Time{}, bytes.NewReader(s.content))
	return nil
}
