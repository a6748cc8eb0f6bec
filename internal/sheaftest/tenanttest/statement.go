package tenanttest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Schema says by which columns the rows of a table are tied to a tenant. Tables that belong to
// nobody are not in it.
type Schema map[string][]string

// A statement is read as nested blocks: each parenthesis that holds a SELECT is one, and so is each
// part of a UNION, and what an INSERT selects.
type block struct {
	outer  *block
	words  []string
	tables map[string]string // by alias
}

var word = regexp.MustCompile(`\$\d+|'[^']*'|[A-Za-z_][A-Za-z_0-9]*(?:\.(?:[A-Za-z_][A-Za-z_0-9]*|\*))?|\d+|[^\sA-Za-z_0-9]`)

// blocksOf takes a statement apart.
func blocksOf(sql string) (all []*block) {
	here := &block{}
	all = append(all, here)
	var open []*block // what each parenthesis returns to
	words := word.FindAllString(sql, -1)
	for i, w := range words {
		switch {
		case w == "(":
			open = append(open, here)
			if i+1 < len(words) && (words[i+1] == "SELECT" || words[i+1] == "WITH") {
				here = &block{outer: here}
				all = append(all, here)
			}
		case w == ")":
			here, open = open[len(open)-1], open[:len(open)-1]
		case w == "UNION", w == "SELECT" && len(here.words) > 0 && here.words[0] == "INSERT":
			here = &block{outer: here.outer}
			all = append(all, here)
		}
		here.words = append(here.words, w)
	}
	return all
}

// namesTable are the words behind which a table stands.
var namesTable = []string{"FROM", "JOIN", "INTO", "UPDATE"}

// Tables returns what a statement names where a table stands, functions and common table expressions
// too.
func Tables(sql string) (names []string) {
	words := word.FindAllString(sql, -1)
	for i, w := range words[:max(0, len(words)-1)] {
		if slices.Contains(namesTable, w) && words[i+1] != "(" {
			names = append(names, words[i+1])
		}
	}
	return names
}

// findTables notes the tables of the schema that a block names, by their aliases.
func (b *block) findTables(s Schema) {
	b.tables = map[string]string{}
	for i, w := range b.words[:max(0, len(b.words)-1)] {
		table := b.words[i+1]
		if !slices.Contains(namesTable, w) || s[table] == nil {
			continue
		}
		alias, rest := table, b.words[i+2:]
		if len(rest) > 1 && rest[0] == "AS" {
			rest = rest[1:]
		}
		if len(rest) > 0 && regexp.MustCompile(`^[a-z]+$`).MatchString(rest[0]) {
			alias = rest[0]
		}
		b.tables[alias] = table
	}
}

// isArgument reports whether a word is what the caller gives: $1, or {ws} in the text of a bulk.
func isArgument(w string) bool { return strings.HasPrefix(w, "$") || w == "{" || w == "}" }

// name is that of a table in a statement.
func (b *block) name(alias string) string { return fmt.Sprintf("%p %s", b, alias) }

// find resolves what a block means by a name such as "d.ws", which ties the table that it returns;
// anything else is nothing.
func (s Schema) find(b *block, w string) string {
	alias, column, qualified := strings.Cut(w, ".")
	if !qualified && len(b.tables) == 1 {
		for alias, table := range b.tables {
			if slices.Contains(s[table], w) {
				return b.name(alias)
			}
		}
	}
	for ; qualified && b != nil; b = b.outer {
		if table := b.tables[alias]; table != "" && slices.Contains(s[table], column) {
			return b.name(alias)
		}
	}
	return ""
}

// Loose returns the tables of a statement that are not tied to one tenant: neither by ws = $1, nor by
// the ws of a table that is, nor by a column of an INSERT.
func (s Schema) Loose(sql string) (tables []string) {
	all := blocksOf(sql)
	for _, b := range all {
		b.findTables(s)
	}
	tied := s.tied(all)
	for _, b := range all {
		for alias, table := range b.tables {
			if !tied[b.name(alias)] && !s.inserted(b, table) {
				tables = append(tables, table)
			}
		}
	}
	slices.Sort(tables)
	return tables
}

// tied returns the tables of a statement that an equation ties to what the caller gives, or to a table
// that is tied.
func (s Schema) tied(all []*block) map[string]bool {
	tied := map[string]bool{}
	// Ties spread from table to table, so as often as there may be tables in a row.
	for range 8 {
		for _, b := range all {
			for i := 1; i < len(b.words)-1; i++ {
				left, right := s.find(b, b.words[i-1]), s.find(b, b.words[i+1])
				if b.words[i] != "=" || left == "" && right == "" {
					continue
				}
				if isArgument(b.words[i+1]) || isArgument(b.words[i-1]) || tied[left] || tied[right] {
					tied[left], tied[right] = true, true
					delete(tied, "") // the other side was no table's
				}
			}
		}
	}
	return tied
}

// inserted reports whether a block inserts into the table and names a column that ties it.
func (s Schema) inserted(b *block, table string) bool {
	if len(b.words) < 3 || b.words[0] != "INSERT" || b.words[2] != table {
		return false
	}
	columns := b.words[:slices.Index(append(b.words, ")"), ")")]
	return slices.ContainsFunc(s[table], func(column string) bool { return slices.Contains(columns, column) })
}
