package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"sheaf.dev/internal/store"
)

// readers is how many addresses the readers of shares come from: each may ask for 120 pages a minute.
const readers = 10_000

// share measures the page of a shared document of 10 KB that does not change, beside a bare handler that sends the same
// bytes. The readers are behind a proxy, which tells their addresses.
func (b *bench) share() error {
	c, end, err := b.grown("share", func(o store.Options) ([]owner, error) { return seed(o, size{owners: 100}) }, "--trusted-proxy", "127.0.0.0/8")
	if err != nil {
		return err
	}
	c.name = "sheaf"
	if err := c.fillTexts(); err != nil {
		return err
	}
	pages, err := c.sharePages()
	if err != nil {
		return err
	}
	limit, err := b.bare("share-page", c, map[string][]byte{"": pages[0]})
	if err != nil {
		return err
	}
	r := b.begin(row{Work: "read a shared page of 10 KB", Group: "media", Conns: 64, Unit: "/s"})
	err = b.alternate(r, []*contender{limit, c}, func(*contender) workload { return workload{Requests: pages} })
	if err != nil {
		return err
	}
	r.atLeast(0.5, "sheaf", "limit", "≥ %.2f of the limit")
	return end()
}

// sharePages shares the text of each owner, and returns a request for such a page from each address.
func (c *contender) sharePages() ([][]byte, error) {
	paths := make([]string, len(c.owners))
	for i, o := range c.owners {
		body, err := json.Marshal(map[string]string{"resource_type": "document", "resource_id": c.texts[i]})
		if err != nil {
			return nil, err
		}
		var made struct{ URL string }
		if err := c.process.call(o, http.MethodPost, "/api/v1/shares", string(body), &made); err != nil {
			return nil, err
		}
		at, err := url.Parse(made.URL)
		if err != nil {
			return nil, err
		}
		paths[i] = at.Path
	}
	var requests [][]byte
	for i := range readers {
		requests = append(requests, fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For: 10.1.%d.%d\r\nAccept: text/html\r\n\r\n",
			paths[i%len(paths)], i/250, 1+i%250))
	}
	return requests, nil
}
