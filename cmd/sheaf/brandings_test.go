package main

import "testing"

func TestBrandings_OnTheCommandLine(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	folder := r.id(t, "folders", "create", "Customers", "--type", "branding")
	id := r.id(t, "brandings", "create", "Acme", "--folder", folder, "--color", "#FFcc00", "--font", "serif", "--footer", "© Acme")
	wantWords(t, r.do(t, "brandings", "get", id), id, folder, "#FFcc00", "serif", "© Acme")
	wantWords(t, r.do(t, "folders", "get", folder), "1 branding")
	if got := r.json(t, "brandings", "update", id, "--name", "Beta", "--color", "", "--font", "", "--footer", ""); got["name"] != "Beta" ||
		got["color_primary"] != "#2563eb" || got["font"] != "system" || got["footer"] != nil {
		t.Errorf("updated %v", got)
	}
	if got := r.json(t, "brandings", "move", id, "root"); got["folder_id"] != nil {
		t.Errorf("moved %v", got)
	}
	if all := r.list(t, "brandings", "list", "--folder", "root", "-q", "bet", "--sort", "name"); len(all) != 1 {
		t.Errorf("listed %v", all)
	}
	if all := r.list(t, "brandings", "list", "--folder", folder); len(all) != 0 {
		t.Errorf("listed %v", all)
	}
	if got := r.json(t, "brandings", "delete", id); got["id"] != id || got["deleted"] != true {
		t.Errorf("deleted %v", got)
	}
}
