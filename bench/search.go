package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// searched is how many documents of 2 KB the searches are measured over, and words has those that 10, 1,000 and 50,000
// of them have.
const searched = 100_000

var words = []struct {
	word  string
	every int     // every so manieth document has it
	most  float64 // ms, of the first page
}{{"kingfisher", searched / 10, 25}, {"bullfinch", searched / 1000, 40}, {"sparrow", 2, 150}}

// search measures the first page of a search over a large workspace, and over a small one beside it.
func (b *bench) search() error {
	c, end, err := b.grown("search", func(o store.Options) ([]owner, error) {
		owners, err := seed(o, size{3, 0, 0})
		if err != nil {
			return nil, err
		}
		for i, n := range []int{searched, 100, 100} {
			c, err := callerOf(o, owners[i].Workspace)
			if err == nil {
				err = seedTexts(o, c, n)
			}
			if err != nil {
				return nil, err
			}
		}
		return owners, nil
	})
	if err != nil {
		return err
	}
	r := b.begin(row{Work: "search, first page", Group: "growth", Conns: 1, Unit: "ms", Note: "over 100,000 documents of 2 KB"})
	for range b.rounds {
		for i, w := range words {
			if err := b.searchFor(r, c, c.owners[0], w.word, fmt.Sprintf("word of %d", searched/words[i].every)); err != nil {
				return err
			}
		}
		if err := b.searchFor(r, c, c.owners[1], "sparrow", "workspace of 100 beside it"); err != nil {
			return err
		}
	}
	b.keep(r)
	for _, w := range words {
		name := fmt.Sprintf("word of %d", searched/w.every)
		r.atMost(w.most, r.figure(name).Median, fmt.Sprintf("%s ≤ %.0f ms", name, w.most))
	}
	return end()
}

// indexed waits until the index of the owner's workspace is built, and has followed its log.
func (c *contender) indexed(o owner) error {
	for deadline := time.Now().Add(5 * time.Minute); ; {
		err := c.process.call(o, "GET", "/api/v1/search?q=kingfisher", "", nil)
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the index was not built: %w", err)
		}
	}
}

// searchFor asks again and again for the first page of what has a word, once the index is built.
func (b *bench) searchFor(r *row, c *contender, o owner, word, name string) error {
	if err := c.indexed(o); err != nil {
		return err
	}
	path := "/api/v1/search?q=" + url.QueryEscape(word)
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
