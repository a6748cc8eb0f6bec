// Command rooms prints the size of the program, package by package, as a table: lines of
// code, functions, the share of comments, and the length of functions. With a commit as argument it shows that commit beside the working tree:
//
//	go run ./scripts/rooms
//	go run ./scripts/rooms ca3b548
//
// With -write the table replaces the one in bench/results/rooms.md.
//
// It counts what the program is made of: neither tests nor the packages that only tests use.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	write := flag.Bool("write", false, "put the table into "+page)
	flag.Parse()
	if err := run(*write, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "rooms:", err)
		os.Exit(1)
	}
}

// page has the table, behind the mark and up to the next blank line.
const (
	page = "bench/results/rooms.md"
	mark = "<!-- rooms -->\n"
)

func run(write bool, args []string) error {
	after, err := measureTree(".")
	if err != nil {
		return err
	}
	var table strings.Builder
	switch {
	case len(args) == 0:
		printOne(&table, after)
	case len(args) == 1:
		before, err := measureCommit(args[0])
		if err != nil {
			return err
		}
		printBoth(&table, before, after)
	default:
		return fmt.Errorf("want at most one commit, got %d arguments", len(args))
	}
	if !write {
		fmt.Print(table.String())
		return nil
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	replaced, err := replaceTable(string(text), table.String())
	if err != nil {
		return err
	}
	return os.WriteFile(page, []byte(replaced), 0o644)
}

// replaceTable puts the table in the place of the one that follows the mark.
func replaceTable(text, table string) (string, error) {
	head, tail, found := strings.Cut(text, mark)
	if !found {
		return "", fmt.Errorf("%s has no line %s", page, strings.TrimSpace(mark))
	}
	if _, rest, more := strings.Cut(tail, "\n\n"); more {
		table += "\n" + rest
	}
	return head + mark + table, nil
}

// forTests are folders with code that only tests, or the making of the program, use.
var forTests = []string{"internal/archtest", "internal/sheaftest", "internal/store/storetest", "scripts", "packaging", "test", "bench"}

// counts reports whether a file, by its path from the root, belongs to the program.
func counts(path string) bool {
	return isGo(path) && !slices.ContainsFunc(forTests, func(folder string) bool { return within(folder, path) })
}
