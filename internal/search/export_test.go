package search

import (
	"context"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// Small makes chunks and shares so small that a test of few records has many of them.
func (x *Index) Small(room int64, pairs int) { x.room, x.pairs = room, pairs }

// Snippet is snippet.
func Snippet(words []string, texts ...string) (string, [][2]int) {
	foldings := make([]folding, len(texts))
	for i, t := range texts {
		foldings[i] = folding{t, Fold(t)}
	}
	return snippet(words, foldings...)
}

// LookEvery is how often every log is looked at, and GatherFor the pause between two passes.
const (
	LookEvery = lookEvery
	GatherFor = gatherFor
)

// Within bounds searches otherwise than by searchWithin.
func (x *Index) Within(d time.Duration) { x.within = d }

// Tamper runs a statement on the index.
func (x *Index) Tamper(ctx context.Context, sql string, args ...any) error {
	return x.engine.Write(ctx, func(tx *engine.Tx) error { return tx.Exec(sql, args...) })
}

// Count reads a number from the index.
func (x *Index) Count(ctx context.Context, sql string) (n int64, err error) {
	err = x.engine.Read(ctx, func(r *engine.Reader) (err error) {
		n, err = r.Count(sql)
		return err
	})
	return n, err
}

// CatchUpUnlocked is CatchUp of a follower that does not know of others.
func (x *Index) CatchUpUnlocked(ctx context.Context) error {
	if err := x.Open(ctx); err != nil {
		return err
	}
	return x.catchUp(ctx)
}

// Step does one piece of work for a workspace.
func (x *Index) Step(ctx context.Context, ws sheaf.WorkspaceID) (bool, error) {
	defer x.begin()()
	return x.step(ctx, ws)
}

// NewGrams returns what gathers the grams of a chunk.
func NewGrams() func(place int, text []byte) { return new(gramSets).add }

// Lag is for how long the index has lacked what it lacks for longest.
func (x *Index) Lag() time.Duration { return x.figures.lag(x.Now()) }
