package search_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/search"
	"sheaf.dev/internal/sheaf"
)

// longRun is longer than any listed term, and contains a word.
var longRun = strings.Repeat("x", 80) + "heron" + strings.Repeat("y", 80)

// Terms never claim that a record has a word that it lacks. If all terms of a record are listed,
// they do not miss a word either.
func TestTerms_TellWhoHasAWord(t *testing.T) {
	t.Parallel()
	parts := []string{"ab", "b", "a", "é", "文書", "7", " ", "-", "\n", "_", longRun}
	rapid.Check(t, func(t *rapid.T) {
		join := func(max int) *rapid.Generator[string] {
			return rapid.Map(rapid.SliceOfN(rapid.SampledFrom(parts), 1, max), func(p []string) string { return strings.Join(p, "") })
		}
		texts := rapid.SliceOfN(join(12), 1, 40).Draw(t, "texts")
		word := join(3).Filter(search.IsTerm).Draw(t, "word")
		having, unlisted := search.TermsOf(texts, word)
		for i, text := range texts {
			has := strings.Contains(text, word)
			if having[i] && !has || has && !having[i] && !unlisted[i] {
				t.Errorf("%q in %q: the terms say %t, all of them listed: %t", word, text, having[i], !unlisted[i])
			}
			if long := strings.Contains(text, longRun); unlisted[i] != long {
				t.Errorf("%q: not all its terms are listed: %t, want %t", text, unlisted[i], long)
			}
		}
	})
}

// birds creates documents in chunks of 8. Every second one contains "heron": in its text, or in its
// title if i is divisible by 8.
func (w *world) birds(c app.Caller, n int) (docs []sheaf.Document) {
	w.index.Small(8, 1000)
	for i := range n {
		title, text := fmt.Sprintf("Bird %02d", i), "a grey-backed wren"
		switch {
		case i%8 == 0:
			title += " heron"
		case i%8 == 6:
			text = longRun
		case i%2 == 0:
			text = "a grey-backed heron."
		}
		docs = append(docs, w.document(c, title, text))
	}
	w.catchUp()
	return docs
}

// D91: terms find the same records as texts, in the same order. The cases: words of one chunk and
// of several, in titles, in runs that are too long for a term, with signs between them, single
// characters, and chunks that records have left.
func TestSearch_ByTermsFindsWhatTextsHave(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		c := w.workspace()
		docs := w.birds(c, 40)
		if n := w.count(`SELECT COUNT(*) FROM search_chunks WHERE sealed = 1`); n != 5 {
			t.Fatalf("%d chunks are sealed with terms, want 5", n)
		}
		for i := 0; i < len(docs); i += 5 {
			if err := w.app.DeleteDocument(context.Background(), c, docs[i].ID, sheaf.Match{}); err != nil {
				t.Fatal(err)
			}
		}
		w.catchUp()
		for _, text := range []string{"heron", "ero", "grey heron", `"grey-backed"`, `heron "grey-backed"`, "wren", "b heron", "b", "xx", "x", "heron wren", "ostrich"} {
			byTerms := w.find(c, text)
			w.index.WithoutTerms()
			byTexts := w.find(c, text)
			w.index.Small(8, 1000)
			if byTerms.Total != byTexts.Total || !slices.Equal(titles(byTerms), titles(byTexts)) {
				t.Errorf("%q: by terms %d, %v; by texts %d, %v", text, byTerms.Total, titles(byTerms), byTexts.Total, titles(byTexts))
			}
		}
		if n := w.find(c, "heron").Total; n != 16 {
			t.Errorf("%d herons are found, want 16", n)
		}
	})
}

// A word that very many records have is found without reading their texts.
func TestSearch_ReadsNoTextOfWhatTermsTell(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		c := w.workspace()
		w.birds(c, 40)
		w.tamper(`UPDATE search_texts SET title = 'none', body = 'none'`)
		if page := w.find(c, "heron"); page.Total != 15 {
			t.Errorf("%d are found, want 15: all but those in runs too long for a term", page.Total)
		}
		if page := w.find(c, "b"); page.Total != 40 {
			t.Errorf("%d titles have a b, want 40", page.Total)
		}
	})
}

// If a record has left a chunk that does not list it as gone, heads are not used: the answer is right.
func TestSearch_WhenHeadsDoNotMatchTheChunk(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		c := w.workspace()
		w.birds(c, 24)
		w.tamper(`DELETE FROM search_texts WHERE at IN (SELECT MIN(at) FROM search_texts WHERE title LIKE '%heron')`)
		w.tamper(`UPDATE search_chunks SET live = live - 1 WHERE at = (SELECT MIN(at) FROM search_chunks)`)
		if page := w.find(c, "heron"); page.Total != 11 {
			t.Errorf("%d are found, want 11", page.Total)
		}
	})
}

// If terms, sets or heads are damaged, the answer is still right: texts are read.
func TestSearch_WithoutTermsThatAreNotSound(t *testing.T) {
	for name, spoil := range map[string]string{
		"sets":  `UPDATE search_terms SET sets = $1`,
		"heads": `UPDATE search_heads SET heads = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				c := w.workspace()
				w.birds(c, 24)
				for _, bytes := range [][]byte{{}, {200}, slices.Repeat([]byte{254}, 300)} {
					w.tamper(spoil, bytes)
					if page := w.find(c, "heron"); page.Total != 12 {
						t.Errorf("%d are found, want 12", page.Total)
					}
				}
			})
		})
	}
}
