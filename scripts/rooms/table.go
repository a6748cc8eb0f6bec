package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// printOne prints a table of one state.
func printOne(w io.Writer, rooms map[string]*room) {
	fmt.Fprintln(w, "| Package | Lines of code | Functions | Comments | Median | 90 % |")
	fmt.Fprintln(w, "|---|---:|---:|---:|---:|---:|")
	for _, name := range slices.Sorted(maps.Keys(rooms)) {
		fmt.Fprintf(w, "| `%s` | %s |\n", name, strings.Join(cells(rooms[name]), " | "))
	}
	fmt.Fprintf(w, "| **all** | %s |\n", strings.Join(cells(all(rooms)), " | "))
}

// printBoth prints a table of two states. A room that only one of them has shows a dash for the
// other.
func printBoth(w io.Writer, before, after map[string]*room) {
	fmt.Fprintln(w, "| Package | Lines of code | Functions | Comments | Median | 90 % |")
	fmt.Fprintln(w, "|---|---:|---:|---:|---:|---:|")
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(w, "| `%s` | %s |\n", name, beside(before[name], after[name]))
	}
	fmt.Fprintf(w, "| **all** | %s |\n", beside(all(before), all(after)))
}

// beside returns the cells of a room, before and after.
func beside(before, after *room) string {
	was, is := cells(before), cells(after)
	for i := range was {
		was[i] += " → " + is[i]
	}
	return strings.Join(was, " | ")
}

// cells are a room's figures in the order of the columns.
func cells(r *room) []string {
	if r == nil {
		return []string{"–", "–", "–", "–", "–"}
	}
	return []string{thousands(r.code), thousands(len(r.functions)), fmt.Sprintf("%d %%", r.share()),
		fmt.Sprint(r.length(50)), fmt.Sprint(r.length(90))}
}

// thousands writes a number below a million as the documentation does: 12,345.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}
