package merge

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// text returns a text with one line for each word.
func text(words string) string {
	if words == "" {
		return ""
	}
	return strings.ReplaceAll(words, " ", "\n") + "\n"
}

func TestLines_TakesWhatOneSideChanged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ base, ours, theirs, want string }{
		"nothing":                      {"a b", "a b", "a b", "a b"},
		"ours alone":                   {"a b", "a x", "a b", "a x"},
		"theirs alone":                 {"a b", "a b", "a x", "a x"},
		"both the same":                {"a b", "a x", "a x", "a x"},
		"far from each other":          {"a b c", "x b c", "a b y", "x b y"},
		"additions at both ends":       {"a b", "x a b", "a b y", "x a b y"},
		"the same and another one":     {"a b c d e", "x b c d y", "x b c d e", "x b c d y"},
		"one removes, the other adds":  {"a b c", "b c", "a b c d", "b c d"},
		"both remove the same":         {"a b c", "a c", "a c", "a c"},
		"both made the same from none": {"", "a", "a", "a"},
		"one emptied it":               {"a b", "", "a b", ""},
	} {
		got, conflicts := Lines(text(c.base), text(c.ours), text(c.theirs))
		if got != text(c.want) || conflicts != nil {
			t.Errorf("%s: %q, %v; want %q", name, got, conflicts, text(c.want))
		}
	}
}

func TestLines_ConflictsSayWhereAndWhy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		base, ours, theirs string
		want               Hunk
	}{
		"the same line": {"a b c", "a x c", "a y c", Hunk{Piece{2, 1, "b\n"}, Piece{2, 1, "x\n"}, Piece{2, 1, "y\n"}, SameLines}},
		"the lines beside": {"a b c d", "a x c d", "a b y d",
			Hunk{Piece{2, 2, "b\nc\n"}, Piece{2, 2, "x\nc\n"}, Piece{2, 2, "b\ny\n"}, Adjoining}},
		"an addition beside a change": {"a b c", "a x c", "a b n c", Hunk{Piece{2, 1, "b\n"}, Piece{2, 1, "x\n"}, Piece{2, 2, "b\nn\n"}, Adjoining}},
		"additions at one place":      {"a b", "a x b", "a y b", Hunk{Piece{2, 0, ""}, Piece{2, 1, "x\n"}, Piece{2, 1, "y\n"}, SamePlace}},
		"both from none":              {"", "x", "y", Hunk{Piece{1, 0, ""}, Piece{1, 1, "x\n"}, Piece{1, 1, "y\n"}, SamePlace}},
		"one empties it":              {"a b c", "", "a x c", Hunk{Piece{1, 3, "a\nb\nc\n"}, Piece{1, 0, ""}, Piece{1, 3, "a\nx\nc\n"}, SameLines}},
		"a repeated line": {"- - - b", "- - - - b", "- - x b",
			Hunk{Piece{1, 3, "-\n-\n-\n"}, Piece{1, 4, "-\n-\n-\n-\n"}, Piece{1, 3, "-\n-\nx\n"}, Repeated}},
	} {
		merged, got := Lines(text(c.base), text(c.ours), text(c.theirs))
		if diff := cmp.Diff([]Hunk{c.want}, got); diff != "" || merged != "" {
			t.Errorf("%s: merged %q (-want +got)\n%s", name, merged, diff)
		}
	}
}

