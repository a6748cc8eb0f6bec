package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// searched is the number of documents of 2 KB for the searches. words are the words that 10, 1,000 and 50,000
// of them contain.
const searched = 100_000

var words = []struct {
	word  string
	every int     // every so manieth document has it
	most  float64 // ms, of the first page
	peer  float64 // how many times faster than the peer's; 0: that is not promised
}{{"kingfisher", searched / 10, 25, 10}, {"bullfinch", searched / 1000, 40, 10}, {"sparrow", 2, 150, 0}}

// search measures the first page of a search over a large workspace, and over a small one on the same server.
// It measures the same on PostgreSQL and with the peer, and how far the index lags behind many writes.
func (b *bench) search() error {
	c, end, err := b.grown("search", seedSearched)
	if err != nil {
		return err
	}
	r := b.begin(row{Work: "search, first page", Group: "growth", Conns: 1, Unit: "ms", Note: "over 100,000 documents of 2 KB"})
	if err := b.searchAll(r, c); err != nil {
		return err
	}
	if b.peer {
		if err := b.searchPeer(r); err != nil {
			return err
		}
	}
	b.keep(r)
	for i, w := range words {
		name := wordOf(i)
		r.atMost(w.most, r.figure(name).Median, fmt.Sprintf("%s ≤ %.0f ms", name, w.most))
		if r.has("peer, "+name) && w.peer > 0 {
			r.atLeast(w.peer, "peer, "+name, name, name+": ≥ %g × the peer")
		}
	}
	if err := b.searchBeside(c); err != nil {
		return err
	}
	if err := b.searchLag(c); err != nil {
		return err
	}
	if err := end(); err != nil || !b.postgres {
		return err
	}
	return b.searchOnPostgres()
}

// wordOf names a word by how many documents have it.
func wordOf(i int) string { return fmt.Sprintf("word of %d", searched/words[i].every) }

// seedSearched fills a workspace with as many documents as are searched, and two small ones beside it.
func seedSearched(o store.Options) ([]owner, error) { return seedSpaces(o, searched, 100, 100) }

// seedSpaces creates one workspace for each number in `documents`, with that number of documents of 2 KB each.
func seedSpaces(o store.Options, documents ...int) ([]owner, error) {
	owners, err := seed(o, size{len(documents), 0, 0})
	if err != nil {
		return nil, err
	}
	for i, n := range documents {
		c, err := callerOf(o, owners[i].Workspace)
		if err == nil {
			err = seedTexts(o, c, n)
		}
		if err != nil {
			return nil, err
		}
	}
	return owners, nil
}

