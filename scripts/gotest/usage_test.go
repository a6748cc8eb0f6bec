package main

import (
	"strings"
	"testing"
)

func TestUsage_TheMostExpensivePackagesComeFirst(t *testing.T) {
	notes := "1000000000 500000000 /src/clone/internal/quick\nno note\n62000000000 90400000000 /src/clone/internal/a b\n"
	var out strings.Builder
	printUsage(&out, readUsage(strings.NewReader(notes), "/src/clone"))
	const want = `  elapsed  processor  tests of
     1m2s      1m30s  internal/a b
       1s         1s  internal/quick
     1m3s      1m31s  all 2, some beside each other; builds are not in it
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
