package store

import (
	"encoding/binary"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// Listeners learn of commits by notes (OnCommit). A note can be lost: on PostgreSQL, if a node dies
// between a commit and its notice. So the workers also poll, and polling must cost nothing for an
// idle workspace:
//
//	poll           reads                                       finds
//	GrownSince     new events only, by the index of event ids, every log that grew, if clocks
//	               which begin with their time                 agree
//	round          the next few workspaces or lanes by their   the rest: after a wrong clock, or
//	               keys, and starts over after the last        a row that was changed by hand
//	LogEnds        the workspaces that somebody follows, by    every log that grew
//	               one query
//
// Where every commit is announced (AnnouncesAll), only the round is used.

// AnnouncesAll reports whether listeners certainly learn of every commit, including those of other
// processes. This is so on SQLite.
func (s *Store) AnnouncesAll() bool { return s.neighbours == nil }

// grownMost is the most events that one poll reads. It is a literal in the SQL, so that
// PostgreSQL's planner sees it.
const grownMost = 100_000

const grownLogs = `
SELECT ws, COUNT(*) AS events
FROM (SELECT ws FROM events WHERE id >= $1 ORDER BY id LIMIT 100000) AS newest
GROUP BY ws`

const grownEnds = `
SELECT w.id, w.last_event, g.events
FROM (` + grownLogs + `) AS g
JOIN workspaces w ON w.ws = g.ws
WHERE w.deleted_at = 0`

// GrownSince calls each for every workspace that has an event since `since`, with the number of its
// newest event. It reads at most grownMost events; whole is false if there may be more.
func (r *Reader) GrownSince(since time.Time, each func(ws sheaf.WorkspaceID, last int64)) (whole bool, err error) {
	read := int64(0)
	err = r.query(grownEnds, func(w *row) {
		each(readID[sheaf.WorkspaceID](w), w.Int())
		read += w.Int()
	}, firstID(since))
	return read < grownMost, err
}

// firstID returns the bytes of the lowest id that can be made at time t.
func firstID(t time.Time) []byte {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:], uint64(max(t.UnixMilli(), 0))<<16)
	return id[:]
}

// Round is a position in a round over all workspaces, or over all lanes. The zero value is the
// beginning.
type Round struct{ ws, sub int64 }

const logsAfter = `
SELECT ws, id, last_event
FROM workspaces
WHERE ws > $1 AND removing = 0
ORDER BY ws
LIMIT $2`

// LogsAfter calls each for the next `most` workspaces of a round, with the number of their newest
// event. It returns where the round continues; after the last workspace, at the beginning.
func (r *Reader) LogsAfter(after Round, most int, each func(ws sheaf.WorkspaceID, last int64)) (next Round, err error) {
	n := 0
	err = r.query(logsAfter, func(w *row) {
		next.ws = w.Int()
		each(readID[sheaf.WorkspaceID](w), w.Int())
		n++
	}, after.ws, most)
	if n < most {
		next = Round{}
	}
	return next, err
}

var endsOfLogs = engine.NewBulk(`SELECT w.last_event FROM workspaces w WHERE w.ws = {ws}`, "", "ws int")

// LogEnds returns the number of the newest event of each of these workspaces, by one query.
// Workspaces that do not exist are missing.
func (r *Reader) LogEnds(ids []sheaf.WorkspaceID) (map[sheaf.WorkspaceID]int64, error) {
	rows, ends := make([][]any, len(ids)), map[sheaf.WorkspaceID]int64{}
	for i, id := range ids {
		rows[i] = []any{id}
	}
	err := r.run(endsOfLogs, rows, func(i int, w *row) { ends[ids[i]] = w.Int() })
	return ends, err
}

// Upkeep is the work for the sweep in one workspace.
type Upkeep struct {
	Workspace sheaf.WorkspaceID
	Numbers   int64 // number of records ever created
	OldLog    bool  // its log begins before the time of UpkeepAfter
	OldTrash  bool  // it has a document that was deleted before the time of UpkeepAfter
	// OldProposals: it has a proposal that was decided before the time of UpkeepAfter.
	OldProposals bool
}

