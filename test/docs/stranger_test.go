package docs

import (
	"slices"
	"strings"
	"testing"
)

// A stranger has the README alone. He starts the service as it says, takes the tour, follows its link to the quick
// start and does what stands there: opens the reference, makes a key, runs a recipe, receives a verified webhook
// through sheaf listen, exports, imports into a second instance and compares. Every command is the pages' own.
func TestStranger_FromTheREADMEAlone(t *testing.T) {
	t.Parallel()
	readme, blocks := read(t, "README.md")
	if !strings.Contains(readme, "](docs/quickstart.md)") {
		t.Fatal("the README does not lead to the quick start")
	}
	quickstart, more := read(t, "docs/quickstart.md")
	s := open(t, append(slices.Clone(blocks), more...))
	s.page("README.md", readme, blocks)
	s.page("docs/quickstart.md", quickstart, more)
	for _, step := range []string{"sheaf serve", "/docs", "/api/v1/api-keys", "sheaf listen", "sheaf export", "sheaf import", "diff"} {
		if !strings.Contains(commands(blocks)+commands(more), step) {
			t.Errorf("no command of the two pages has %s", step)
		}
	}
}
