package search_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/tenanttest"
)

// indexTables are the tables of the index, with the columns that tie a row to a workspace. A
// workspace has its own spaces, and every key begins with the number of its space (at >> 32).
var indexTables = tenanttest.Schema{
	"search_spaces": {"space", "workspace"},
	"search_texts":  {"at"},
	"search_chunks": {"at"},
	"search_grams":  {"at"},
	"search_terms":  {"at"},
	"search_heads":  {"at"},
}

// notTables look like tables in statements of the index, but have no rows of any workspace.
var notTables = map[string]string{
	"pg_class":      "the size of the index",
	"sqlite_schema": "whether a file has tables",
	"search_layout": "of a file",
}

// spanning has a part of each statement that names no space, with the reason why it may.
var spanning = map[string]string{
	"FROM search_spaces WHERE state = 2 ORDER BY space":                                        "a chore: a space that leaves",
	"SELECT DISTINCT workspace FROM search_spaces WHERE state <> 2":                            "a chore: workspaces that are no longer there",
	"FROM search_spaces WHERE state = 1 AND form = $1 AND asked >= ":                           "the operator's: how far a reindex is",
	"SELECT workspace, space, state, form, asked, cursor, mark FROM search_spaces":             "a chore: what a start need not look at",
	"SELECT DISTINCT at / 4294967296 FROM search_chunks WHERE sealed = 0 OR live * 2 < places": "a chore: what a start need not look at",
}

// plainly rewrites the conditions that tie a key to a space as one equation, which the statement
// parser understands. sameSpace checks conditions on a range of keys by their arguments.
var plainly = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`CAST\((\$\d+) AS \w+\)`), "$1"},
	{regexp.MustCompile(`SET at = `), "SET place = "}, // the place that a record moves to ties nothing
	{regexp.MustCompile(`\(at >> 32\) = `), "at = "},
	{regexp.MustCompile(`at >= (\$\d+) AND at < \$\d+`), "at = $1"},
	{regexp.MustCompile(`at IN \(SELECT (\$\d+|\{place\})`), "at = $1 AND EXISTS (SELECT 1"},
	{regexp.MustCompile(`at IN \(SELECT at FROM (\w+) WHERE at = (\$\d+)`), "at = $2 AND EXISTS (SELECT 1 FROM $1 WHERE at = $2"},
}

func inPlainWords(sql string) string {
	for _, p := range plainly {
		sql = p.from.ReplaceAllString(sql, p.to)
	}
	return sql
}

// statements collects the statements that an index runs.
type statements struct {
	mu    sync.Mutex // guards all and wrong
	all   map[string]bool
	wrong []string // statements with arguments of two spaces
}

func (s *statements) add(sql string, rows [][]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sql = strings.Join(strings.Fields(sql), " ")
	s.all[sql] = true
	if !sameSpace(sql, rows) {
		s.wrong = append(s.wrong, fmt.Sprintf("%s with %v", sql, rows))
	}
}

var ranges = regexp.MustCompile(`at >= \$(\d+) AND at < \$(\d+)`)

// sameSpace reports whether all keys among a statement's arguments are of one space: the first and
// last place that it reads and, in every row of a bulk, the first argument, which is a key or a
// space.
func sameSpace(sql string, rows [][]any) bool {
	if m := ranges.FindStringSubmatch(sql); m != nil && len(rows) > 0 {
		from, _ := strconv.Atoi(m[1])
		to, _ := strconv.Atoi(m[2])
		first, last := number(rows[0][from-1]), number(rows[0][to-1])-1
		return last >= first && first>>32 == last>>32
	}
	for _, row := range rows {
		if len(rows) > 1 && number(row[0])>>32 != number(rows[0][0])>>32 {
			return false
		}
	}
	return true
}

func number(v any) int64 {
	n, _ := v.(int64)
	return n
}

// On PostgreSQL no statement of the index spans workspaces, because a shard would hold the index of
// its own workspaces. No statement reads the store's tables too.
func TestDistribute_StatementsStayInASpace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, onPostgres(t))
	s := &statements{all: map[string]bool{}}
	if err := w.index.Record(t.Context(), s.add); err != nil {
		t.Fatal(err)
	}
	w.askEverything()
	for _, wrong := range s.wrong {
		t.Errorf("two spaces in one statement: %s", wrong)
	}
	if len(s.all) < 25 {
		t.Errorf("%d statements were asked: most are missing", len(s.all))
	}
	for _, sql := range tenanttest.Constants(t, ".") {
		s.add(sql, nil)
	}
	used := map[string]bool{}
	for sql := range s.all {
		if tables := indexTables.Loose(inPlainWords(sql)); len(tables) > 0 && !mayspan(sql, used) {
			t.Errorf("no single space is named for %v in: %s", tables, sql)
		}
		for _, table := range tenanttest.Tables(sql) {
			if indexTables[table] == nil && notTables[table] == "" {
				t.Errorf("%s, which is not the index's, stands in: %s", table, sql)
			}
		}
	}
	for part, why := range spanning {
		if !used[part] {
			t.Errorf("no statement needs the exception (%s): %s", why, part)
		}
	}
}