func TestLines_HunksHaveTheLinesOfEachText(t *testing.T) {
	t.Parallel()
	_, got := Lines(text("a b c d e f"), text("n a b X d e F"), text("a b Y d e G"))
	want := []Hunk{
		{Piece{3, 1, "c\n"}, Piece{4, 1, "X\n"}, Piece{3, 1, "Y\n"}, SameLines},
		{Piece{6, 1, "f\n"}, Piece{7, 1, "F\n"}, Piece{6, 1, "G\n"}, SameLines},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestLines_KeepsLineEndings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, ours, theirs, want string }{
		{"a\r\nb\r\nc\r\n", "x\r\nb\r\nc\r\n", "a\r\nb\r\ny", "x\r\nb\r\ny"},
		{"a\nb\nc", "x\nb\nc", "a\nb\nc\nd", "x\nb\nc\nd"},
		{"a\nb\nc\n", "x\nb\nc\n", "a\nb\nc", "x\nb\nc"},
		{"a\nb\r\nc\n", "a\nb\r\nc\nd\r\n", "z\nb\r\nc\n", "z\nb\r\nc\nd\r\n"},
		{"a\rb\nc\n\x00", "q\rb\nc\n\x00", "a\rb\nc\n\xff", "q\rb\nc\n\xff"},
	} {
		if got, conflicts := Lines(c.base, c.ours, c.theirs); got != c.want || conflicts != nil {
			t.Errorf("Lines(%q, %q, %q) is %q, %v; want %q", c.base, c.ours, c.theirs, got, conflicts, c.want)
		}
	}
	// The ending of a line is part of it, so this changes the same line.
	if _, conflicts := Lines("a\nb", "a\nb\n", "a\nb\r\n"); len(conflicts) != 1 {
		t.Errorf("two endings for one line: %v", conflicts)
	}
}

// After more than a hundred differences the rest is one replacement, so a change in its middle
// conflicts. Changes before and after it do not.
func TestLines_ManyDifferencesAreOneReplacement(t *testing.T) {
	t.Parallel()
	var base, ours []string
	for i := range 1000 {
		base = append(base, fmt.Sprint(i))
		if i >= 100 && i < 900 && i%2 == 0 {
			ours = append(ours, fmt.Sprint("new", i))
			continue
		}
		ours = append(ours, fmt.Sprint(i))
	}
	with := func(line int) string {
		other := slices.Clone(base)
		other[line] = "theirs"
		return text(strings.Join(other, " "))
	}
	b, o := text(strings.Join(base, " ")), text(strings.Join(ours, " "))
	for _, line := range []int{0, 50, 950, 999} {
		if _, conflicts := Lines(b, o, with(line)); conflicts != nil {
			t.Errorf("a change of line %d conflicts with changes of lines 100 to 900", line)
		}
	}
	if _, conflicts := Lines(b, o, with(501)); len(conflicts) != 1 || conflicts[0].Rule != SameLines {
		t.Errorf("a change in the middle: %d conflicts", len(conflicts))
	}
}

func TestLines_LongTextsAreRefusedOnlyIfBothSidesChangedThem(t *testing.T) {
	t.Parallel()
	for name, long := range map[string]string{"base": "base", "ours": "ours", "theirs": "theirs"} {
		texts := map[string]string{"base": "a\nb\nc\n", "ours": "x\nb\nc\n", "theirs": "a\nb\ny\n"}
		texts[long] += strings.Repeat("\n", MaxLines-3)
		if _, conflicts := Lines(texts["base"], texts["ours"], texts["theirs"]); slices.ContainsFunc(conflicts, func(h Hunk) bool { return h.Rule == TooLong }) {
			t.Errorf("%s of %d lines is too long", name, MaxLines)
		}
		texts[long] += "more"
		_, conflicts := Lines(texts["base"], texts["ours"], texts["theirs"])
		if len(conflicts) != 1 || conflicts[0].Rule != TooLong || conflicts[0].Base.Text != texts["base"] || conflicts[0].Theirs.Text != texts["theirs"] {
			t.Errorf("%s of %d lines: %d conflicts", name, MaxLines+1, len(conflicts))
		}
	}
	long := strings.Repeat("\n", 2*MaxLines)
	if got, conflicts := Lines(long, long, "short"); got != "short" || conflicts != nil {
		t.Errorf("a long text that one side changed: %q, %v", got, conflicts)
	}
	if got, conflicts := Lines("short", long, long); got != long || conflicts != nil {
		t.Errorf("a long text that both sides made: %d bytes, %v", len(got), conflicts)
	}
}

