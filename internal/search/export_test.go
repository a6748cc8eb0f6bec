package search

import (
	"context"
	"os"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/tenanttest"
	"sheaf.dev/internal/store/engine"
)

// Small makes chunks and shares small, so that a test with few records has many of them. Terms are
// read from two candidates on.
func (x *Index) Small(room int64, pairs int) { x.room, x.pairs, x.termsFrom = room, pairs, 2 }

// Snippet is snippet.
func Snippet(words []string, texts ...string) (string, [][2]int) {
	foldings := make([]folding, len(texts))
	for i, t := range texts {
		foldings[i] = folding{t, Fold(t)}
	}
	return snippet(words, foldings...)
}

// PollEvery is the interval between two polls of the logs, and GatherFor the pause between two
// passes.
const (
	PollEvery = pollEvery
	GatherFor = gatherFor
)

// Within replaces searchWithin.
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

// CatchUpUnlocked is CatchUp without the lock that keeps other followers out.
func (x *Index) CatchUpUnlocked(ctx context.Context) error {
	if err := x.Open(ctx); err != nil {
		return err
	}
	return x.catchUp(ctx)
}

// Step does one piece of work for a workspace.
func (x *Index) Step(ctx context.Context, ws sheaf.WorkspaceID) (bool, error) {
	defer x.startFollowing(ctx)()
	return x.step(ctx, ws)
}

// BeginSpace begins a space for a workspace in which the follower has found none.
func (x *Index) BeginSpace(ctx context.Context, ws sheaf.WorkspaceID) error {
	_, err := x.repair(ctx, ws, nil, nil)
	return err
}

// ErrLost is errLost.
var ErrLost = errLost

// NewGrams returns the function that adds the grams of a text to a new chunk.
func NewGrams() func(place int, text []byte) { return new(gramSets).add }

// Lag returns the longest time for which any workspace's index has lacked a change.
func (x *Index) Lag() time.Duration { return x.figures.lag(x.Now()) }

// Sound reports whether the index uses the file in the folder and has `records` records.
func (x *Index) Sound(ctx context.Context, records int64) bool {
	x.using.RLock()
	defer x.using.RUnlock()
	now, err := os.Stat(x.path())
	if err != nil || !x.opened.Load() || !os.SameFile(now, x.file) {
		return false
	}
	n, err := x.Count(ctx, `SELECT COUNT(*) FROM search_texts`)
	return err == nil && n == records
}

// FoldLetters folds like Fold, but letter by letter.
func FoldLetters(s string) string {
	var b strings.Builder
	if s != "" {
		eachLetter(s, func(_, _ int, folded string) bool {
			b.WriteString(folded)
			return true
		})
	}
	return b.String()
}

// Record opens the index so that `asked` is called with each statement and its arguments.
func (x *Index) Record(ctx context.Context, asked func(sql string, rows [][]any)) error {
	err := x.Open(ctx)
	if err == nil {
		x.engine = tenanttest.Record(x.engine, asked)
	}
	return err
}

// ForgetGone marks the spaces of workspaces that no longer exist for removal.
func (x *Index) ForgetGone(ctx context.Context) error { return x.forgetGone(ctx) }

// WithoutTerms makes searches read no terms until Small is called.
func (x *Index) WithoutTerms() { x.termsFrom = chunkPlaces + 1 }

// IsTerm is isTerm.
func IsTerm(word string) bool { return isTerm(word) }

// TermsOf builds a chunk of folded texts. It returns which texts have the word according to the
// terms, and which texts have an unlisted term.
func TermsOf(texts []string, word string) (having, unlisted []bool) {
	terms, found := newTermSets(), set{}
	for i, text := range texts {
		terms.add(i, []byte(text))
	}
	terms.pages(func(names string, sets []byte) {
		if !addTerms(&found, []byte(word), []byte(names), sets) {
			panic("a page of terms is not as it was written")
		}
	})
	for i := range texts {
		having, unlisted = append(having, found.has(i)), append(unlisted, terms.unlisted.has(i))
	}
	return having, unlisted
}
