package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// The limit for writes is SQLite itself, by the driver that Sheaf uses: one insert of a project into a table with the
// columns and indexes of a project's, and nothing else, durable when it returns.
//
// The first way takes a commit, and so an fsync, for each. In groups, 64 clients hand their inserts to one writer, which
// commits whatever waits together: what a service on SQLite can do at best.

const rawSchema = `
CREATE TABLE items (
  owner TEXT NOT NULL, id TEXT NOT NULL, folder TEXT, name TEXT NOT NULL, name_folded TEXT NOT NULL,
  description TEXT, description_folded TEXT, icon TEXT, color TEXT, sort_order BIGINT NOT NULL, visibility TEXT NOT NULL,
  documents BIGINT NOT NULL, number BIGINT NOT NULL, revision BIGINT NOT NULL, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL,
  PRIMARY KEY (owner, id));
CREATE UNIQUE INDEX items_in_order ON items (owner, sort_order, number);
CREATE INDEX items_in_folder ON items (owner, folder, sort_order, number);
CREATE INDEX items_by_name ON items (owner, name_folded, number);
CREATE INDEX items_by_update ON items (owner, updated_at, number);`

const rawInsert = `INSERT INTO items VALUES (?, ?, NULL, ?, ?, ?, ?, 'book-open', '#2563eb', 0, 'private', 0, ?, 1, ?, ?)`

type rawTable struct {
	path string
	conn *sqlite.Conn
	n    int
}

// openRaw creates a table with `full` items. It fills them in by a separate connection, whose cache holds them all.
func openRaw(dir string, full int) (*rawTable, error) {
	t := &rawTable{path: filepath.Join(dir, fmt.Sprintf("limit-%d.db", time.Now().UnixNano()))}
	if err := t.open("PRAGMA cache_size = -1000000"); err != nil {
		return nil, err
	}
	if err := errors.Join(sqlitex.ExecuteScript(t.conn, rawSchema, nil), t.fill(full), t.conn.Close(), t.open("PRAGMA synchronous = FULL")); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *rawTable) open(pragma string) (err error) {
	if t.conn, err = sqlite.OpenConn(t.path, sqlite.OpenReadWrite, sqlite.OpenCreate, sqlite.OpenWAL); err != nil {
		return err
	}
	return t.exec(pragma)
}

func (t *rawTable) close() {
	t.conn.Close()
	os.Remove(t.path)
}

func (t *rawTable) fill(n int) error {
	err := t.exec("BEGIN")
	for i := 0; i < n && err == nil; i++ {
		err = t.insert()
	}
	return errors.Join(err, t.exec("COMMIT"))
}

func (t *rawTable) insert() error {
	t.n++
	now := time.Now()
	name, about, at := fmt.Sprintf("Project %010d", t.n), "What everybody should know about it", now.UnixMilli()
	return sqlitex.Execute(t.conn, rawInsert, &sqlitex.ExecOptions{Args: []any{
		fmt.Sprintf("01a1ddaf-e222-75b0-8b0f-%012d", t.n%standard.owners), newID(now), name, name, about, about, t.n, at, at}})
}

func (t *rawTable) exec(sql string) error { return sqlitex.Execute(t.conn, sql, nil) }

// oneByOne returns how many inserts a second are durable when each has a commit of its own.
func (t *rawTable) oneByOne(d time.Duration) (float64, error) {
	began, n := time.Now(), 0
	for ; time.Since(began) < d; n++ {
		if err := t.insert(); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

// grouped returns the durable inserts per second of `clients` clients that each wait for their own.
func (t *rawTable) grouped(clients int, d time.Duration) (float64, error) {
	jobs := make(chan chan error, clients)
	var group sync.WaitGroup
	began, end := time.Now(), make(chan struct{})
	time.AfterFunc(d, func() { close(end) })
	for range clients {
		group.Go(func() { t.client(jobs, end) })
	}
	go func() { group.Wait(); close(jobs) }()
	n := 0
	for first := range jobs {
		done, err := t.commit(first, jobs)
		if err != nil {
			return 0, err
		}
		n += done
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

func (t *rawTable) client(jobs chan<- chan error, end <-chan struct{}) {
	answer := make(chan error)
	for {
		select {
		case <-end:
			return
		case jobs <- answer:
			<-answer
		}
	}
}

// commit makes the inserts of all waiting clients in one transaction, and then wakes them.
func (t *rawTable) commit(first chan error, jobs <-chan chan error) (int, error) {
	waiting := []chan error{first}
	err := t.exec("BEGIN IMMEDIATE")
	if err == nil {
		err = t.insert()
	}
	for more := true; more && err == nil; {
		select {
		case job, ok := <-jobs:
			if more = ok; ok {
				waiting = append(waiting, job)
				err = t.insert()
			}
		default:
			more = false
		}
	}
	if err == nil {
		err = t.exec("COMMIT")
	}
	for _, job := range waiting {
		job <- err
	}
	return len(waiting), err
}
