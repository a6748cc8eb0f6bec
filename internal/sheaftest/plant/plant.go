// Package plant builds the program with one fault, to check that the tests notice it. It does not
// change the tree: the go command reads an overlay with the changed files.
package plant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// A Fault is one mistake in the program: a list of edits, in one file or in several.
type Fault []Edit

// An Edit replaces a text that occurs once in its file, named from the module's root. Without an
// old text it adds a file.
type Edit struct {
	File     string
	Old, New string
}

// Sources returns the changed files by their names. It returns an error if an old text does not
// occur exactly once. Edits of one file are applied in order.
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

// Overlay writes the changed files into folder, and returns the flag that makes `go build` and `go
// test` use them.
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