// For all texts, no more than MaxLines lines of each are compared, by their numbers, and
// the table of their distances has no more than maxCells cells. Everything else is one pass over the bytes.
func TestLines_WorkIsBounded(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	for name, c := range map[string][3]string{
		"a million short lines":      {strings.Repeat("\n", size), strings.Repeat("\n", size-1), strings.Repeat("\n", size-2)},
		"lines of 1 MiB":             {strings.Repeat(strings.Repeat("a", 1<<20-1)+"\n", 4), strings.Repeat(strings.Repeat("a", 1<<20-1)+"\n", 3) + "b", "b" + strings.Repeat(strings.Repeat("a", 1<<20-1)+"\n", 3)},
		"the most lines, repeated":   {strings.Repeat("\n", MaxLines), strings.Repeat("\n", MaxLines-49), strings.Repeat("x\n", 49) + strings.Repeat("\n", MaxLines-49)},
		"the most lines, two kinds":  {strings.Repeat("a\nb\n", MaxLines/2), strings.Repeat("b\na\n", MaxLines/2), strings.Repeat("a\na\nb\n", MaxLines/3)},
		"nothing in common":          {strings.Repeat("a\n", MaxLines), strings.Repeat("b\n", MaxLines), strings.Repeat("c\n", MaxLines)},
		"long and repeated, changed": {strings.Repeat(strings.Repeat("y", 200)+"\n", MaxLines), strings.Repeat(strings.Repeat("y", 200)+"\n", MaxLines-60), "z\n" + strings.Repeat(strings.Repeat("y", 200)+"\n", MaxLines-1)},
		"from nothing":               {"", strings.Repeat("b\n", MaxLines), strings.Repeat("c\n", MaxLines)},
	} {
		_, conflicts := Lines(c[0], c[1], c[2])
		var known lexicon
		base := known.cut(c[0])
		if base == nil {
			if conflicts[0].Rule != TooLong {
				t.Errorf("%s: not too long", name)
			}
			continue
		}
		for _, other := range c[1:] {
			side := known.cut(other)
			if n := max(len(base.numbers), len(side.numbers)); n > MaxLines {
				t.Errorf("%s: %d lines are compared", name, n)
			}
			compared, _ := readings(base, side)
			if compared > maxCells {
				t.Errorf("%s: a table of %d cells", name, compared)
			}
		}
	}
}

// readings returns the size of the table with which two texts are compared, and what changed.
func readings(base, side *lines) (cells int, all []change) {
	all = changes(base, side)
	diffs := make([]diff, len(all))
	for i := range all {
		diffs[i] = all[i].diff
	}
	return len(newTable(base.numbers, side.numbers, diffs).cells), all
}

// triple draws a text and two changes of it. Lines that a side adds are of the given number of
// kinds; with 0, each is there once in all texts.
func triple(t *rapid.T, kinds int) (base, ours, theirs []string) {
	fresh := 0
	line := func() string {
		fresh++
		if kinds > 0 {
			return fmt.Sprint("k", rapid.IntRange(1, kinds).Draw(t, "kind"), "\n")
		}
		return fmt.Sprint("n", fresh, "\n")
	}
	for range rapid.IntRange(0, 30).Draw(t, "lines") {
		base = append(base, line())
	}
	change := func(name string, in []string) []string {
		out := slices.Clone(in)
		for range rapid.IntRange(0, 4).Draw(t, name) {
			at := rapid.IntRange(0, len(out)).Draw(t, "at")
			gone := min(rapid.IntRange(0, 2).Draw(t, "gone"), len(out)-at)
			var added []string
			for range rapid.IntRange(0, 2).Draw(t, "added") {
				added = append(added, line())
			}
			out = slices.Replace(out, at, at+gone, added...)
		}
		return out
	}
	both := change("both", base)
	ours, theirs = base, base
	if rapid.Bool().Draw(t, "shared") {
		ours, theirs = both, both // what both changed in the same way
	}
	ours, theirs = change("ours", ours), change("theirs", theirs)
	for _, side := range []*[]string{&base, &ours, &theirs} { // a last line without an ending
		if n := len(*side); n > 0 && rapid.IntRange(0, 4).Draw(t, "cut") == 0 {
			*side = slices.Clone(*side)
			(*side)[n-1] = strings.TrimSuffix((*side)[n-1], "\n")
		}
	}
	return base, ours, theirs
}

