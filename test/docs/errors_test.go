package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The page of errors, with a remedy for each, and the contract have every code of the API, and no other.
func TestErrors_HaveEveryCode(t *testing.T) {
	known := matches(t, "internal/sheaf/error.go", `Code = "([A-Z_]+)"`)
	if len(known) < 10 {
		t.Fatalf("the program has the codes %v: are they declared in another way now?", known)
	}
	for page, row := range map[string]string{
		"docs/errors.md":   "(?m)^\\| \\d{3} \\| `([A-Z_]+)` \\| \\S[^|]*\\| \\S[^|]*\\|$",
		"docs/contract.md": "(?m)^\\| \\d{3} \\| `([A-Z_]+)` \\| \\S[^|]*\\|$",
	} {
		shown := matches(t, page, row)
		for _, code := range known {
			if !slices.Contains(shown, code) {
				t.Errorf("%s lacks %s, or what there is to say of it", page, code)
			}
		}
		for _, code := range shown {
			if !slices.Contains(known, code) {
				t.Errorf("%s has %s, which no answer has", page, code)
			}
		}
	}
}

// matches returns what the group of a pattern finds in a file of the repository.
func matches(t *testing.T, path, pattern string) (found []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(b), -1) {
		found = append(found, m[1])
	}
	return found
}

// The page about upgrades has every schema with the oldest program that may serve it, as the migrations say.
func TestUpgrading_HasEverySchema(t *testing.T) {
	oldest := func(engine string) (all []string) {
		files, err := filepath.Glob(root + "/internal/store/migrations/" + engine + "/*.sql")
		if err != nil || len(files) == 0 {
			t.Fatalf("no migrations found: %v", err)
		}
		for _, file := range files {
			path, err := filepath.Rel(root, file)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, matches(t, path, `schema_compat \(version, oldest\) VALUES \((\d+, \d+)\)`)...)
		}
		return all
	}
	known := oldest("sqlite")
	for i, row := range oldest("postgres") {
		if row != known[i] {
			known[i] += "; PostgreSQL:" + row[strings.LastIndexByte(row, ' '):]
		}
	}
	var shown []string
	for _, row := range matches(t, "docs/upgrading.md", `(?m)^(\| \d+ \|.*\| \d+(?:; PostgreSQL: \d+)? \|)$`) {
		shown = append(shown, regexp.MustCompile(`^\| (\d+) \|.*\| (\d+(?:; PostgreSQL: \d+)?) \|$`).ReplaceAllString(row, "$1, $2"))
	}
	if !slices.Equal(known, shown) {
		t.Errorf("the migrations say %q and docs/upgrading.md %q", known, shown)
	}
}
