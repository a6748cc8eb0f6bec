package main

import (
	"context"
	mathrand "math/rand/v2"

	"sheaf.dev/internal/store"
)

// release measures how long another tenant's writes wait while a release of a project of 1,000 documents is made. At the first
// release of a project all texts are copied. At a further one nothing has to be copied.
func (b *bench) release() error {
	servers, end, err := b.onBoth("release", size{2, 10, 0})
	if err != nil {
		return err
	}
	for _, c := range servers {
		if err := b.releaseOn(c); err != nil {
			return err
		}
	}
	return end()
}

func (b *bench) releaseOn(c *contender) error {
	o := c.owners[0]
	if err := seedReleased(c, o, b.rounds); err != nil {
		return err
	}
	if err := c.vacuum("documents", "texts"); err != nil {
		return err
	}
	r := b.begin(row{Work: "release of 1,000 documents", Group: "growth", Conns: 1, Unit: "ms", Note: "while another tenant writes; " + c.name})
	for _, project := range o.Projects[:b.rounds] {
		for _, what := range []string{"the first", "a further one"} {
			err := b.beside(r, c, what, func() error {
				return c.process.call(o, "POST", "/api/v1/projects/"+project+"/releases", jsonOf(map[string]any{"name": what}), nil)
			})
			if err != nil {
				return err
			}
		}
	}
	b.keep(r)
	for _, what := range []string{"the first", "a further one"} {
		r.atMost(300, r.figure(what+", another's longest write").Median, what+": another's longest write ≤ 300 ms")
	}
	return nil
}

// seedReleased adds 1,000 documents to each of n projects, each with a text of its own of 2 KB.
func seedReleased(c *contender, o owner, n int) error {
	ctx := context.Background()
	st, err := store.Open(ctx, c.options)
	if err != nil {
		return err
	}
	defer st.Close()
	random := mathrand.New(mathrand.NewPCG(5, 6))
	vocabulary := newVocabulary(random)
	for _, project := range o.Projects[:n] {
		err := st.Write(ctx, func(tx *store.Tx) error {
			return seedPages(tx, o, project, 1_000, func(i int) string { return textOf(i, random, vocabulary) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}
