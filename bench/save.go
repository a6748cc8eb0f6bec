package main

import (
	"encoding/json"
	"errors"
	"os"
)

// save writes what the README shows.
func (r *results) save() error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile("results/latest.json", append(text, '\n'), 0o644))
}
