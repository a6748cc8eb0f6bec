package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// acceptsOf is how many documents of 10 KB each owner has, with one proposal for each in a round.
const acceptsOf = 20

// proposing is a contender with documents that proposals change.
type proposing struct {
	*contender
	documents []string // of all owners in turn
	version   int      // of each document
}

// accept measures the acceptance of one proposed change of a document of 10 KB, beside a PUT of the same text
// to the same documents by the same server, for the most clients. The documents have not changed since the
// proposals were made, except in "merged": there each document has another text by then, and is merged by
// lines.
func (b *bench) accept(all []*contender, conns int) error {
	if conns != b.conns[len(b.conns)-1] {
		return nil
	}
	r := b.begin(row{Work: "accept a change of 10 KB", Group: "requests", Conns: conns, Unit: "/s"})
	for _, c := range all[1:] {
		if c.hookOwners == nil {
			continue // the peer
		}
		p := &proposing{contender: c}
		if err := p.write(); err != nil {
			return err
		}
		for i := range b.rounds + 1 { // the first warms it up
			into := r
			if i == 0 {
				into = &row{Work: r.Work, Conns: conns}
			}
			if err := b.acceptOnce(into, p, i); err != nil {
				return err
			}
		}
	}
	b.keep(r)
	if conns == 64 {
		r.atMost(2, r.ratio("sheaf, puts", "sheaf"), "≤ 2 × a PUT of the same text")
		if r.has("sheaf") && r.figure("sheaf, puts").CPU > 0 {
			r.atMost(2, r.figure("sheaf").CPU/r.figure("sheaf, puts").CPU, "≤ 2 × the processor time of a PUT")
		}
	}
	return nil
}

// acceptOnce measures a PUT to each document, the acceptance of a proposal for each, and the acceptance of one that has to be
// merged.
func (b *bench) acceptOnce(r *row, p *proposing, round int) error {
	measure := func(suffix string, requests [][]byte) error {
		c := *p.contender
		c.name += suffix
		return b.load(r, &c, workload{Requests: requests, Once: true})
	}
	var puts [][]byte
	for i, id := range p.documents {
		puts = append(puts, putOf(p.ownerOf(i), id, proposedText(fmt.Sprint("put ", round))))
	}
	if err := measure(", puts", puts); err != nil {
		return err
	}
	p.version++
	accepts, err := p.propose(proposedText(fmt.Sprint("accepted ", round)))
	if err == nil {
		err = measure("", accepts)
	}
	if err != nil {
		return err
	}
	p.version++
	if accepts, err = p.propose(strings.Replace(proposedText(fmt.Sprint("accepted ", round)), "\n", " merged\n", 1)); err != nil {
		return err
	}
	err = p.each(func(i int) error {
		return p.process.call(p.ownerOf(i), "PATCH", "/api/v1/documents/"+p.documents[i], jsonOf(map[string]any{"content": proposedText(fmt.Sprint("meanwhile ", round))}), nil)
	})
	if err == nil {
		err = measure(", merged", accepts)
	}
	p.version += 2
	return err
}

// proposedText is a text of 10 KB that differs from others in its last line.
func proposedText(mark string) string { return pageText() + fmt.Sprintf("%-10.10s", mark) }

var pageText = sync.OnceValue(someText)

func putOf(o owner, id, text string) []byte {
	return fmt.Appendf(nil, "PUT /api/v1/documents/%s/content HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Type: text/markdown\r\nContent-Length: %d\r\n\r\n%s",
		id, o.Token, len(text), text)
}

func (p *proposing) ownerOf(i int) owner { return p.owners[i%len(p.owners)] }

// each calls do for each document, for many at once.
func (p *proposing) each(do func(i int) error) error {
	errs := make([]error, len(p.documents))
	var group sync.WaitGroup
	for first := range neighbours {
		group.Go(func() {
			for i := first; i < len(errs) && errs[first] == nil; i += neighbours {
				errs[first] = do(i)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// write makes the documents.
func (p *proposing) write() error {
	p.documents, p.version = make([]string, acceptsOf*len(p.owners)), 1
	return p.each(func(i int) error {
		var made struct{ ID string }
		err := p.process.call(p.ownerOf(i), "POST", "/api/v1/documents", jsonOf(map[string]any{"title": "A page", "content": proposedText("new")}), &made)
		p.documents[i] = made.ID
		return err
	})
}

// propose makes a proposal for each document, and returns the requests that accept them.
func (p *proposing) propose(text string) ([][]byte, error) {
	accepts := make([][]byte, len(p.documents))
	err := p.each(func(i int) error {
		var made struct{ ID string }
		change := map[string]any{"op": "edit", "document_id": p.documents[i], "base_version": p.version, "content": text}
		o := p.ownerOf(i)
		err := p.process.call(o, "POST", "/api/v1/proposals", jsonOf(map[string]any{"title": "Better", "changes": []any{change}}), &made)
		accepts[i] = fmt.Appendf(nil, "POST /api/v1/proposals/%s/accept HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nIf-Match: \"1-0\"\r\nContent-Length: 0\r\n\r\n", made.ID, o.Token)
		return err
	})
	return accepts, err
}

func jsonOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
