package search_test

import (
	"context"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/search"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// rare, some and common are words that 10, 1,000 and half of the benchmark's documents contain.
const (
	rare   = "kingfisher"
	some   = "bullfinch"
	common = "sparrow"
)

// prose generates texts of about 2 KB whose words are distributed as in a natural language.
type prose struct {
	random *mathrand.Rand
	words  []string
}

func newProse() *prose {
	p := &prose{random: mathrand.New(mathrand.NewPCG(1, 2))}
	const letters = "eeeeaaaaiioonnnnttttrrssshhllddccmmffppggwybvkxjq"
	for range 20_000 {
		word := make([]byte, 2+p.random.IntN(9))
		for i := range word {
			word[i] = letters[p.random.IntN(len(letters))]
		}
		p.words = append(p.words, string(word))
	}
	return p
}

func (p *prose) text(i int) string {
	var b strings.Builder
	for b.Len() < 1950 {
		// The first words are the frequent ones.
		at := int(float64(len(p.words)) * p.random.Float64() * p.random.Float64() * p.random.Float64())
		b.WriteString(p.words[at])
		b.WriteByte(" \n.,"[max(0, p.random.IntN(12)-8)])
	}
	if i%2 == 0 {
		b.WriteString(" " + common)
	}
	if i%100 == 1 {
		b.WriteString(" " + some)
	}
	if i%10_000 == 3 {
		b.WriteString(" " + rare)
	}
	return b.String()
}

// fill adds n documents of 2 KB, from many clients at once.
func fill(tb testing.TB, w *world, c app.Caller, n int) {
	tb.Helper()
	p := newProse()
	var group errgroup.Group
	group.SetLimit(64)
	for i := range n {
		text := p.text(i)
		group.Go(func() error {
			_, err := w.app.CreateDocument(context.Background(), c, sheaf.DocumentChange{Title: sheaf.Some(fmt.Sprintf("Document %d", i)), Description: sheaf.Some(text)})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkSearch searches for words that 10, 1,000 and 50,000 of 100,000 documents contain. It
// also reports how long the index took to build.
func BenchmarkSearch(b *testing.B) {
	for name, options := range map[string]func(testing.TB) store.Options{"sqlite": onSQLite, "postgres": onPostgres} {
		b.Run(name, func(b *testing.B) {
			const documents = 100_000
			w := newWorld(b, options(b))
			c, small := w.workspace(), w.workspace()
			fill(b, w, c, documents)
			fill(b, w, small, 100)
			began := time.Now()
			w.catchUp()
			b.Logf("%d documents were taken in within %v: %d bytes", documents, time.Since(began).Round(time.Millisecond), w.index.Size())
			for _, test := range []struct {
				name string
				c    app.Caller
				word string
				want int64
			}{{"10", c, rare, documents / 10_000}, {"1000", c, some, documents / 100}, {"50000", c, common, documents / 2},
				{"none", c, "ornithologist", 0}, {"two characters", c, "qx", -1}, {"small workspace", small, common, 50}} {
				b.Run(test.name, func(b *testing.B) {
					var times []time.Duration
					for b.Loop() {
						began := time.Now()
						page, err := w.app.Search(context.Background(), test.c, sheaf.SearchQuery{Text: test.word, Paging: sheaf.Paging{Limit: sheaf.DefaultLimit}})
						times = append(times, time.Since(began))
						if err != nil || test.want >= 0 && page.Total != test.want {
							b.Fatalf("found %d, want %d: %v", page.Total, test.want, err)
						}
					}
					slices.Sort(times)
					b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
				})
			}
		})
	}
}

// All forms of sets find the same records. They differ only in size and speed.
func TestForms_FindTheSame(t *testing.T) {
	t.Parallel()
	p := newProse()
	var texts []string
	for i := range 1_500 {
		texts = append(texts, p.text(i))
	}
	forms := search.FormsOf(texts)
	for _, word := range []string{rare, some, common, "qx", "ee", "ornithologist"} {
		want := forms[0].Look(word)
		if has := slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, word) }); has && want == 0 {
			t.Errorf("%q: the sets have none", word)
		}
		for _, f := range forms[1:] {
			if got := f.Look(word); got != want {
				t.Errorf("%q: %s has %d, %s %d", word, forms[0].Name, want, f.Name, got)
			}
		}
	}
}

// BenchmarkForms reports, for each form of sets, its size per byte of text in 20,000 documents, and
// how long the sets of a rare, a less rare and a common word take to read.
func BenchmarkForms(b *testing.B) {
	p := newProse()
	var texts []string
	total := 0
	for i := range 20_000 {
		texts = append(texts, p.text(i))
		total += len(texts[i])
	}
	for _, f := range search.FormsOf(texts) {
		b.Run(f.Name, func(b *testing.B) {
			for b.Loop() {
				for _, word := range []string{rare, some, common} {
					f.Look(word)
				}
			}
			b.ReportMetric(float64(f.Bytes)/float64(total), "bytes/byte")
		})
	}
}

// BenchmarkFold and BenchmarkGrams measure the cost of indexing a document, without writing it.
func BenchmarkFold(b *testing.B) {
	text := newProse().text(0)
	for b.Loop() {
		search.Fold(text)
	}
}

func BenchmarkGrams(b *testing.B) {
	text := []byte(search.Fold(newProse().text(0)))
	grams := search.NewGrams()
	for b.Loop() {
		grams(7, text)
	}
}

// BenchmarkFollow writes 500 documents of 2 KB a second, from 16 clients, while the index follows.
// It reports the longest lag of the index.
func BenchmarkFollow(b *testing.B) {
	for name, options := range map[string]func(testing.TB) store.Options{"sqlite": onSQLite, "postgres": onPostgres} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, options(b))
			c := w.workspace()
			ctx, stop := context.WithCancel(context.Background())
			var running sync.WaitGroup
			running.Go(func() { w.index.Run(ctx) })
			var longest time.Duration
			for b.Loop() {
				longest = max(longest, w.writeAt(c, 500, 5*time.Second))
			}
			stop()
			running.Wait()
			b.ReportMetric(longest.Seconds(), "s-behind")
		})
	}
}

// writeAt writes `rate` documents a second for the time `during`, and returns the longest lag of
// the index.
func (w *world) writeAt(c app.Caller, rate int, during time.Duration) (longest time.Duration) {
	texts, work := newProse(), make(chan string)
	var writers sync.WaitGroup
	for range 16 {
		writers.Go(func() {
			for text := range work {
				w.document(c, "Document", text)
			}
		})
	}
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for i := range rate * int(during/time.Second) {
		<-tick.C
		work <- texts.text(i)
		longest = max(longest, w.index.Lag())
	}
	close(work)
	writers.Wait()
	return longest
}
