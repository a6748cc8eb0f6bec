package render

import "html"

// plainPage returns a page that shows a text as it was written.
func plainPage(text string) *Page {
	return &Page{html: []byte(`<pre class="plain" tabindex="0">` + html.EscapeString(text) + "</pre>\n"), plain: true}
}
