package main

import "testing"

func TestFolders_OnTheCommandLine(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	a := r.id(t, "folders", "create", "a", "--color", "#000000")
	b := r.id(t, "folders", "create", "b", "--parent", a)
	wantWords(t, r.do(t, "folders", "get", b), b, a, "project")
	if got := r.json(t, "folders", "update", a, "--name", "c", "--color", ""); got["name"] != "c" || got["color"] != "#6b7280" {
		t.Errorf("updated %v", got)
	}
	if got := r.json(t, "folders", "move", b, "root"); got["parent_id"] != nil {
		t.Errorf("moved %v", got)
	}
	if all := r.list(t, "folders", "list", "--parent", "root", "--type", "project"); len(all) != 2 {
		t.Errorf("listed %v", all)
	}
	if got := r.json(t, "folders", "delete", b); got["id"] != b || got["deleted"] != true {
		t.Errorf("deleted %v", got)
	}
}

func TestFoldersTree_IsDrawn(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	wantWords(t, r.do(t, "folders", "tree"), "no folders")
	products := r.id(t, "folders", "create", "Products")
	desk := r.id(t, "folders", "create", "Desk\nTop", "--parent", products)
	r.id(t, "folders", "create", "Deep", "--parent", desk)
	r.id(t, "folders", "create", "Phone", "--parent", products)
	r.id(t, "folders", "create", "Brand", "--type", "branding")
	r.id(t, "projects", "create", "Handbook", "--folder", desk)
	r.id(t, "projects", "create", "Loose")
	want := `├── Products/  (0 projects)
│   ├── Desk Top/  (1 project)
│   │   └── Deep/  (0 projects)
│   └── Phone/  (0 projects)
└── Brand/  (0 brandings)
`
	if got := r.do(t, "folders", "tree"); got != want {
		t.Errorf("drew\n%swant\n%s", got, want)
	}
	want = `├── Products/  (0 projects)
│   ├── Desk Top/  (1 project)
│   │   ├── Deep/  (0 projects)
│   │   └── Handbook  (0 documents)
│   └── Phone/  (0 projects)
└── Loose  (0 documents)
`
	if got := r.do(t, "folders", "tree", "--type", "project", "--projects"); got != want {
		t.Errorf("drew\n%swant\n%s", got, want)
	}
	wantWords(t, r.do(t, "folders", "tree", "--ids"), products, desk)
	tree := r.list(t, "folders", "tree", "--projects")
	if len(tree) != 3 || len(tree[0]["children"].([]any)) != 2 || tree[2]["project"].(map[string]any)["name"] != "Loose" {
		t.Errorf("as JSON: %v", tree)
	}
}
