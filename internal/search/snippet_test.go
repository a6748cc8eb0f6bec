package search_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"sheaf.dev/internal/search"
	"sheaf.dev/internal/sheaf"
)

// marked shows a snippet with its ranges in brackets.
func marked(t *testing.T, snippet string, ranges [][2]int) string {
	t.Helper()
	runes := []rune(snippet)
	var b strings.Builder
	at := 0
	for _, r := range ranges {
		if r[0] < at || r[1] < 1 || r[0]+r[1] > len(runes) {
			t.Fatalf("ranges %v of %q", ranges, snippet)
		}
		b.WriteString(string(runes[at:r[0]]) + "[" + string(runes[r[0]:r[0]+r[1]]) + "]")
		at = r[0] + r[1]
	}
	return b.String() + string(runes[at:])
}

// D90: the snippet is plain text around the first word, and the ranges count code points of it.
func TestSnippet(t *testing.T) {
	long := strings.Repeat("word ", 100)
	for _, test := range []struct {
		words       []string
		description string
		content     string
		want        string
	}{
		{[]string{"notes"}, "", "The Notes are here.", "The [Notes] are here."},
		{[]string{"notes", "here"}, "no hit", "The NOTES\n\nare  here.", "The [NOTES] are [here]."},
		{[]string{"notes"}, "Our notes.", "more notes", "Our [notes]."},
		{[]string{"xyz"}, "", "Nothing of it.", "Nothing of it."},
		{[]string{"xyz"}, " ", "Nothing of it.", "Nothing of it."},
		{[]string{"xyz"}, "", "", ""},
		{[]string{"ガス"}, "", "東京ｶﾞｽ文書", "東京[ｶﾞｽ]文書"},
		{[]string{"strasse"}, "", "In der Straße.", "In der [Straße]."},
		{[]string{"é"}, "", "cafe\u0301s", "caf[e\u0301]s"},
		{[]string{"aba", "bab"}, "", "xababx", "x[abab]x"},
		{[]string{"s", "st"}, "", "aßt", "a[ßt]"},
		{[]string{"notes"}, "", long + "notes " + long, "…word word word word word word word word word word word [notes]" + strings.Repeat(" word", 34) + " wo…"},
	} {
		got, ranges := search.Snippet(test.words, test.description, test.content)
		if shown := marked(t, got, ranges); shown != test.want {
			t.Errorf("%q of %.40q and %.40q:\n got %s\nwant %s", test.words, test.description, test.content, shown, test.want)
		}
	}
}

// D90: a hit far inside a long text is shown like the same hit in a short text, whatever text is
// before it.
func TestSnippet_FarInside(t *testing.T) {
	const near = "some words before the needle and behind it"
	for _, before := range []string{"x", "a\u0301\u0327", "ß", "한", "ｶﾞ", "\u3000", "\U0001F600", "e\u0301 \n"} {
		lead := strings.Repeat("lead ", 20) // more than is shown
		want, ranges := search.Snippet([]string{"needle"}, lead+near)
		for _, times := range []int{1_000, 5_000, 50_000} {
			got, at := search.Snippet([]string{"needle"}, strings.Repeat(before, times)+lead+near)
			if got != want || len(at) != 1 || at[0] != ranges[0] {
				t.Errorf("behind %d of %q: %q %v, want %q %v", times, before, got, at, want, ranges)
			}
		}
	}
}

// D90: for any text and any words, a snippet stays within its bound, and every range of it contains
// a word.
func FuzzSnippet(f *testing.F) {
	f.Add("notes", "The NOTES are here", "")
	f.Add("ss", strings.Repeat("ß", 500), "x")
	f.Add("a", strings.Repeat("a\u0301", 400), "")
	f.Add("ガ", "ｶﾞ"+strings.Repeat("\u3099", 300), " ")
	f.Fuzz(func(t *testing.T, word, description, content string) {
		if !utf8.ValidString(word) || !utf8.ValidString(description) || !utf8.ValidString(content) {
			return
		}
		words, err := sheaf.SearchQuery{Text: word}.Words()
		if err != nil {
			return
		}
		for i := range words {
			words[i] = search.Fold(words[i])
		}
		snippet, ranges := search.Snippet(words, description, content)
		if n := utf8.RuneCountInString(snippet); n > sheaf.MaxSnippet || !utf8.ValidString(snippet) {
			t.Fatalf("a snippet of %d characters: %q", n, snippet)
		}
		marked(t, snippet, ranges)
		runes := []rune(snippet)
		for _, r := range ranges {
			piece := search.Fold(string(runes[r[0] : r[0]+r[1]]))
			found := false
			for _, w := range words {
				found = found || strings.Contains(piece, w)
			}
			if !found {
				t.Errorf("the range %v of %q is %q, which has none of %q", r, snippet, piece, words)
			}
		}
	})
}
