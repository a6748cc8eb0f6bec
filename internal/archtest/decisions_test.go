package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rows are the decisions that complete the contract, by their numbers. Each must be named by the test that proves it.
var rows = strings.Fields(`
	D1 D2 D3 D4 D5 D6 D7 D8 D9 D10 D11 D12 D13 D14 D15 D16 D17 D18 D19
	D20 D21 D22 D23 D24 D25 D26 D27 D28
	D30 D31 D32 D33 D34 D35 D36
	D40 D41
	D50 D51 D52 D52a D53 D54 D55 D56 D57 D58
	D60 D61 D62 D63 D63a D63b D64 D64a D64b D64c D65 D66 D67 D68 D68a D69
	D70 D71 D72`)

var (
	// naming is a comment that begins with a row: "// D8, D11: every route".
	naming = regexp.MustCompile(`^\s*// D[0-9]+`)
	row    = regexp.MustCompile(`\bD[0-9]+[a-z]?\b`)
)

// provenIn returns the rows that the tests of a file name.
func provenIn(source string) (found []string) {
	for line := range strings.Lines(source) {
		if naming.MatchString(line) {
			found = append(found, row.FindAllString(line, -1)...)
		}
	}
	return found
}

func TestDecisions_HaveATestThatNamesThem(t *testing.T) {
	var found []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		found = append(found, provenIn(string(source))...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if !slices.Contains(found, r) {
			t.Errorf("no test names %s: the one that proves it begins with the comment // %s", r, r)
		}
	}
}

// The control: what counts as naming a row, and what does not.
func TestDecisions_AreFoundInComments(t *testing.T) {
	for source, want := range map[string]string{
		"// D12\nfunc TestX":          "D12",
		"\t// D8, D52a: both of them": "D8 D52a",
		"// D1":                       "D1",
		"// see D12":                  "",
		"x := \"D12\"":                "",
		"//D12":                       "",
		"// D12x3":                    "",
	} {
		if got := strings.Join(provenIn(source), " "); got != want {
			t.Errorf("%q names %q, want %q", source, got, want)
		}
	}
}
