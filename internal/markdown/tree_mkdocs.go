package markdown

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// enterMkdocs makes the folder of the documents the root of a tree that has a mkdocs.yml, as mkdocs
// itself does: its paths and links begin there, and what lies beside it is no page.
func (t *Tree) enterMkdocs() error {
	for _, name := range []string{"mkdocs.yml", "mkdocs.yaml"} {
		if !slices.Contains(t.others, name) {
			continue
		}
		dir, err := t.docsDir(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		t.enter(dir)
		return nil
	}
	return nil
}

// docsDir reads the one setting of mkdocs that matters here.
func (t *Tree) docsDir(name string) (string, error) {
	data, err := t.Read(name)
	if err != nil {
		return "", err
	}
	var settings yaml.Node // no Go values: themes put tags there that only Python knows
	if err := yaml.Unmarshal(data, &settings); err != nil {
		return "", err
	}
	dir := "docs"
	if len(settings.Content) == 1 {
		pairs := settings.Content[0].Content
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i].Value == "docs_dir" && pairs[i+1].Kind == yaml.ScalarNode {
				dir = pairs[i+1].Value
			}
		}
	}
	return path.Clean(dir), nil
}

// enter leaves only what is in a folder of the tree; a folder without Markdown changes nothing.
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
