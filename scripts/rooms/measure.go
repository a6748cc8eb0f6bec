package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A room is what one package measures.
type room struct {
	code      int   // lines with code on them
	comments  int   // lines with a comment on them, alone or behind code
	lines     int   // that are not blank
	functions []int // the lines of each function, from func to its closing brace
}

// measureTree measures the packages of a folder, by their paths from it.
func measureTree(root string) (map[string]*room, error) {
	rooms := map[string]*room{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if file != root && strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, file)
		if err != nil || !counts(filepath.ToSlash(rel)) {
			return err
		}
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return measure(rooms, filepath.ToSlash(rel), source)
	})
	return rooms, err
}

// measureCommit measures the packages of a commit, without touching the working tree.
func measureCommit(commit string) (map[string]*room, error) {
	git := exec.Command("git", "archive", "--format=tar", commit)
	git.Stderr = os.Stderr
	out, err := git.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := git.Start(); err != nil {
		return nil, err
	}
	rooms, err := measureArchive(out)
	_, _ = io.Copy(io.Discard, out) // so that git ends
	if ended := git.Wait(); ended != nil {
		return nil, fmt.Errorf("git archive %s: %w", commit, ended)
	}
	return rooms, err
}

func measureArchive(archive io.Reader) (map[string]*room, error) {
	rooms := map[string]*room{}
	for files := tar.NewReader(archive); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return rooms, nil
		}
		if err != nil {
			return nil, err
		}
		if !counts(header.Name) {
			continue
		}
		source, err := io.ReadAll(files)
		if err != nil {
			return nil, err
		}
		if err := measure(rooms, header.Name, source); err != nil {
			return nil, err
		}
	}
}

// measure adds a file to its room.
func measure(rooms map[string]*room, file string, source []byte) error {
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	name := path.Dir(file)
	if rooms[name] == nil {
		rooms[name] = &room{}
	}
	r := rooms[name]
	for _, decl := range syntax.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok {
			r.functions = append(r.functions, set.Position(f.End()).Line-set.Position(f.Pos()).Line+1)
		}
	}
	r.countLines(source)
	return nil
}

// countLines adds the lines of a file. One in a raw string is code, and never a comment.
func (r *room) countLines(source []byte) {
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	code, comments, lines := map[int]bool{}, map[int]bool{}, map[int]bool{}
	for {
		at, kind, text := s.Scan()
		if kind == token.EOF {
			break
		}
		if kind == token.SEMICOLON && text == "\n" {
			continue // put there by the scanner
		}
		first := file.Line(at)
		for i := range strings.Count(text, "\n") + 1 {
			lines[first+i] = true
			if kind == token.COMMENT {
				comments[first+i] = true
			} else {
				code[first+i] = true
			}
		}
	}
	r.code += len(code)
	r.comments += len(comments)
	r.lines += len(lines)
}

func isGo(file string) bool {
	return path.Ext(file) == ".go" && !strings.HasSuffix(file, "_test.go") && !strings.Contains(file, "testdata/")
}

// within reports whether a file lies in a folder.
func within(folder, file string) bool { return strings.HasPrefix(file, folder+"/") }

// share is the percentage of the lines that have a comment.
func (r *room) share() int { return (100*r.comments + r.lines/2) / max(r.lines, 1) }

// length is the number of lines that this share of the functions, in per cent, does not exceed.
func (r *room) length(percent int) int {
	if len(r.functions) == 0 {
		return 0
	}
	slices.Sort(r.functions)
	return r.functions[(len(r.functions)-1)*percent/100]
}

// all is every room together.
func all(rooms map[string]*room) *room {
	sum := &room{}
	for _, r := range rooms {
		sum.code += r.code
		sum.lines += r.lines
		sum.comments += r.comments
		sum.functions = append(sum.functions, r.functions...)
	}
	return sum
}
