package main

import (
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
)

// textBytes is how long the texts of documents are that are read and written.
const textBytes = 10 << 10

// text measures documents that hold something, for the most clients: one of 10 KB that is read unchanged, as JSON and as
// HTML, and one that is written, with its version, its event and its delivery.
func (b *bench) text(all []*contender, conns int) error {
	if conns != b.conns[len(b.conns)-1] {
		return nil
	}
	var servers []*contender
	for _, c := range all[1:] {
		if c.hookOwners == nil {
			continue // the peer
		}
		if err := c.fillTexts(); err != nil {
			return err
		}
		servers = append(servers, c)
	}
	if err := b.readText(servers, conns, "get a document of 10 KB", ""); err != nil {
		return err
	}
	if err := b.readText(servers, conns, "get 10 KB as HTML", "/content?format=html"); err != nil {
		return err
	}
	return b.putText(servers, conns)
}

// someText is Markdown of 10 KB.
func someText() string {
	random := mathrand.New(mathrand.NewPCG(3, 4))
	vocabulary := newVocabulary(random)
	var b strings.Builder
	for b.Len() < textBytes-100 {
		fmt.Fprintf(&b, "## %s\n\n- [%s](https://example.com/%s)\n\n", vocabulary[random.IntN(100)], vocabulary[random.IntN(100)], vocabulary[random.IntN(100)])
		for range 60 {
			b.WriteString(vocabulary[random.IntN(len(vocabulary))] + " ")
		}
		b.WriteString("\n\n")
	}
	return b.String()[:textBytes-len(counter)-1] + "\n"
}

// fillTexts makes a document of 10 KB for each owner, once in a run.
func (c *contender) fillTexts() error {
	if c.texts != nil {
		return nil
	}
	body, err := json.Marshal(map[string]string{"title": "A text", "content": someText() + "0000000000"})
	if err != nil {
		return err
	}
	for _, o := range c.owners {
		var made struct{ ID string }
		if err := c.process.call(o, "POST", "/api/v1/documents", string(body), &made); err != nil {
			return err
		}
		c.texts = append(c.texts, made.ID)
	}
	return nil
}

// ofTexts makes a request for the document of each owner.
func (c *contender) ofTexts(make func(o owner, path string) []byte) (out [][]byte) {
	for i, o := range c.owners {
		out = append(out, make(o, "/api/v1/documents/"+c.texts[i]))
	}
	return out
}

// readText measures a document that does not change, beside a bare handler that sends the same bytes.
func (b *bench) readText(servers []*contender, conns int, work, suffix string) error {
	ask := func(o owner, path string) []byte { return raw("GET", path+suffix, o, "") }
	first := servers[0]
	limit, err := b.bare(strings.ReplaceAll(work, " ", "-"), first, map[string][]byte{"": first.ofTexts(ask)[0]})
	if err != nil {
		return err
	}
	r := b.begin(row{Work: work, Group: "requests", Conns: conns, Unit: "/s"})
	err = b.alternate(r, append([]*contender{limit}, servers...), func(c *contender) workload { return workload{Requests: c.ofTexts(ask)} })
	if err != nil {
		return err
	}
	b.promise(r, 64, 0.60, 0)
	return nil
}

// creating is the name of what writes of texts are held against.
const creating = "sheaf, creates"

// putText measures writes of texts, beside creates of projects by the same server.
func (b *bench) putText(servers []*contender, conns int) error {
	text := someText() + counter
	put := func(o owner, path string) []byte {
		return fmt.Appendf(nil, "PUT %s/content HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Type: text/markdown\r\nContent-Length: %d\r\n\r\n%s",
			path, o.Token, len(text), text)
	}
	creates := *servers[0]
	creates.name = creating
	r := b.begin(row{Work: "put a text of 10 KB", Group: "requests", Conns: conns, Unit: "/s"})
	err := b.alternate(r, append([]*contender{&creates}, servers...), func(c *contender) workload {
		if c.name == creating {
			return workload{Requests: c.first(c.api.create), SkipPass: true}
		}
		return workload{Requests: c.ofTexts(put), SkipPass: true}
	})
	if err != nil {
		return err
	}
	if conns == 64 {
		r.atLeast(0.5, "sheaf", creating, "≥ %.2f of a create")
	}
	return nil
}
