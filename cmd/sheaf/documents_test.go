package main

import "testing"

func TestDocuments_OnTheCommandLine(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	project := r.id(t, "projects", "create", "p")
	id := r.id(t, "documents", "create", "Start", "--description", "d")
	if got := r.json(t, "documents", "update", id, "--project", project, "--description", ""); got["project_id"] != project || got["description"] != nil {
		t.Errorf("updated %v", got)
	}
	lacks(t, r.do(t, "documents", "list", "--project", project), id, "Start")
	if got := r.json(t, "documents", "update", id, "--project", "none"); got["project_id"] != nil {
		t.Errorf("taken out %v", got)
	}
	if all := r.list(t, "documents", "list", "--project", "none", "--sort", "title"); len(all) != 1 {
		t.Errorf("in no project: %v", all)
	}
	r.do(t, "documents", "delete", id)
	sheafWith(t, r.env, "", "documents", "get", id).fails(t, "document not found")
	lacks(t, r.do(t, "documents", "restore", id), id)
	lacks(t, r.do(t, "documents", "get", id), "Start")
}
