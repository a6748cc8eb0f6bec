// Command rooms prints the size of the program, package by package, as the table of
// docs/architecture.md: lines of code, functions, the share of comments, and how long functions
// are. With a commit as argument it shows that commit beside the working tree:
//
//	go run ./scripts/rooms
//	go run ./scripts/rooms ca3b548
//
// It counts what the program is made of: neither tests nor the packages that only tests use.
package main

import (
	"fmt"
	"os"
	"slices"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "rooms:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	after, err := measureTree(".")
	if err != nil {
		return err
	}
	switch {
	case len(args) == 0:
		printOne(os.Stdout, after)
	case len(args) == 1:
		before, err := measureCommit(args[0])
		if err != nil {
			return err
		}
		printBoth(os.Stdout, before, after)
	default:
		return fmt.Errorf("want at most one commit, got %d arguments", len(args))
	}
	return nil
}

// forTests are folders with code that only tests, or the making of the program, use.
var forTests = []string{"internal/archtest", "internal/sheaftest", "internal/store/storetest", "scripts", "packaging", "test", "bench"}

// counts tells whether a file, by its path from the root, belongs to the program.
func counts(path string) bool {
	return isGo(path) && !slices.ContainsFunc(forTests, func(folder string) bool { return within(folder, path) })
}
