package search_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"sheaf.dev/internal/search"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// D91: case, composition and width make no difference, and white space of any kind is one space.
func TestFold_SeesTheSame(t *testing.T) {
	for _, alike := range [][]string{
		{"Release", "RELEASE", "release", "Ｒｅｌｅａｓｅ"},
		{"é", "É", "e\u0301", "E\u0301"},
		{"straße", "STRASSE", "Straße", "STRAẞE"},
		{"ガ", "ｶﾞ", "カ\u3099"},
		{"Σίσυφος", "ΣΊΣΥΦΟΣ", "σίσυφοσ"},
		{"a b", "A\n\tB", "a\u3000\u3000b", "a\u00a0b", "a\x01b"},
		{"ﬁn", "FIN"},
		{"한", "\u1112\u1161\u11ab"},
		{"文書", "文書"},
		{"ꭰ", "Ꭰ"},
	} {
		for _, s := range alike[1:] {
			if got, want := search.Fold(s), search.Fold(alike[0]); got != want {
				t.Errorf("%+q is folded to %+q, and %+q to %+q", s, got, alike[0], want)
			}
		}
	}
	if search.Fold("a") == search.Fold("á") {
		t.Error("an accent makes no difference")
	}
}

// Texts of accents, Hangul or Kana cost little more than other texts. When each letter was folded
// by itself, a mebibyte took seconds.
func BenchmarkFold_Scripts(b *testing.B) {
	for name, letter := range map[string]string{"ASCII": "Word ", "accents": "a\u0301\u0327", "Hangul": "한", "Kana": "カ", "wide": "ｶﾞ", "emoji": "\U0001F600"} {
		b.Run(name, func(b *testing.B) {
			text := strings.Repeat(letter, (1<<20)/len(letter))
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				search.Fold(text)
			}
		})
	}
}

// D93: search folds as the lists' q does, which knows neither width nor white space.
func FuzzFold(f *testing.F) {
	for _, s := range []string{"Straße É", "e\u0301\u0323", "ｶﾞ", "\u0345α\u0301", "ŉ", "İ", "ǰ\u0323", "각\u11a8", "\u0f71\u0f72\u0f74", "a\u0300\u0345", "a \u0301\u3000ｶ\uff9e", "e\u0301\n\u0327É", "한\u11a8글"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) || len(s) > 2000 {
			return
		}
		folded := search.Fold(s)
		if again := search.Fold(folded); again != folded {
			t.Errorf("%+q is folded to %+q, and that to %+q", s, folded, again)
		}
		if letters := search.FoldLetters(s); letters != folded {
			t.Errorf("%+q is folded to %+q, and letter by letter to %+q", s, folded, letters)
		}
		plain := !strings.ContainsFunc(s, sheaf.SeparatesWords) && s == strings.Map(narrow, s)
		if want := store.Fold(s); plain && folded != want {
			t.Errorf("%+q is folded to %+q, by the lists to %+q", s, folded, want)
		}
		for _, r := range folded {
			if r != ' ' && sheaf.SeparatesWords(r) {
				t.Errorf("%+q is folded to %+q, which has white space", s, folded)
			}
		}
	})
}

// narrow removes characters that have another width.
func narrow(r rune) rune {
	if 0xFF00 <= r && r <= 0xFFEF || r == 0x3000 || 0x20A9 == r {
		return -1
	}
	return r
}

// D91: every query is either refused with a reason or understood, and its words stay within the
// bounds.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{"release notes", `"release notes" draft`, `"`, `""`, ` " "`, "文書", "a", strings.Repeat("a ", 11), strings.Repeat("x", 201), "\u0301", "ﬃ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return
		}
		words, err := sheaf.SearchQuery{Text: s}.Words()
		if err != nil {
			if sheaf.KindOf(err) != sheaf.Invalid {
				t.Errorf("%q: %v", s, err)
			}
			return
		}
		if len(words) == 0 || len(words) > sheaf.MaxWords {
			t.Errorf("%q has %d words", s, len(words))
		}
		for _, w := range words {
			if folded := search.Fold(w); strings.TrimSpace(folded) == "" || folded != strings.TrimSpace(folded) {
				t.Errorf("%q has the word %q, which is folded to %q", s, w, folded)
			}
		}
	})
}

// D91: a query is split into words, and quotation marks keep words together. Too little and too
// much is refused.
func TestQuery_Words(t *testing.T) {
	for text, want := range map[string]string{
		"release notes":       "release|notes",
		` "release  notes" x`: "release notes|x",
		`a "b c`:              "a|b c",
		`a"b c"d`:             "a|b c|d",
		`a a "a"`:             "a",
		"文書　検索":               "文書|検索",
	} {
		words, err := sheaf.SearchQuery{Text: text}.Words()
		if got := strings.Join(words, "|"); err != nil || got != want {
			t.Errorf("%q has the words %s (%v), want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", " ", `"`, `" "`, strings.Repeat("é", 201), "a b c d e f g h i j k"} {
		if words, err := (sheaf.SearchQuery{Text: text}).Words(); sheaf.KindOf(err) != sheaf.Invalid {
			t.Errorf("%q has the words %q (%v)", text, words, err)
		}
	}
}
