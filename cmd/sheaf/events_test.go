package main

import (
	"strings"
	"testing"
)

func TestEvents_OnTheCommandLine(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	first := r.id(t, "projects", "create", "first")
	r.id(t, "projects", "create", "second")
	all := r.list(t, "events", "list", "--type", "project.created", "--since", "1h")
	if len(all) != 2 || all[1]["resource_id"] != first { // the newest first
		t.Fatalf("listed %v", all)
	}
	event := all[1]["id"].(string)
	if newest := r.list(t, "events", "list", "--limit", "1"); len(newest) != 1 || newest[0]["id"] != all[0]["id"] {
		t.Errorf("the newest: %v", newest)
	}
	if old := r.list(t, "events", "list", "--oldest-first", "--limit", "1"); len(old) != 1 || old[0]["id"] != event {
		t.Errorf("the oldest: %v", old)
	}
	wantWords(t, r.do(t, "events", "list", "--resource", first), event, "project.created", "first")
	wantWords(t, r.do(t, "events", "get", event), event, "first")
	if after := r.list(t, "events", "list", "--after", event); len(after) != 1 {
		t.Errorf("after it: %v", after)
	}
	got := sheafWith(t, r.env, `{"n":1.00}`, "events", "publish", "share.created", first, "--payload", "-", "--json").succeeds(t)
	wantWords(t, got, `"payload":{"n":1.00}`)
}

func TestEventsTail_ShowsEventsAsTheyHappen(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.id(t, "projects", "create", "first")
	event := r.list(t, "events", "list")[0]["id"].(string)
	tailed := r.start(t, "events", "tail", "--since", "1h")
	tailed.says(t, "project.created", event, `"first"`)
	r.id(t, "projects", "create", "second")
	tailed.says(t, "project.created", `"second"`)
	tailed.end(t)
	if n := strings.Count(tailed.stdout.String(), "\n"); n != 2 {
		t.Errorf("%d lines: %s", n, tailed.stdout.String())
	}
	raw := r.start(t, "events", "tail", "--after", event, "--json")
	raw.says(t, `\{"id":"evt_`, `"name":"second"`)
	sheafWith(t, r.env, "", "events", "tail", "--after", "evt_00000000-0000-7000-8000-000000000000").fails(t, "no longer kept")
}
