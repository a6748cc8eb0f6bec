package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// The limit for writes is SQLite itself, by the driver that Sheaf uses: one table with a key as Sheaf's, one insert of
// as many bytes as a project's answer has, durable when it returns.
//
// The first takes a commit, and so an fsync, for each. In groups, 64 clients hand their inserts to one writer, which
// commits whatever waits together: what a service on SQLite can do at best.

type rawTable struct {
	conn *sqlite.Conn
	body string
	n    int
}

func openRaw(dir string, body int) (*rawTable, error) {
	c, err := sqlite.OpenConn(filepath.Join(dir, fmt.Sprintf("limit-%d.db", time.Now().UnixNano())),
		sqlite.OpenReadWrite, sqlite.OpenCreate, sqlite.OpenWAL)
	if err != nil {
		return nil, err
	}
	t := &rawTable{conn: c, body: strings.Repeat("x", body)}
	return t, errors.Join(t.exec("PRAGMA synchronous = FULL"),
		t.exec("CREATE TABLE items (owner TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (owner, id))"))
}

func (t *rawTable) insert() error {
	t.n++
	now := time.Now()
	return sqlitex.Execute(t.conn, `INSERT INTO items (owner, id, body) VALUES (?, ?, ?)`,
		&sqlitex.ExecOptions{Args: []any{fmt.Sprintf("01a1ddaf-e222-75b0-8b0f-%012d", t.n%100), newID(now), t.body}})
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

// grouped returns how many a second are durable for so many clients that wait for theirs.
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

// commit inserts for everybody who waits, in one transaction, and then tells them.
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
