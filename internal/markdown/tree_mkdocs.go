package markdown

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// enterMkdocs handles a tree with a mkdocs.yml as mkdocs does: the folder of the documents becomes
// the root. Paths and links begin there, and files outside of it are not pages.
func (t *Tree) enterMkdocs() error {
	for _, name := range []string{"mkdocs.yml", "mkdocs.yaml"} {
		if !slices.Contains(t.others, name) {
			continue
		}
		dir, nav, err := t.mkdocsSettings(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		t.enter(dir)
		t.kind = mkdocs
		if nav != nil {
			t.nav = t.readNav(nav, 1)
		}
		return nil
	}
	return nil
}

// mkdocsSettings reads the mkdocs settings that matter here. nav is nil if there is none.
func (t *Tree) mkdocsSettings(name string) (dir string, nav *yaml.Node, err error) {
	data, err := t.Read(name)
	if err != nil {
		return "", nil, err
	}
	var settings yaml.Node // not Go values: themes use tags that only Python knows
	if err := yaml.Unmarshal(data, &settings); err != nil {
		return "", nil, err
	}
	dir = "docs"
	if len(settings.Content) == 1 {
		pairs := settings.Content[0].Content
		for i := 0; i+1 < len(pairs); i += 2 {
			switch value := pairs[i+1]; {
			case pairs[i].Value == "docs_dir" && value.Kind == yaml.ScalarNode:
				dir = value.Value
			case pairs[i].Value == "nav":
				nav = value
			}
		}
	}
	return path.Clean(dir), nav, nil
}

// enter keeps only what is in the folder `dir`. If that has no Markdown, nothing changes.
func (t *Tree) enter(dir string) {
	inside := func(paths []string) (in []string) {
		for _, p := range paths {
			if rest, ok := strings.CutPrefix(p, dir+"/"); ok {
				in = append(in, rest)
			}
		}
		return in
	}
	paths := inside(t.paths)
	if len(paths) == 0 {
		return
	}
	t.paths, t.others = paths, inside(t.others)
	names := map[string]string{}
	for p, name := range t.names {
		if rest, ok := strings.CutPrefix(p, dir+"/"); ok {
			names[rest] = name
		}
	}
	t.names = names
}
