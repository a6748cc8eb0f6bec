package merge

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// git merge-file merges by the same rules, so what it merges is the same text. It never finds a
// conflict where Lines merges. Where Lines finds a conflict and git merges, lines repeat: git then
// takes one of several readings of a change.
func TestLines_MergesNothingThatGitDoesNot(t *testing.T) {
	t.Parallel()
	triples := 400
	if os.Getenv("SHEAF_LONG") == "1" {
		triples = 10_000
	}
	type count struct{ merged, conflicts, stricter int }
	var mu sync.Mutex // guards counts
	var counts count
	var all sync.WaitGroup
	for worker := range 2 {
		dir := t.TempDir()
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(worker), 34))
			for range triples / 2 {
				kinds := []int{2, 3, 5, 20, 1 << 30}[r.IntN(5)]
				base := randomLines(r, r.IntN(40), kinds)
				ours, theirs := randomChange(r, base, kinds), randomChange(r, base, kinds)
				got, conflicts := Lines(join(base), join(ours), join(theirs))
				want, merges, err := gitMerge(dir, join(base), join(ours), join(theirs))
				mu.Lock()
				switch {
				case err != nil:
					t.Error(err)
				case conflicts == nil && !merges:
					t.Errorf("git sees a conflict in base %q, ours %q, theirs %q; merged %q", base, ours, theirs, got)
				case conflicts == nil && got != want:
					t.Errorf("base %q, ours %q, theirs %q: merged %q; git %q", base, ours, theirs, got, want)
				case conflicts == nil:
					counts.merged++
				case !merges:
					counts.conflicts++
				default:
					counts.stricter++
					if kinds == 1<<30 {
						t.Errorf("git merges base %q, ours %q, theirs %q, which repeat no line; conflicts %v", base, ours, theirs, conflicts)
					}
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	t.Logf("%d merged, %d conflicts for both, %d conflicts that git merges", counts.merged, counts.conflicts, counts.stricter)
	if counts.merged < triples/4 || counts.conflicts < triples/10 {
		t.Error("too few of one kind: this shows little")
	}
}

func randomLines(r *rand.Rand, n, kinds int) (out []string) {
	for range n {
		out = append(out, fmt.Sprintf("k%d\n", r.IntN(kinds)))
	}
	return out
}

// randomChange changes up to three runs of lines, and sometimes the ending of the last line.
func randomChange(r *rand.Rand, base []string, kinds int) []string {
	out := slices.Clone(base)
	for range r.IntN(4) {
		at := r.IntN(len(out) + 1)
		gone := min(r.IntN(3), len(out)-at)
		out = slices.Replace(out, at, at+gone, randomLines(r, r.IntN(3), kinds)...)
	}
	if n := len(out); n > 0 && r.IntN(8) == 0 {
		out[n-1] = strings.TrimSuffix(out[n-1], "\n")
	}
	return out
}

func gitMerge(dir, base, ours, theirs string) (merged string, ok bool, err error) {
	for name, text := range map[string]string{"base": base, "ours": ours, "theirs": theirs} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return "", false, err
		}
	}
	cmd := exec.Command("git", "merge-file", "-p", "-q", "ours", "base", "theirs")
	cmd.Dir = dir
	out, err := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code > 0 && code < 128 { // the number of conflicts
		return "", false, nil
	}
	return string(out), err == nil, err
}
