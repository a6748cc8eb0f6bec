package markdown

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

// D123: four kinds of exports, as folders and as archives, become what their golden files have.
func TestFixtures_BecomeDocuments(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"outline", "obsidian", "mkdocs", "plain"} {
		t.Run(name, func(t *testing.T) {
			w, z := newWorkspace(), newWorkspace()
			w.take(t, opened(t, "testdata/"+name), name)
			z.take(t, zipped(t, "testdata/"+name), name)
			if w.String() != z.String() {
				t.Errorf("the archive gives something else:\n%s", z)
			}
			golden := "testdata/" + name + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(w.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if w.String() != string(want) {
				t.Errorf("got\n%s", w)
			}
		})
	}
}

func TestFixtures_WhatIsLeftIsCounted(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][3]int{"outline": {0, 2, 2}, "obsidian": {0, 1, 1}, "mkdocs": {0, 1, 1}, "plain": {0, 0, 0}} {
		tree := opened(t, "testdata/"+name)
		l, err := Load(tree, name)
		if err != nil {
			t.Fatal(err)
		}
		if got := [3]int{l.Pictures, tree.Others(), len(l.Files())}; got != want {
			t.Errorf("%s: pictures that are not there, other files and media %v, want %v", name, got, want)
		}
	}
}

// D123: export, import and export again are equal, and a second import of the same finds nothing to
// do.
func TestRoundTrip_OfFixtures(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"testdata/outline", "testdata/obsidian", "testdata/mkdocs", "testdata/plain", "../../docs"} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace()
			w.take(t, opened(t, name), "one")
			if plan := w.take(t, opened(t, name), "one"); len(plan.Create)+len(plan.Update)+len(plan.Trash) > 0 {
				t.Errorf("a second time: %d, %d, %d", len(plan.Create), len(plan.Update), len(plan.Trash))
			}
			first := w.export(t)
			other := newWorkspace()
			other.take(t, first.tree(t), "two")
			sameFiles(t, other.export(t), first)

			if plan := w.take(t, first.tree(t), "one"); len(plan.Create)+len(plan.Update)+len(plan.Trash) > 0 {
				t.Errorf("into where it came from: %d, %d, %d", len(plan.Create), len(plan.Update), len(plan.Trash))
			}
		})
	}
}

// The documentation of this repository comes back unchanged: no file needs another form.
func TestRoundTrip_OfOurOwnDocs(t *testing.T) {
	t.Parallel()
	w := newWorkspace()
	plan := w.take(t, opened(t, "../../docs"), "docs")
	if len(plan.Create) < 40 {
		t.Fatalf("only %d documents", len(plan.Create))
	}
	want := ofFolder(t, "../../docs")
	for _, f := range plan.Upload { // what texts show or link to, at its path
		content, err := os.ReadFile("../../docs/" + f.Path)
		if err != nil {
			t.Fatal(err)
		}
		want[f.Path] = string(content)
	}
	if len(plan.Upload) < 5 {
		t.Errorf("only %d files", len(plan.Upload))
	}
	sameFiles(t, w.export(t), want)
	twice := 0
	for _, n := range w.versions {
		if n > 1 {
			twice++
		}
	}
	if twice > len(w.versions)/3 {
		t.Errorf("%d of %d documents needed a second version for their links", twice, len(w.versions))
	}
}
