package main

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }

const source = "// Package a is small.\npackage a\n\nimport \"fmt\" // for Println\n\n/* two\nlines */\nconst text = `\n// no comment\n\n`\n\n" +
	"func one() {}\n\nfunc three() {\n\tfmt.Println(text) // why\n}\n"

func TestRooms_AreMeasured(t *testing.T) {
	rooms := map[string]*room{}
	for _, file := range []string{"cmd/a/a.go", "cmd/a/b.go"} {
		if err := measure(rooms, file, []byte(source)); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	printBoth(&out, map[string]*room{"gone": {code: 1234, lines: 1234, comments: 617, functions: []int{5, 1, 9}}}, rooms)
	const want = `| Package | Lines of code | Functions | Comments | Median | 90 % |
|---|---:|---:|---:|---:|---:|
| ` + "`cmd/a`" + ` | – → 20 | – → 4 | – → 38 % | – → 1 | – → 3 |
| ` + "`gone`" + ` | 1,234 → – | 3 → – | 50 % → – | 5 → – | 5 → – |
| **all** | 1,234 → 20 | 3 → 4 | 50 % → 38 % | 5 → 1 | 5 → 3 |
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestRooms_AreThoseOfTheProgram(t *testing.T) {
	for file, want := range map[string]bool{
		"internal/app/app.go": true, "internal/app/app_test.go": false, "internal/sheaftest/plant/plant.go": false,
		"internal/store/storetest/suite.go": false, "scripts/rooms/main.go": false, "internal/x/testdata/a.go": false,
		"README.md": false, "client/client.go": true, "testing/a.go": true,
	} {
		if counts(file) != want {
			t.Errorf("%s counts: %v", file, !want)
		}
	}
}

func TestRooms_TableTakesThePlaceOfTheLast(t *testing.T) {
	for text, want := range map[string]string{
		"a\n\n" + mark + "| old |\n":                  "a\n\n" + mark + "| new |\n",
		"a\n\n" + mark + "| old |\n| b |\n\nbehind\n": "a\n\n" + mark + "| new |\n\nbehind\n",
	} {
		if got, err := replaceTable(text, "| new |\n"); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if _, err := replaceTable("nothing", ""); err == nil {
		t.Error("a page without the mark was taken")
	}
}
