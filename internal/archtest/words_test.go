package archtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// unclear are phrases that make a reader guess who acts, which thing is meant, or when. The second text
// says what to write instead. CONTRIBUTING.md ("Language") has the rules and examples.
var unclear = []struct{ phrase, instead string }{
	{"as good as", "say what holds: is treated as, counts as"},
	{"astray", "say what is wrong with it"},
	{"by and by", "say when: periodically, in batches"},
	{"came to be", "use the verb: became, was created"},
	{"comes to be", "use the verb: becomes, is created"},
	{"for whom", "name the noun again"},
	{"in vain", "say what happens: times out, fails, finds nothing"},
	{"made anew", "use the verb: rebuilt, rewritten, reset"},
	{"makes anew", "use the verb: rebuilds, rewrites, resets"},
	{"nobody is", "name who is not: no caller is, no process is"},
	{"of before", "say previous, or since when"},
	{"of which", "repeat the noun, or start a new sentence"},
	{"so many", "name the number: at most `most` records"},
	{"tells whether", "use the verb: reports whether, shows whether"},
	{"what becomes of", "name the result"},
	{"what became of", "name the result"},
	{"whoever", "name the actor: the caller, the person who"},
}

// quoted are the phrases that stay, each in one file and for a reason: a quotation or an identifier of code.
var quoted = []struct{ path, phrase, why string }{
	{"CONTRIBUTING.md", "by and by", "an example of what not to write"},
	{"CONTRIBUTING.md", "so many", "an example of what not to write"},
	{"CONTRIBUTING.md", "whoever", "an example of what not to write"},
}

// proseIn are the endings of the files that people read: comments, messages, pages.
var proseIn = []string{".go", ".md", ".html", ".yaml", ".sql", ".js", ".ts", ".py"}

// TestWords_AreClear fails on every unclear phrase in comments, messages and pages.
func TestWords_AreClear(t *testing.T) {
	kept := map[string]bool{}
	for _, q := range quoted {
		if q.why == "" {
			t.Errorf("%s may keep %q for no reason: give one", q.path, q.phrase)
		}
		kept[q.path+" "+q.phrase] = false
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if skipped := d.Name(); path != root && (strings.HasPrefix(skipped, ".") || skipped == "node_modules" || skipped == "dist") {
				return fs.SkipDir
			}
			return nil
		}
		name := strings.TrimPrefix(filepath.ToSlash(path), root+"/")
		if !slices.Contains(proseIn, filepath.Ext(path)) || name == "internal/archtest/words_test.go" {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, f := range findUnclear(string(text)) {
			if _, ok := kept[name+" "+f.phrase]; ok {
				kept[name+" "+f.phrase] = true
			} else {
				t.Errorf("%s:%d: %q is hard to read: %s", name, f.line, f.phrase, f.instead)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for at, found := range kept {
		if !found {
			t.Errorf("quoted has %q, which is no longer there: remove the entry", at)
		}
	}
}

type foundPhrase struct {
	phrase, instead string
	line            int
}

// findUnclear returns the unclear phrases of a text with their lines. Between two words of a phrase may be
// whatever separates lines of a comment, of a paragraph or of a text in quotes.
func findUnclear(text string) (found []foundPhrase) {
	text = strings.ToLower(text)
	for _, u := range unclear {
		words := strings.Fields(u.phrase)
		if !strings.Contains(text, words[len(words)-1]) {
			continue // most files: spares them the pattern, which is slow
		}
		pattern := regexp.MustCompile(`\b` + strings.Join(words, `[\s/*#"+>|-]+`) + `\b`)
		for _, at := range pattern.FindAllStringIndex(text, -1) {
			found = append(found, foundPhrase{u.phrase, u.instead, 1 + strings.Count(text[:at[0]], "\n")})
		}
	}
	return found
}

func TestWords_UnclearOnesAreFound(t *testing.T) {
	for text, want := range map[string]string{
		"// It counts as good as new.":                 "[as good as:1]",
		"package p\n\n\t// It waits in\n\t// vain.\n":  "[in vain:3]",
		"For whom?\nthat of\nwhich it speaks":          "[for whom:1 of which:2]",
		"fmt.Errorf(\"the path went \" +\n\"astray\")": "[astray:2]",
		"# waits in\n# vain":                           "[in vain:1]",
		"standby and bypass, inveighing, maintain":     "[]",
	} {
		got := []string{}
		for _, f := range findUnclear(text) {
			got = append(got, fmt.Sprintf("%s:%d", f.phrase, f.line))
		}
		if s := fmt.Sprint(got); s != want {
			t.Errorf("%q has %s, want %s", text, s, want)
		}
	}
}
