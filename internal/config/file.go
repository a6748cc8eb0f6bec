package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// maxFile bounds the files that settings name. They are far smaller; the bound keeps a device or a
// log at a wrong path out of memory.
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

// parseFile reads the configuration file. Each line is `key = value`; the keys are the flags
// without dashes. Blank lines and lines that begin with '#' are skipped; any other '#' is part of
// the value. The keys of lists may be repeated. A line with a problem sets no value. A problem does
// not contain the value, which may be a secret.
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

// parseLine reads one line: a key, "=" and a value. An unknown key is quoted in the error only if
// it looks like a key: a URL or a master key on a line of its own contains a '=' too, and must not
// be printed.
func parseLine(values map[string]string, line string) error {
	key, value, found := strings.Cut(line, "=")
	if !found {
		return errors.New("has no '='; write key = value")
	}
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	known, ok := statements[key]
	if !ok || key == "config" {
		quoted := ""
		if len(key) <= 30 && strings.Trim(key, "abcdefghijklmnopqrstuvwxyz-") == "" {
			quoted = fmt.Sprintf(" %q", key)
		}
		return fmt.Errorf("has an unknown key%s; keys are the flags of `sheaf serve` without the dashes", quoted)
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