// searchAll measures each word.
func (b *bench) searchAll(r *row, c *contender) error {
	for range b.rounds {
		for i, w := range words {
			if err := b.searchFor(r, c, c.owners[0], w.word, wordOf(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// searchBeside measures a workspace of 100 documents beside the large one, and one of the same documents that is alone
// on its server, in turns.
func (b *bench) searchBeside(c *contender) error {
	alone, end, err := b.grown("search-alone", func(o store.Options) ([]owner, error) { return seedSpaces(o, 100) })
	if err != nil {
		return err
	}
	r := b.begin(row{Work: "search, a workspace of 100", Group: "growth", Conns: 1, Unit: "ms", Note: "first page, beside 100,000 documents of another"})
	for range b.rounds {
		if err := b.searchFor(r, alone, alone.owners[0], "sparrow", "alone"); err != nil {
			return err
		}
		if err := b.searchFor(r, c, c.owners[1], "sparrow", "beside"); err != nil {
			return err
		}
	}
	b.keep(r)
	r.atMost(1.2, r.figure("beside").Median/r.figure("alone").Median, "beside ≤ 1.2 × alone")
	return end()
}

// searchOnPostgres measures the same searches on a cluster of their own.
func (b *bench) searchOnPostgres() error {
	url, err := b.startPostgres()
	if err != nil {
		return err
	}
	o := store.Options{DatabaseURL: url}
	owners, err := seedSearched(o)
	if err != nil {
		return err
	}
	p, err := b.startSheaf("search-postgres", b.dataDir("search-node"), "--database-url", url)
	if err != nil {
		return err
	}
	r := b.begin(row{Work: "search, first page, PostgreSQL", Group: "growth", Conns: 1, Unit: "ms", Note: "over 100,000 documents of 2 KB"})
	if err := b.searchAll(r, &contender{name: onPostgres, process: p, owners: owners, options: o}); err != nil {
		return err
	}
	b.keep(r)
	last := wordOf(len(words) - 1)
	r.atMost(400, r.figure(last).Median, last+" ≤ 400 ms")
	return p.stop()
}

// peerSearched is the peer's data with the documents that are searched; making them takes minutes, so they are kept.
func (b *bench) peerSearched() (string, error) {
	kept := filepath.Join(b.out, "peer-searched-0.39.11")
	if _, err := os.Stat(filepath.Join(kept, "owners.json")); err == nil {
		return kept, nil
	}
	if err := os.RemoveAll(kept); err != nil {
		return "", err
	}
	b.logf("filling the peer with texts: this is kept\n")
	cmd := exec.Command(b.peerProgram(), "texts", "--dir", kept, "--dev=false")
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	random := mathrand.New(mathrand.NewPCG(1, 2))
	vocabulary := newVocabulary(random)
	go func() {
		defer in.Close()
		for i := range searched {
			fmt.Fprintln(in, textOf(i, random, vocabulary))
		}
	}()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("fill the peer with texts: %w\n%s", err, out)
	}
	return kept, nil
}

// searchPeer searches the peer for the same words, with its filter for records that contain a text.
func (b *bench) searchPeer(r *row) error {
	kept, err := b.peerSearched()
	if err != nil {
		return err
	}
	c, err := b.servePeer("peer-searched", kept)
	if err != nil {
		return err
	}
	for range b.rounds {
		for i, w := range words {
			filter := url.QueryEscape(fmt.Sprintf("title ~ '%s' || description ~ '%s'", w.word, w.word))
			path := "/api/collections/documents/records?perPage=50&sort=-updated&filter=" + filter
			if err := b.timeSearch(r, c, c.owners[0], path, "peer, "+wordOf(i)); err != nil {
				return err
			}
		}
	}
	return c.process.stop()
}

// searchLag writes 500 documents of 2 KB a second. It measures for how long the index lacks a document, and the
// memory of the server at the end.
func (b *bench) searchLag(c *contender) error {
	random := mathrand.New(mathrand.NewPCG(5, 6))
	vocabulary := newVocabulary(random)
	var requests [][]byte
	for i := range 100 {
		body, err := json.Marshal(map[string]string{"title": fmt.Sprintf("Written %d", i), "content": textOf(i, random, vocabulary)})
		if err != nil {
			return err
		}
		requests = append(requests, raw("POST", "/api/v1/documents", c.owners[2], string(body)))
	}
	r := b.begin(row{Work: "search, the index behind", Group: "growth", Unit: "s", Note: "beside 500 writes a second of 2 KB"})
	most, ended := 0.0, make(chan error, 1)
	go func() {
		var done []written
		ended <- b.child("pace", pacing{Addr: c.process.addr, Rate: 500, Time: 10 * b.time, Requests: requests}, &done)
	}()
	for looking := true; looking; {
		select {
		case err := <-ended:
			if err != nil {
				return err
			}
			looking = false
		case <-time.After(100 * time.Millisecond):
			text, err := c.process.metrics()
			if err != nil {
				return err
			}
			lag, _ := metric(text, "sheaf_search_lag_seconds")
			most = max(most, lag)
		}
	}
	r.figure("sheaf, at most").add(sample{value: most})
	r.atMost(2, max(most, 0.001), "≤ 2 s")
	b.keep(r)
	now, highest := c.process.memory()
	m := b.begin(row{Work: "resident memory, search", Group: "process", Unit: "MB", Note: "after searches over 100,000 documents, and many writes"})
	m.figure("sheaf").add(sample{value: float64(now) / megabyte})
	m.figure("sheaf, at its highest").add(sample{value: float64(highest) / megabyte})
	m.atMost(200, m.figure("sheaf").Median, "< 200 MB")
	b.keep(m)
	return nil
}

// index has the index of search built of a folder that no server has.
func (b *bench) index(o store.Options) error {
	cmd := exec.Command(b.program, "reindex", "--data", o.Folder)
	cmd.SysProcAttr = withParent
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("reindex: %w: %s", err, out)
	}
	return nil
}

// indexed waits until the index of the owner's workspace is built, and has followed its log.
func (c *contender) indexed(o owner) error {
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		err := c.process.call(o, "GET", "/api/v1/search?q=kingfisher", "", nil)
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the index was not built: %w", err)
		}
	}
}

// searchFor repeatedly requests the first page of records with a word, after the index is built.
func (b *bench) searchFor(r *row, c *contender, o owner, word, name string) error {
	if err := c.indexed(o); err != nil {
		return err
	}
	path := "/api/v1/search?q=" + url.QueryEscape(word)
	return b.timeSearch(r, c, o, path, name)
}

// timeSearch asks for a page again and again, one client.
func (b *bench) timeSearch(r *row, c *contender, o owner, path, name string) error {
	m, err := b.generate(workload{Addr: c.process.addr, Conns: 1, Time: b.time / 2, Warm: b.time / 8, Requests: [][]byte{raw("GET", path, o, "")}})
	if err != nil {
		return err
	}
	if m.Errors > 0 {
		r.figure(name).Void = m.First
		return nil
	}
	r.figure(name).add(sample{value: m.P50, p50: m.P50, p99: m.P99})
	return nil
}

// seedTexts adds n documents of 2 KB to a workspace by Sheaf's own rules, many at once.
func seedTexts(o store.Options, c app.Caller, n int) error {
	ctx := context.Background()
	st, err := store.Open(ctx, o)
	if err != nil {
		return err
	}
	defer st.Close()
	a := app.New(app.Config{Store: st, Now: time.Now, Random: rand.Reader})
	random := mathrand.New(mathrand.NewPCG(1, 2))
	vocabulary := newVocabulary(random)
	var group errgroup.Group
	group.SetLimit(64)
	for i := range n {
		text := textOf(i, random, vocabulary)
		group.Go(func() error {
			_, err := a.CreateDocument(ctx, c, sheaf.DocumentChange{Title: sheaf.Some(fmt.Sprintf("Document %d", i)), Description: sheaf.Some(text)})
			return err
		})
	}
	return group.Wait()
}

// callerOf is the owner of a workspace.
func callerOf(o store.Options, ws sheaf.WorkspaceID) (c app.Caller, err error) {
	st, err := store.Open(context.Background(), o)
	if err != nil {
		return c, err
	}
	defer st.Close()
	c = app.Caller{Workspace: ws, Role: sheaf.Owner}
	err = st.Read(context.Background(), func(r *store.Reader) error {
		c.User, err = r.OwnerOf(ws)
		return err
	})
	return c, err
}

// newVocabulary makes 20,000 words of letters that are as frequent as in English.
func newVocabulary(random *mathrand.Rand) (words []string) {
	const letters = "eeeeaaaaiioonnnnttttrrssshhllddccmmffppggwybvkxjq"
	for range 20_000 {
		word := make([]byte, 2+random.IntN(9))
		for i := range word {
			word[i] = letters[random.IntN(len(letters))]
		}
		words = append(words, string(word))
	}
	return words
}

// textOf makes a text of 2 KB, in which the first words of the vocabulary are the frequent ones.
func textOf(i int, random *mathrand.Rand, vocabulary []string) string {
	var b strings.Builder
	for b.Len() < 1950 {
		b.WriteString(vocabulary[int(float64(len(vocabulary))*math.Pow(random.Float64(), 3))])
		b.WriteByte(' ')
	}
	for _, w := range words {
		if i%w.every == 0 {
			b.WriteString(w.word + " ")
		}
	}
	return b.String()
}
