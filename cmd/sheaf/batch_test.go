package main

import (
	"os"
	"path/filepath"
	"testing"
)

// D130: a batch from a file or standard input, and its refusals.
func TestBatch_OnTheCommandLine(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	file := filepath.Join(t.TempDir(), "batch.json")
	const two = `[{"action":"create","resource_type":"project","body":{"name":"Handbook"}},
		{"action":"create","resource_type":"document","body":{"title":"Start","project_id":"$0"}}]`
	if err := os.WriteFile(file, []byte(two), 0o600); err != nil {
		t.Fatal(err)
	}
	wantWords(t, r.do(t, "batch", file, "--idempotency-key", "k"), "201", "project", "document")
	r.do(t, "batch", file, "--idempotency-key", "k")
	if got := r.list(t, "documents", "list"); len(got) != 1 || got[0]["title"] != "Start" || got[0]["project_id"] == nil {
		t.Errorf("documents: %v", got)
	}
	sheafWith(t, r.env, `{"operations":[{"action":"create","resource_type":"document","body":{"title":"Loose"}}]}`, "batch").succeeds(t)
	sheafWith(t, r.env, `[{"action":"create","resource_type":"document","body":{"title":"Never"}},{"action":"delete","resource_type":"project"}]`,
		"batch", "-").fails(t, "operations[1]: resource_id is required")
	sheafWith(t, r.env, `nonsense`, "batch").fails(t, "array of operations")
	if got := r.list(t, "documents", "list"); len(got) != 2 {
		t.Errorf("documents: %v", got)
	}
}
