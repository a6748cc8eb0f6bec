package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// maxFile is far above any file that a setting names. It keeps a wrong path, a device or a log, out
// of memory.
const maxFile = 1 << 20

// readSmallFile reads a file that a setting names.
func readSmallFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return content, nil
}

// parseFile reads the configuration file: one `key = value` a line, keys named like the flags
// without dashes. Blank lines and lines that begin with '#' are skipped; a '#' further on belongs
// to the value. The keys of lists may repeat. Lines with a problem are left out of the values; no
// problem repeats a value, which may be a secret.
func parseFile(content string) (values map[string]string, problems []error) {
	values = map[string]string{}
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(content, "\ufeff")) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := parseLine(values, line); err != nil {
			problems = append(problems, fmt.Errorf("line %d %w", number, err))
		}
	}
	return values, problems
}

// parseLine reads a line of a file of settings: a name, "=" and a value.
func parseLine(values map[string]string, line string) error {
	key, value, found := strings.Cut(line, "=")
	if !found {
		return errors.New("has no '='; write key = value")
	}
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	known, ok := statements[key]
	if !ok || key == "config" {
		return fmt.Errorf("has an unknown key%s; keys are the flags of `sheaf serve` without the dashes", quotable(key))
	}
	if len(value) >= 2 && strings.ContainsRune(`"'`, rune(value[0])) && value[0] == value[len(value)-1] {
		return fmt.Errorf("has quotes around the value of %q; leave them out", key)
	}
	earlier, repeated := values[key]
	switch {
	case repeated && known.list:
		values[key] = earlier + "," + value
	case repeated:
		return fmt.Errorf("has the key %q for the second time; leave one of them out", key)
	default:
		values[key] = value
	}
	return nil
}

// quotable returns the key in quotes if it looks like one. A bare URL or master key on a line of
// its own has a '=' too, and must not be repeated.
func quotable(key string) string {
	if len(key) > 30 || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz-") != "" {
		return ""
	}
	return fmt.Sprintf(" %q", key)
}