// Old has the times before which records are old. With the zero value, no record is old.
type Old struct{ Log, Trash, Proposals time.Time }

// upkeepAfter reads the first event of each workspace, and whether it has an old deleted document or
// an old decided proposal.
const upkeepAfter = `
SELECT w.ws, w.id, w.last_number,
  CASE WHEN (SELECT e.at FROM events e WHERE e.ws = w.ws ORDER BY e.number LIMIT 1) < $3 THEN 1 ELSE 0 END,
  CASE WHEN EXISTS (SELECT 1 FROM documents d WHERE d.ws = w.ws AND d.deleted_at <= $4) THEN 1 ELSE 0 END,
  CASE WHEN EXISTS (SELECT 1 FROM proposals p WHERE p.ws = w.ws AND p.decided_at < $5) THEN 1 ELSE 0 END
FROM workspaces w
WHERE w.ws > $1 AND w.deleted_at = 0
ORDER BY w.ws
LIMIT $2`

// UpkeepAfter returns the next `most` workspaces of a round, and where the round continues; after
// the last workspace, at the beginning.
func (r *Reader) UpkeepAfter(after Round, most int, old Old) (found []Upkeep, next Round, err error) {
	err = r.query(upkeepAfter, func(w *row) {
		next.ws = w.Int()
		found = append(found, Upkeep{readID[sheaf.WorkspaceID](w), w.Int(), w.Bool(), w.Bool(), w.Bool()})
	}, after.ws, most, old.Log, old.Trash, old.Proposals)
	if len(found) < most {
		next = Round{}
	}
	return found, next, err
}

const (
	// laneAfter finds where a piece of a round ends.
	laneAfter = `
SELECT ws, sub
FROM lanes
WHERE (ws, sub) > ($1, $2)
ORDER BY ws, sub
LIMIT 1 OFFSET $3`

	lanesAfter = `SELECT * FROM lanes WHERE (ws, sub) > ($1, $2) ORDER BY ws, sub LIMIT $3`

	// grownLanes are the lanes of workspaces whose log grew, and the lanes that were recovered,
	// which appends no event.
	grownLanes = `
SELECT l.* FROM (` + grownLogs + `) AS g JOIN lanes l ON l.ws = g.ws
UNION
SELECT * FROM lanes WHERE recovered_at >= $2`
)

// WaitingLanesAfter is WaitingLanes for the next `most` lanes of a round. It returns where the
// round continues; after the last lane, at the beginning.
func (r *Reader) WaitingLanesAfter(after Round, most int) (waiting map[sheaf.SubscriptionID]time.Time, next Round, err error) {
	next, _, err = one(r, laneAfter, func(w *row) Round { return Round{w.Int(), w.Int()} }, after.ws, after.sub, most-1)
	if err != nil {
		return nil, next, err
	}
	waiting = map[sheaf.SubscriptionID]time.Time{}
	err = r.waitingIn(waiting, lanesAfter, after.ws, after.sub, most)
	return waiting, next, err
}

// WaitingLanesSince is WaitingLanes for lanes in which deliveries may wait since `since`: those of
// workspaces that have an event since then, and those that were recovered since. It reads at most
// grownMost events; whole is false if there may be more.
func (r *Reader) WaitingLanesSince(since time.Time) (waiting map[sheaf.SubscriptionID]time.Time, whole bool, err error) {
	n, err := r.count(`SELECT COUNT(*) FROM (SELECT 1 FROM events WHERE id >= $1 ORDER BY id LIMIT 100000) AS newest`, firstID(since))
	if err != nil || n == grownMost {
		return nil, false, err
	}
	waiting = map[sheaf.SubscriptionID]time.Time{}
	return waiting, true, r.waitingIn(waiting, grownLanes, firstID(since), since)
}
