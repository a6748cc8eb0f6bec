package publish

import (
	"bytes"
	"encoding/xml"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// sitemapPages is the largest number of addresses in a sitemap that crawlers take.
const sitemapPages = 50_000

// sitemap answers with the addresses of the pages of the share, and when each was changed last: a project
// or a folder when something in it was. It has no title or text, so it reveals only which pages there are.
//
// Read strictly, sitemaps.org lets a sitemap list only addresses below its own folder, and the first
// page is not below it. A strict crawler finds the first page by the links of all others.
func (v *visit) sitemap() error {
	body, err := v.list(sitemapPages, false, v.writeSitemap)
	if err != nil {
		return err
	}
	return v.keep(body, "application/xml; charset=utf-8", pageBrand{})
}

func (v *visit) writeSitemap(b *bytes.Buffer, all app.SharedPages) {
	b.Grow(len(all.Pages) * (100 + len(v.share.URL)))
	b.WriteString(xml.Header + `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n")
	for i := range all.Pages {
		p := &all.Pages[i]
		b.WriteString("<url><loc>")
		_ = xml.EscapeText(b, []byte(v.absolute(v.pageOf(p)))) // a buffer takes everything
		b.WriteString("</loc><lastmod>" + p.UpdatedAt.UTC().Format(sheaf.TimeFormat) + "</lastmod></url>\n")
	}
	b.WriteString("</urlset>\n")
}
