// Command licences lists the modules whose code is in the program, and the packages of npm in its
// editor, each with its licence, as THIRD-PARTY.md has them:
//
//	go run ./scripts/licences > THIRD-PARTY.md
//
// A module without a licence that it knows, or under one that we do not accept, is an error.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

type module struct {
	Path, Version, Dir string
	Main               bool
}

// licences are those that we accept, by a sentence that only their text has. The order matters: the
// first one wins.
var licences = []struct{ name, sentence string }{
	{"Apache-2.0", "Apache License"},
	{"MPL-2.0", "Mozilla Public License"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software"},
	{"ISC", "Permission to use, copy, modify, and distribute this software"},
	{"MIT", "Permission is hereby granted, free of charge"},
	{"BSD-3-Clause", "Neither the name of"},
	{"BSD-3-Clause", "nor the names of"},
	{"BSD-2-Clause", "Redistributions in binary form must reproduce"},
	{"Unlicense", "This is free and unencumbered software"},
}

func main() {
	if err := list(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func list(w io.Writer) error {
	modules, err := linked()
	if err != nil {
		return err
	}
	fmt.Fprint(w, "# What the program is made of\n\nModules whose code is in the binary, made by `go run ./scripts/licences`. "+
		"Scripts and icons that it serves carry theirs beside them.\n\n| module | version | licence |\n|---|---|---|\n")
	for _, m := range modules {
		name, err := licenceOf(m.Dir)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Path, err)
		}
		fmt.Fprintf(w, "| %s | %s | %s |\n", m.Path, m.Version, name)
	}
	return listEditor(w)
}

// editor is the script of the console's editor, from the root of the module. scripts/editor makes it.
const editor = "internal/console/static/codemirror.js"

// packageLine is a line of the comment that the script begins with: a package, its version and its licence.
var packageLine = regexp.MustCompile(`(?m)^ \* (\S+) (\S+) (\S+)$`)

// listEditor lists the packages of npm whose code is in the editor.
func listEditor(w io.Writer) error {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	script, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), editor))
	if err != nil {
		return err
	}
	head, _, _ := strings.Cut(string(script), "*/")
	packages := packageLine.FindAllStringSubmatch(head, -1)
	if len(packages) == 0 {
		return errors.New(editor + " does not name its packages: make it with scripts/editor")
	}
	fmt.Fprint(w, "\nPackages of npm whose code is in `"+editor+"`, which `scripts/editor` makes. Their licences are beside it.\n\n"+
		"| package | version | licence |\n|---|---|---|\n")
	for _, p := range packages {
		fmt.Fprintf(w, "| %s | %s | %s |\n", p[1], p[2], p[3])
	}
	return nil
}

// linked returns the modules that the program is linked from, by path.
func linked() ([]module, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=Module", "sheaf.dev/cmd/sheaf")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var modules []module
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ Module *module }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if p.Module != nil && !p.Module.Main && !slices.Contains(modules, *p.Module) {
			modules = append(modules, *p.Module)
		}
	}
	slices.SortFunc(modules, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return modules, nil
}

func licenceOf(folder string) (string, error) {
	for _, pattern := range []string{"LICEN[SC]E*", "COPYING*", "License*"} {
		files, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			return "", err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return "", err
			}
			if name := nameOf(string(text)); name != "" {
				return name, nil
			}
		}
	}
	return "", errors.New("no licence that we know")
}

func nameOf(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, l := range licences {
		if strings.Contains(text, l.sentence) {
			return l.name
		}
	}
	return ""
}
