package model

import (
	"flag"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/sheaftest/proof"
)

// workers is how many sequences run beside each other, each on databases of their own: more than processors, since
// each waits for the disk most of the time.
const workers = 4

func TestMain(m *testing.M) {
	flag.Parse()
	preset("rapid.checks", fmt.Sprint(proof.Rounds(quick, 5_000, 50_000)/workers))
	preset("rapid.steps", "50")
	preset("test.parallel", fmt.Sprint(workers))
	debug.SetGCPercent(400) // the engines of the tests leave much behind, and memory is not short
	goleak.VerifyTestMain(sheaftest.Patient(m))
}

// preset sets a flag that was not given.
func preset(name, value string) {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if !given {
		setFlag(name, value)
	}
}

func setFlag(name, value string) (before string) {
	before = flag.Lookup(name).Value.String()
	if err := flag.Set(name, value); err != nil {
		panic(err)
	}
	return before
}

func newPair(t testing.TB) *pair {
	return &pair{now: time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC), engines: []*engine{
		newEngine(t, "sqlite", apitest.SQLite(t, apitest.Quiet)), newEngine(t, "postgres", apitest.Postgres(t, apitest.Quiet))}}
}

// A failing sequence is shrunk, and printed as its requests; -rapid.seed runs it again.
func TestModel_AgreesWithBothEngines(t *testing.T) {
	pairs := []*pair{}
	for range workers {
		pairs = append(pairs, newPair(t))
	}
	// The controls run alone: they change how long rapid tries.
	row := proof.Row{Name: "model, SQLite and PostgreSQL", Control: "a model with a fourth level; a server deaf to If-Match"}
	row.Caught = caught(t, fourthLevel(pairs[0]), "400, want 20") && caught(t, deaf(pairs[0]), "want 412", "400, want", "201, want 404") // a decision without it, and what a PUT makes that should match
	t.Run("sequences", func(t *testing.T) {
		for i, p := range pairs {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, p.sequence)
			})
		}
	})
	total := counts{}
	for _, p := range pairs {
		total.sequences += p.counts.sequences
		total.requests += p.counts.requests
		total.accepted += p.counts.accepted
		total.undecided += p.counts.undecided
		total.unreviewed += p.counts.unreviewed
		row.Lost += p.ailments(t)
	}
	if t.Failed() {
		row.Lost++
	}
	row.Figures = []proof.Figure{{Name: "sequences", Value: total.sequences}, {Name: "requests", Value: total.requests},
		{Name: "proposals accepted", Value: total.accepted}, {Name: "conflicting or not approved", Value: total.undecided}, {Name: "unreviewed changes refused", Value: total.unreviewed},
		{Name: "differences", Value: row.Lost}}
	row.Report(t)
}

// ailments counts what the doctor finds in the databases.
func (p *pair) ailments(t *testing.T) (n int) {
	for _, e := range p.engines {
		for _, v := range e.api.Doctor() {
			t.Errorf("%s: %s", e.name, v)
			n++
		}
	}
	return n
}

// fourthLevel is the pair against a model that nests too deep.
func fourthLevel(p *pair) *pair {
	return &pair{engines: p.engines, now: p.now, change: func(m *model) { m.maxDepth = 4 }}
}

// deaf returns the pair with a second engine that ignores If-Match, except for a PUT: if a PUT finds no record,
// it may be refused for more than one reason.
func deaf(p *pair) *pair {
	e := *p.engines[1]
	e.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut {
			r.Header.Del("If-Match")
		}
		p.engines[1].handler.ServeHTTP(w, r)
	})
	return &pair{engines: []*engine{p.engines[0], &e}, now: p.now}
}

// caught reports whether the planted fault was found by one of these signs. A proof shows by which requests, and so does
// a control that missed it: elsewhere these would bury those of a failure.
func caught(t *testing.T, p *pair, signs ...string) bool {
	shrink := fmt.Sprintf("%dms", proof.Rounds(1, 5_000, 5_000))
	defer setFlag("rapid.shrinktime", setFlag("rapid.shrinktime", shrink))
	defer setFlag("rapid.checks", setFlag("rapid.checks", "300"))
	defer setFlag("rapid.nofailfile", setFlag("rapid.nofailfile", "true"))
	var w witness
	done := make(chan struct{})
	go func() { // which FailNow ends
		defer close(done)
		rapid.Check(&w, p.sequence)
	}()
	<-done
	seen := w.failed && slices.ContainsFunc(signs, func(s string) bool { return strings.Contains(w.text, s) })
	if !seen || proof.Rounds(0, 1, 1) > 0 {
		t.Logf("the planted fault, after %d sequences: %s", p.counts.sequences, w.text)
	}
	return seen
}

// witness is a test that ought to fail.
type witness struct {
	failed bool
	text   string // the sequence that shows it
}

func (*witness) Helper()                 {}
func (*witness) Name() string            { return "planted" }
func (*witness) Skipf(string, ...any)    {}
func (*witness) Skip(...any)             {}
func (*witness) SkipNow()                { runtime.Goexit() }
func (w *witness) Fail()                 { w.failed = true }
func (w *witness) Failed() bool          { return w.failed }
func (w *witness) Error(...any)          { w.failed = true }
func (w *witness) Errorf(string, ...any) { w.failed = true }
func (w *witness) Log(args ...any)       { w.Logf("%s", fmt.Sprint(args...)) }
func (w *witness) Fatal(args ...any)     { w.Fatalf("%s", fmt.Sprint(args...)) }

// FailNow ends the goroutine, as that of a test.
func (w *witness) FailNow() {
	w.failed = true
	runtime.Goexit()
}

// Logf keeps what a sequence says of its end.
func (w *witness) Logf(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); strings.Contains(text, "answers otherwise") {
		w.text = text
	}
}

// Fatalf ends it too.
func (w *witness) Fatalf(string, ...any) { w.FailNow() }
