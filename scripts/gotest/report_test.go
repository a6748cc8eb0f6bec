package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// testdata/events.json is what go test -json said of seven small packages: one that passes, one that fails, panics,
// does not build, has no tests, skips, and one whose TestMain gives up. Times and stack traces were cut.
func TestReport_SaysWhatFailedAndWhatWasSkipped(t *testing.T) {
	const want = `# example.test/build [example.test/build.test]
build/a_test.go:3:32: undefined: undefined
--- FAIL: TestBoom (0.00s)
panic: boom [recovered, repanicked]

FAIL	example.test/boom	0.006s
FAIL	example.test/build [build failed]
    a_test.go:3: sub is wrong
--- FAIL: TestFails/sub (0.00s)
--- FAIL: TestFails (0.00s)
FAIL	example.test/fail	0.003s
?   	example.test/none	[no test files]
ok  	example.test/pass	0.003s
ok  	example.test/skip	0.010s
main says no
FAIL	example.test/tm	0.002s
skipped: example.test/skip TestSkips: a_test.go:3: needs a thing
3 passed, 5 failed, 1 skipped
`
	events, err := os.ReadFile("testdata/events.json")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	r := newReport(&out)
	if err := r.read(strings.NewReader(string(events))); err != nil {
		t.Fatal(err)
	}
	r.summary()
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// A test that never ended, because the process died of a time-out, has no event of its own.
func TestReport_ShowsTheOutputOfATestThatNeverEnded(t *testing.T) {
	var out strings.Builder
	r := newReport(&out)
	r.add(event{Action: "output", Package: "p", Output: "FAIL\tp\t1s\n"})
	r.add(event{Action: "output", Package: "p", Test: "TestHangs", Output: "panic: test timed out\n"})
	r.add(event{Action: "fail", Package: "p"})
	if got, want := out.String(), "panic: test timed out\nFAIL\tp\t1s\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if r.failed != 1 {
		t.Errorf("%d failures, want 1", r.failed)
	}
}

func TestReport_ALineThatIsNoEventIsPrinted(t *testing.T) {
	var out strings.Builder
	if err := newReport(&out).read(strings.NewReader("no JSON\nno newline")); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "no JSON\nno newline"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReport_OnlyACleanRunIsGood(t *testing.T) {
	exit := errors.New("exit status 1")
	for _, test := range []struct {
		name string
		r    *report
		err  error
		want string
	}{
		{"clean", &report{passed: 1}, nil, ""},
		{"failed", &report{passed: 1, failed: 1}, exit, "tests failed"},
		{"skipped", &report{passed: 1, skipped: []string{"p TestX"}}, nil, "tests were skipped, which is a failure here"},
		{"go test broke", &report{passed: 1}, exit, "go test: exit status 1"},
		{"nothing ran", &report{}, nil, "no test ran"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			if err := test.r.verdict(test.err); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestSplit_CutsTheArgumentsIntoRuns(t *testing.T) {
	got := fmt.Sprint(split([]string{"CGO_ENABLED=0", "./a", "--", "-race", "./b"}), split([]string{"./a"}))
	if want := "[[CGO_ENABLED=0 ./a] [-race ./b]] [[./a]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
