package race

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"sheaf.dev/internal/sheaftest/pgtest"
)

// naive answers the requests of the contests the way it is often written: look whether it may, then do it, each in a
// statement of its own. It is what the contests must catch.
type naive struct {
	db       *sql.DB
	postgres bool
	last     atomic.Int64
}

const naiveTables = `
CREATE TABLE workspaces (id TEXT PRIMARY KEY, plan TEXT);
CREATE TABLE things (id TEXT PRIMARY KEY, workspace TEXT, path TEXT, name TEXT, parent TEXT, revision BIGINT);
CREATE TABLE answers (workspace TEXT, name TEXT, id TEXT)`

func naiveSQLite(t testing.TB) site {
	t.Helper()
	file := filepath.Join(t.TempDir(), "naive.db")
	return openNaive(t, "sqlite", "file:"+file+"?_pragma=busy_timeout(300000)&_pragma=journal_mode(wal)&_pragma=synchronous(normal)")
}

func naivePostgres(t testing.TB) site { return openNaive(t, "pgx", pgtest.URL(t)) }

func openNaive(t testing.TB, driver, address string) site {
	t.Helper()
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(racers)
	db.SetMaxIdleConns(racers)
	n := &naive{db: db, postgres: driver == "pgx"}
	for table := range strings.SplitSeq(naiveTables, ";") {
		n.exec(table)
	}
	return n
}

// workspace makes one with a key, which counts.
func (n *naive) workspace(plan string) workspace {
	ws := n.newID()
	n.exec(`INSERT INTO workspaces VALUES (?, ?)`, ws, plan)
	n.insert(ws, keysPath, "own", "")
	return workspace{handler: n, key: ws, setPlan: func(plan string) { n.exec(`UPDATE workspaces SET plan = ? WHERE id = ?`, plan, ws) }}
}

func (n *naive) newID() string { return fmt.Sprintf("%012d", n.last.Add(1)) }

// text puts the parameters of PostgreSQL in the place of ?.
func (n *naive) text(query string) string {
	for i := 1; n.postgres && strings.Contains(query, "?"); i++ {
		query = strings.Replace(query, "?", "$"+strconv.Itoa(i), 1)
	}
	return query
}

func (n *naive) exec(query string, args ...any) {
	if _, err := n.db.Exec(n.text(query), args...); err != nil {
		panic(err)
	}
}

// value returns the one text that a query finds, "" for none.
func (n *naive) value(query string, args ...any) (v string) {
	err := n.db.QueryRow(n.text(query), args...).Scan(&v)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		panic(err)
	}
	return v
}

func (n *naive) insert(ws, path, name, parent string) string {
	id := n.newID()
	n.exec(`INSERT INTO things VALUES (?, ?, ?, ?, ?, 1)`, id, ws, path, name, parent)
	return id
}

// ServeHTTP answers what the contests ask.
func (n *naive) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ws := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	var in item
	_ = json.NewDecoder(r.Body).Decode(&in)
	parts := strings.Split(r.URL.Path, "/")
	path, id := strings.Join(parts[:4], "/"), strings.Join(parts[4:min(5, len(parts))], "")
	var a answer
	switch {
	case r.Method == "GET" && id == "":
		a = answer{status: 200, item: item{"data": n.all(ws, path)}}
	case r.Method == "GET":
		a = answer{status: 200, item: item{"name": n.value(`SELECT name FROM things WHERE id = ?`, id)}}
	case r.Method == "PATCH":
		a = n.patch(id, in, r.Header.Get("If-Match"))
	case r.Method == "DELETE":
		a = n.remove(id)
	case id != "":
		a = n.move(id, in.text("parent_id"))
	default:
		a = n.create(ws, path, in, r.Header.Get("Idempotency-Key"))
	}
	w.Header().Set("ETag", "1")
	w.WriteHeader(a.status)
	_ = json.NewEncoder(w).Encode(a.item)
}

func (n *naive) all(ws, path string) []item {
	rows, err := n.db.Query(n.text(`SELECT id, parent FROM things WHERE workspace = ? AND path = ?`), ws, path)
	if err != nil {
		panic(err)
	}
	defer rows.Close()
	items := []item{}
	for rows.Next() {
		var id, parent string
		if err := rows.Scan(&id, &parent); err != nil {
			panic(err)
		}
		items = append(items, item{"id": id, "parent_id": parent})
	}
	return items
}

// create looks at the limit, the parent, the plan and the key of the request; then it inserts.
func (n *naive) create(ws, path string, in item, once string) answer {
	if id := n.value(`SELECT id FROM answers WHERE workspace = ? AND name = ?`, ws, once); once != "" && id != "" {
		return answer{status: 201, item: item{"id": id}}
	}
	if most := map[string]int{keysPath: 5, hooksPath: 3}[path]; most > 0 {
		count, err := strconv.Atoi(n.value(`SELECT CAST(COUNT(*) AS TEXT) FROM things WHERE workspace = ? AND path = ?`, ws, path))
		if err != nil || count >= most {
			return answer{status: 403}
		}
	}
	if path == documentsPath || path == projectsPath || path == foldersPath {
		count, err := strconv.Atoi(n.value(`SELECT CAST(COUNT(*) AS TEXT) FROM things WHERE workspace = ? AND path <> ? AND path <> ?`, ws, keysPath, hooksPath))
		if err != nil || count >= maxRecords {
			return answer{status: 403}
		}
	}
	if p := in.text("parent_id"); p != "" && n.value(`SELECT id FROM things WHERE id = ?`, p) == "" {
		return answer{status: 404}
	}
	if in.text("entity_type") == "branding" && n.value(`SELECT plan FROM workspaces WHERE id = ?`, ws) != "business" {
		return answer{status: 403}
	}
	id := n.insert(ws, path, in.text("name"), in.text("parent_id"))
	if once != "" {
		n.exec(`INSERT INTO answers VALUES (?, ?, ?)`, ws, once, id)
	}
	return answer{status: 201, item: item{"id": id}}
}

func (n *naive) patch(id string, in item, match string) answer {
	if n.value(`SELECT CAST(revision AS TEXT) FROM things WHERE id = ?`, id) != match {
		return answer{status: 412}
	}
	n.exec(`UPDATE things SET name = ?, revision = revision + 1 WHERE id = ?`, in.text("name"), id)
	return answer{status: 200}
}

func (n *naive) remove(id string) answer {
	n.exec(`DELETE FROM things WHERE parent = ?`, id)
	n.exec(`DELETE FROM things WHERE id = ?`, id)
	return answer{status: 204}
}

// move goes up from the new parent: the folder itself must not be above it.
func (n *naive) move(id, parent string) answer {
	for up := parent; up != ""; up = n.value(`SELECT parent FROM things WHERE id = ?`, up) {
		if up == id {
			return answer{status: 400}
		}
	}
	n.exec(`UPDATE things SET parent = ? WHERE id = ?`, parent, id)
	return answer{status: 200}
}
