package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"runtime/metrics"
)

// recorded is an answer of Sheaf, to be given again by the bare handler.
type recorded struct {
	Status int
	Header http.Header
	Body   []byte
}

// limitCommand is the limit for requests: a bare net/http handler that writes the bytes and headers that Sheaf wrote.
// It reads the answers, by path, from a file; any path that is not there gets the one of "".
func limitCommand(addr, stats, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var answers map[string]recorded
	if err := json.Unmarshal(text, &answers); err != nil {
		return err
	}
	go http.ListenAndServe(stats, http.HandlerFunc(writeStats))
	return http.ListenAndServe(addr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := answers[r.URL.Path]
		if !ok {
			a = answers[""]
		}
		h := w.Header()
		for name, value := range a.Header {
			h[name] = value
		}
		w.WriteHeader(a.Status)
		_, _ = w.Write(a.Body)
	}))
}

// writeStats answers with one line as a Prometheus registry writes it.
func writeStats(w http.ResponseWriter, _ *http.Request) {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	fmt.Fprintf(w, "go_memstats_alloc_bytes_total %d\n", sample[0].Value.Uint64())
}
