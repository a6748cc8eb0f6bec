// Package plant builds the program with one fault in it, to see whether the tests notice. Nothing
// is written into the tree: the go command reads another file in a file's place.
package plant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// A Fault replaces text that its file, named from the module's root, has once.
type Fault struct {
	File     string
	Old, New string
}

// Source returns the file with the fault in it, or an error when the file has changed so much that
// it has no place.
func (f Fault) Source(root string) ([]byte, error) {
	source, err := os.ReadFile(filepath.Join(root, f.File))
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(source, []byte(f.Old)); n != 1 {
		return nil, fmt.Errorf("%s has %d times, want once: %s", f.File, n, f.Old)
	}
	return bytes.Replace(source, []byte(f.Old), []byte(f.New), 1), nil
}

// Overlay writes what the fault needs into folder and returns the flag that makes `go build` and
// `go test` see it.
func (f Fault) Overlay(root, folder string) (flag string, err error) {
	source, err := f.Source(root)
	if err != nil {
		return "", err
	}
	original, err := filepath.Abs(filepath.Join(root, f.File))
	if err != nil {
		return "", err
	}
	replaced := filepath.Join(folder, filepath.Base(f.File))
	if err := os.WriteFile(replaced, source, 0o644); err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: replaced}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "overlay.json")
	return "-overlay=" + path, os.WriteFile(path, overlay, 0o644)
}
