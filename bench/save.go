package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
)

// save writes what the README shows.
func (r *results) save(dir string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "latest.json"), append(text, '\n'), 0o644),
		os.WriteFile(filepath.Join(dir, "latest.svg"), []byte(r.chart()), 0o644))
}
