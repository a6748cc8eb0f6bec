package main

import (
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
)

func TestWebhooks_OnTheCommandLine(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.Deliver(sheaf.Schedule{})
	hook, err := sheaftest.Receive(r.Webhooks.CA)
	if err != nil {
		t.Fatal(err)
	}
	defer hook.Close()
	hook.Always(500, "broken\nhere")
	wantWords(t, r.do(t, "webhooks", "create", "site", hook.URL, "--events", "media.uploaded,project.created", "--header", "X-A=b;c=d", "--header", "X-B=2"),
		"whsec_", "shown only now", "X-A X-B")
	id := r.list(t, "webhooks", "list")[0]["id"].(string)
	wantWords(t, r.do(t, "webhooks", "list"), id, "site", hook.URL)
	refused := sheafWith(t, r.env, "", "webhooks", "test", id)
	wantWords(t, refused.stdout, "delivered  no", "500", "broken here")
	if refused.code != 1 || !strings.Contains(refused.stderr, "was not delivered") {
		t.Errorf("a refused test ended with %d: %s", refused.code, refused.stderr)
	}

	event := r.id(t, "events", "publish", "media.uploaded", id, "--payload", `{"n":1}`)
	delivery := ""
	for delivery == "" {
		if failed := r.list(t, "webhooks", "deliveries", id, "--state", "failed"); len(failed) == 1 {
			delivery = failed[0]["id"].(string)
		}
	}
	wantWords(t, r.do(t, "webhooks", "delivery", delivery), event, "failed", "500", "broken here")
	wantWords(t, r.do(t, "events", "fates", event), id, delivery, "failed")
	hook.Always(204, "")
	wantWords(t, r.do(t, "webhooks", "test", id), "delivered  yes", "204")
	if got := r.json(t, "webhooks", "recover", id, "--since", "1h"); got["queued"] != 1.0 {
		t.Errorf("recovered %v", got)
	}
	for len(r.list(t, "webhooks", "deliveries", id, "--state", "delivered")) != 1 {
	}
	wantWords(t, r.do(t, "webhooks", "redeliver", delivery), delivery)

	if got := r.json(t, "webhooks", "rotate-secret", id, "--grace", "1h"); !strings.HasPrefix(got["secret"].(string), "whsec_") {
		t.Errorf("rotated %v", got)
	}
	if got := r.json(t, "webhooks", "update", id, "--no-active", "--clear-headers", "--name", "s"); got["active"] != false || len(got["header_names"].([]any)) != 0 {
		t.Errorf("updated %v", got)
	}
	wantWords(t, r.do(t, "webhooks", "get", id), "no, since", "manual")
	if got := r.json(t, "webhooks", "update", id, "--active", "--events", "share.created"); got["active"] != true || len(got["events"].([]any)) != 1 {
		t.Errorf("updated %v", got)
	}
	r.do(t, "webhooks", "delete", id)
	sheafWith(t, r.env, "", "webhooks", "test", id).fails(t, "not found")
}