func join(lines []string) string { return strings.Join(lines, "") }

func TestLines_IsSymmetric(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b, o, u := triple(t, rapid.IntRange(0, 4).Draw(t, "kinds"))
		checkSymmetric(t, join(b), join(o), join(u))
	})
}

// checkSymmetric fails unless both orders of the sides have the same result, and unless merging with
// a side that changed nothing gives the other.
func checkSymmetric(t interface{ Fatalf(string, ...any) }, base, ours, theirs string) {
	merged, conflicts := Lines(base, ours, theirs)
	other, mirrored := Lines(base, theirs, ours)
	if merged != other || len(conflicts) != len(mirrored) {
		t.Fatalf("%q and %d conflicts one way, %q and %d conflicts the other way", merged, len(conflicts), other, len(mirrored))
	}
	for i, h := range conflicts {
		if turned := (Hunk{Base: h.Base, Ours: h.Theirs, Theirs: h.Ours, Rule: h.Rule}); turned != mirrored[i] {
			t.Fatalf("%v one way, %v the other way", h, mirrored[i])
		}
		for _, p := range []struct {
			piece Piece
			of    string
		}{{h.Base, base}, {h.Ours, ours}, {h.Theirs, theirs}} {
			if all := strings.SplitAfter(p.of, "\n"); join(all[p.piece.Line-1:p.piece.Line-1+p.piece.Lines]) != p.piece.Text {
				t.Fatalf("%v is not in %q", p.piece, p.of)
			}
		}
	}
	for _, c := range [][4]string{{base, base, ours, ours}, {base, ours, base, ours}, {base, ours, ours, ours}} {
		if got, conflicts := Lines(c[0], c[1], c[2]); got != c[3] || conflicts != nil {
			t.Fatalf("merged with an unchanged side: %q, %v; want %q", got, conflicts, c[3])
		}
	}
}

// A merged text has every line of either side that the other side did not delete, in the order of
// each side, and none that a side deleted.
func TestLines_LosesNoLine(t *testing.T) {
	t.Parallel()
	merges := 0
	rapid.Check(t, func(t *rapid.T) {
		base, ours, theirs := triple(t, 0)
		merged, conflicts := Lines(join(base), join(ours), join(theirs))
		if conflicts != nil {
			return
		}
		merges++
		got := strings.SplitAfter(merged, "\n")
		got = slices.DeleteFunc(got, func(l string) bool { return l == "" })
		var want []string
		for _, side := range [][2][]string{{ours, theirs}, {theirs, ours}} {
			var kept []string
			for _, line := range side[0] {
				if slices.Contains(base, line) && !slices.Contains(side[1], line) {
					continue // the other side deleted it
				}
				kept = append(kept, line)
			}
			shown := slices.DeleteFunc(slices.Clone(got), func(l string) bool { return !slices.Contains(side[0], l) })
			if diff := cmp.Diff(kept, shown); diff != "" && len(kept)+len(shown) > 0 {
				t.Fatalf("merged %q (-kept +shown)\n%s", merged, diff)
			}
			want = append(want, kept...)
		}
		for _, line := range got {
			if !slices.Contains(want, line) {
				t.Fatalf("merged %q: %q is of no side", merged, line)
			}
		}
	})
	if merges == 0 {
		t.Error("every triple conflicts: this shows nothing")
	}
}

func FuzzLines(f *testing.F) {
	f.Add("a\nb\nc\n", "x\nb\nc\n", "a\nb\ny")
	f.Add("a\r\nb", "", "\n\n\n")
	f.Add("- \n- \n- \n", "- \n- \n", "x\n- \n- \n- \n")
	f.Fuzz(func(t *testing.T, base, ours, theirs string) { checkSymmetric(t, base, ours, theirs) })
}
