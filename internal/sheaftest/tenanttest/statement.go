package tenanttest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Schema has, for each table, the columns that tie a row to a tenant. Tables without a tenant are
// not in it.
type Schema map[string][]string

// A block is a part of a statement. Each parenthesis with a SELECT is one, and so is each part of a
// UNION, and the SELECT of an INSERT.
type block struct {
	outer  *block
	words  []string
	tables map[string]string // by alias
}

var word = regexp.MustCompile(`\$\d+|'[^']*'|[A-Za-z_][A-Za-z_0-9]*(?:\.(?:[A-Za-z_][A-Za-z_0-9]*|\*))?|\d+|[^\sA-Za-z_0-9]`)

// blocksOf splits a statement into blocks.
func blocksOf(sql string) (all []*block) {
	here := &block{}
	all = append(all, here)
	var open []*block // the blocks to return to at closing parentheses
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

// namesTable are the words that a table follows.
var namesTable = []string{"FROM", "JOIN", "INTO", "UPDATE"}

// Tables returns the names in the places of tables, also those of functions and common table
// expressions.
func Tables(sql string) (names []string) {
	words := word.FindAllString(sql, -1)
	for i, w := range words[:max(0, len(words)-1)] {
		if slices.Contains(namesTable, w) && words[i+1] != "(" {
			names = append(names, words[i+1])
		}
	}
	return names
}

// findTables finds the tables of the schema in a block, by their aliases.
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

// isArgument reports whether a word is an argument: $1, or {ws} in the text of a bulk.
func isArgument(w string) bool { return strings.HasPrefix(w, "$") || w == "{" || w == "}" }

// name returns a unique name of a table in a statement.
func (b *block) name(alias string) string { return fmt.Sprintf("%p %s", b, alias) }

// find resolves a name such as "d.ws" in a block, and returns the table that it ties; empty for any
// other word.
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

// Loose returns the tables of a statement that are not tied to one tenant: neither by ws = $1, nor
// by the ws of a table that is, nor by a column of an INSERT.
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

// tied returns the tables of a statement that an equation ties to an argument, or to a tied table.
func (s Schema) tied(all []*block) map[string]bool {
	tied := map[string]bool{}
	// Ties spread from table to table, so repeat this as often as a statement may have tables in a
	// chain.
	for range 8 {
		for _, b := range all {
			for i := 1; i < len(b.words)-1; i++ {
				left, right := s.find(b, b.words[i-1]), s.find(b, b.words[i+1])
				if b.words[i] != "=" || left == "" && right == "" {
					continue
				}
				if isArgument(b.words[i+1]) || isArgument(b.words[i-1]) || tied[left] || tied[right] {
					tied[left], tied[right] = true, true
					delete(tied, "") // the other side was not a table
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
