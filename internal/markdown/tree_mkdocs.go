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
		dir, err := t.docsDir(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		t.enter(dir)
		return nil
	}
	return nil
}

// docsDir reads the only mkdocs setting that matters here.
func (t *Tree) docsDir(name string) (string, error) {
	data, err := t.Read(name)
	if err != nil {
		return "", err
	}
	var settings yaml.Node // not Go values: themes use tags that only Python knows
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
