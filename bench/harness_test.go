package main

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// If a program that a wanted part needs is missing, this is reported before anything is measured.
func TestChoose_MissesProgramsAtOnce(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := (&bench{quick: true}).choose("", ""); err == nil || !strings.Contains(err.Error(), "apt-get install chromium") {
		t.Errorf("all parts: %v", err)
	}
	if err := (&bench{quick: true}).choose("get,list", ""); err != nil {
		t.Errorf("parts without the console: %v", err)
	}
}

// A 503 and a connection that breaks are counted and repeated: the run goes on, and nothing is void.
func TestLoad_AStallIsCountedAndRepeated(t *testing.T) {
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch n.Add(1) {
		case 3:
			http.Error(w, "busy", http.StatusServiceUnavailable)
		case 5:
			panic(http.ErrAbortHandler)
		}
	}))
	defer s.Close()
	var requests [][]byte
	for range 10 {
		requests = append(requests, raw("GET", "/", owner{}, ""))
	}
	w := workload{Addr: s.Listener.Addr().String(), Conns: 1, Requests: requests, Once: true}
	m, err := w.run()
	if err != nil || m.Errors != 0 || m.Stalls != 2 || m.Count != 10 || n.Load() != 12 {
		t.Errorf("got %+v, %v, and %d requests came", m, err, n.Load())
	}
}

// Any other answer than 2xx still voids the row: it is not the machine's fault.
func TestLoad_AnotherStatusIsAnError(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	w := workload{Addr: s.Listener.Addr().String(), Conns: 1, Requests: [][]byte{raw("GET", "/", owner{}, "")}, Once: true}
	if m, err := w.run(); err != nil || m.Errors != 1 || m.Stalls != 0 || !strings.Contains(m.First, "404") {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestCall_AStallIsCountedAndRepeated(t *testing.T) {
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 1 {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		w.Write([]byte(`{"ID":"a"}`))
	}))
	defer s.Close()
	before := stalls.Load()
	var out struct{ ID string }
	err := (&process{addr: s.Listener.Addr().String()}).call(owner{}, "GET", "/", "", &out)
	if err != nil || out.ID != "a" || n != 2 || stalls.Load()-before != 1 {
		t.Errorf("got %v, %q after %d requests", err, out.ID, n)
	}
}

// What never gets better is an error, and not for ever.
func TestPersist_EndsWithAnError(t *testing.T) {
	err := persist(func() error { return errors.New("broken") })
	if err == nil || errors.Is(err, errStalled) {
		t.Errorf("got %v", err)
	}
}

// A part that fails is named, and the others are measured.
func TestTry_TheOthersAreMeasured(t *testing.T) {
	b := &bench{}
	b.try("get", func() error { return errors.New("the machine stood still") })
	b.try("list", func() error { b.keep(b.begin(row{Work: "list"})); return nil })
	var out bytes.Buffer
	b.results.print(&out)
	if len(b.results.Rows) != 1 || !strings.Contains(out.String(), "not measured: get: the machine stood still") {
		t.Errorf("got %s", &out)
	}
	b.only = []string{"list"}
	b.try("get", func() error { t.Error("get was not asked for"); return nil })
}

func TestProcessors_Steal(t *testing.T) {
	before := parseProcessors("cpu  100 0 100 700 50 0 0 50 9 9\ncpu0 1 2 3\n")
	after := parseProcessors("cpu  150 0 150 770 50 10 0 70 99 99\n")
	if before != (processors{1000, 50}) || after != (processors{1200, 70}) {
		t.Errorf("got %v, %v", before, after)
	}
	if got := after.stealSince(before); got != 0.1 {
		t.Errorf("steal is %v", got)
	}
	if got := before.stealSince(before); got != 0 {
		t.Errorf("in no time: %v", got)
	}
}

// Above 10 % of steal a row and its promises are marked, and the conditions are in the table.
func TestResults_ARowUnderStealIsMarked(t *testing.T) {
	for steal, marked := range map[float64]bool{0.05: false, 0.10: false, 0.11: true} {
		r := &row{Work: "create", Unit: "/s", Under: conditions{Steal: steal, Fsync: 1.25, Stalls: 7}}
		r.figure("sheaf").add(sample{value: 100, cpu: 59})
		r.figure("peer").add(sample{value: 50})
		r.atLeast(1.5, "sheaf", "peer", "≥ %g × the peer")
		var out bytes.Buffer
		(&results{Rows: []*row{r}}).print(&out)
		if got := strings.Count(out.String(), "(not to be trusted)"); got != map[bool]int{true: 3, false: 0}[marked] {
			t.Errorf("steal %v: marked %d times\n%s", steal, got, &out)
		}
		for _, want := range []string{"steal %", "fsync ms", "1.25", "stalls", " 7", "CPU µs", " 59"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in\n%s", want, &out)
			}
		}
	}
}

// The conditions of a row are those between its begin and its keep.
func TestBegin_NotesTheConditions(t *testing.T) {
	b := &bench{dir: t.TempDir()}
	stalls.Add(5)
	r := b.begin(row{Work: "x"})
	stalls.Add(2)
	b.keep(r)
	if r.Under.Stalls != 2 || r.Under.Fsync <= 0 || r.Under.Steal < 0 || r.Under.Steal > 1 || len(r.fsyncs) != 5 || r.fsyncs[0] <= time.Duration(0) {
		t.Errorf("got %+v", r.Under)
	}
}