func mayspan(sql string, used map[string]bool) (may bool) {
	for part := range spanning {
		if strings.Contains(sql, part) {
			used[part], may = true, true
		}
	}
	return may
}

// askEverything makes the index of two workspaces do everything it can: follow, seal and empty
// chunks, search on one and on two connections, be rebuilt, be removed, and report its size.
func (w *world) askEverything() {
	w.t.Helper()
	w.index.Small(4, 3)
	w.index.Within(time.Minute)
	ctx := context.Background()
	callers := []app.Caller{w.workspace(), w.workspace()}
	for _, c := range callers {
		var made []sheaf.Document
		for i := range 40 {
			made = append(made, w.document(c, fmt.Sprintf("Heron %02d", i), "grey"))
		}
		w.catchUp()
		for i, d := range made {
			if i%5 == 0 {
				continue
			}
			if err := w.app.DeleteDocument(ctx, c, d.ID, sheaf.Match{}); err != nil {
				w.t.Fatal(err)
			}
		}
		w.wantFound(c, 8)
		w.catchUp()
		w.wantFound(c, 8)
	}
	w.askReindex()
	w.catchUp()
	if done, all, err := w.index.Built(ctx, 1); err != nil || done != all || all != len(callers) {
		w.t.Fatalf("the index of %d of %d workspaces was built anew: %v", done, all, err)
	}
	// Another program writes; its statements are not collected.
	other := &world{t: w.t, index: w.newIndex()}
	if err := other.index.Open(ctx); err != nil {
		w.t.Fatal(err)
	}
	other.tamper(`UPDATE search_spaces SET workspace = '00000000-0000-7000-8000-000000000001' WHERE space = (SELECT MIN(space) FROM search_spaces)`)
	if err := w.index.ForgetGone(ctx); err != nil {
		w.t.Fatal(err)
	}
	w.catchUp()
	w.index.Size() // a busy machine may time out here
	for _, c := range callers {
		w.wantFound(c, 8)
	}
}

// wantFound searches for a long and a short word that all documents contain.
func (w *world) wantFound(c app.Caller, want int) {
	w.t.Helper()
	for _, text := range []string{"heron", "heron grey", "heron h"} {
		if n := len(w.find(c, text).Items); n != want {
			w.t.Errorf("%d hits of %q, want %d", n, text, want)
		}
	}
}

// The check notices two spaces in one statement, and a key that nothing ties to a space.
func TestDistribute_TwoSpacesAreSeen(t *testing.T) {
	t.Parallel()
	const one, two = int64(7) << 32, int64(8) << 32
	read := "SELECT at FROM search_texts WHERE at >= $1 AND at < $2"
	for _, c := range []struct {
		sql  string
		rows [][]any
		want bool
	}{
		{read, [][]any{{one, two}}, true},
		{read, [][]any{{one, two + 1}}, false},
		{"DELETE FROM search_grams WHERE at = {place}", [][]any{{one}, {one + 5}}, true},
		{"DELETE FROM search_grams WHERE at = {place}", [][]any{{one}, {two}}, false},
	} {
		if got := sameSpace(c.sql, c.rows); got != c.want {
			t.Errorf("%s with %v is of one space: %t", c.sql, c.rows, got)
		}
	}
	for sql, want := range map[string]string{
		read: "",
		"SELECT at FROM search_texts WHERE at >= $1":                                                    "search_texts",
		"SELECT at FROM search_texts WHERE id = $1":                                                     "search_texts",
		"UPDATE search_texts SET at = {to} {rows} WHERE search_texts.at = {place}":                      "",
		"UPDATE search_texts SET at = {to} {rows}":                                                      "search_texts",
		"DELETE FROM search_texts WHERE at IN (SELECT {place} {rows})":                                  "",
		"DELETE FROM search_grams WHERE at IN (SELECT at FROM search_grams WHERE at >= $1 AND at < $2)": "",
		"DELETE FROM search_grams WHERE at IN (SELECT at FROM search_grams ORDER BY at LIMIT $1)":       "search_grams search_grams",
	} {
		if got := strings.Join(indexTables.Loose(inPlainWords(sql)), " "); got != want {
			t.Errorf("loose in %q are %q, want %q", sql, got, want)
		}
	}
}
