// Package plant builds the program with one fault in it, to see whether the tests notice. Nothing
// is written into the tree, and no line of the program knows of it: the go command reads other
// files in the place of those that the fault is in.
package plant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// A Fault is one mistake in the program: the edits that make it, in one file or in several.
type Fault []Edit

// An Edit replaces text that its file, named from the module's root, has once. Without an old text
// the file is one that the tree lacks.
type Edit struct {
	File     string
	Old, New string
}

// Sources returns the files with the fault in them, by their names, or an error when a file has
// changed so much that an edit has no place in it. Edits of one file follow each other.
func (f Fault) Sources(root string) (map[string][]byte, error) {
	sources := map[string][]byte{}
	for _, e := range f {
		if e.Old == "" {
			sources[e.File] = []byte(e.New)
			continue
		}
		source, edited := sources[e.File]
		if !edited {
			var err error
			if source, err = os.ReadFile(filepath.Join(root, e.File)); err != nil {
				return nil, err
			}
		}
		if n := bytes.Count(source, []byte(e.Old)); n != 1 {
			return nil, fmt.Errorf("%s has %d times, want once: %s", e.File, n, e.Old)
		}
		sources[e.File] = bytes.Replace(source, []byte(e.Old), []byte(e.New), 1)
	}
	return sources, nil
}

// Overlay writes what the fault needs into folder and returns the flag that makes `go build` and
// `go test` see it.
func (f Fault) Overlay(root, folder string) (flag string, err error) {
	sources, err := f.Sources(root)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for name, source := range sources {
		original, err := filepath.Abs(filepath.Join(root, name))
		if err != nil {
			return "", err
		}
		replace[original] = filepath.Join(folder, fmt.Sprintf("%d-%s", len(replace), filepath.Base(name)))
		if err := os.WriteFile(replace[original], source, 0o644); err != nil {
			return "", err
		}
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "overlay.json")
	return "-overlay=" + path, os.WriteFile(path, overlay, 0o644)
}
