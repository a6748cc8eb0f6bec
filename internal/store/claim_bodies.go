package store

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"sheaf.dev/internal/store/engine"
)

// selectBodyHeads returns a body larger than SmallBody as its length in digits, which cannot be
// mistaken for a JSON object.
var selectBodyHeads = engine.NewBulk(fmt.Sprintf(`
SELECT e.id, CASE WHEN octet_length(e.body) <= %d THEN e.body ELSE CAST(octet_length(e.body) AS TEXT) END
FROM events e
WHERE e.ws = {ws} AND e.number = {number}`, SmallBody), "", "ws int", "number int")

// readHeads reads the events of the queue's claims, with the bodies that are small.
func (tx *Tx) readHeads(q *queue) error {
	rows := make([][]any, len(q.claims))
	for i := range q.claims {
		rows[i] = []any{q.ws, q.claims[i].number}
	}
	err := tx.run(selectBodyHeads, rows, func(i int, r *row) {
		c := &q.claims[i]
		c.Event, c.Body = readEventID(r), r.Blob()
		c.Size = int64(len(c.Body))
		if c.Size > 0 && c.Body[0] != '{' {
			c.Size, _ = strconv.ParseInt(string(c.Body), 10, 64)
			c.Body = nil
		}
		c.Size = min(c.Size, LargestBody)
	})
	if err != nil {
		return err
	}
	// A delivery whose event is missing cannot be sent. The doctor reports it.
	lost := func(c Claim) bool { return c.Event == "" }
	for i := range q.claims {
		if lost(q.claims[i]) {
			q.cut = slices.DeleteFunc(q.cut, func(c Claim) bool { return c.number == q.claims[i].number })
		}
	}
	q.claims = slices.DeleteFunc(q.claims, lost)
	return nil
}

// fit drops the first claim for which no bytes are left, and all after it. It returns that claim's
// size, or 0 if every claim fits.
func (q *queue) fit(budget *Budget) (tooLarge int64) {
	if q.Bytes == 0 {
		q.Bytes = math.MaxInt64
	}
	for i := range q.claims {
		size := q.claims[i].Size
		large := size > SmallBody
		if size > min(q.Bytes, budget.All) || large && size > budget.Large {
			q.claims = q.claims[:i]
			return size
		}
		q.Bytes -= size
		budget.All -= size
		if large {
			budget.Large -= size
		}
	}
	return 0
}

var selectBodies = engine.NewBulk(`
SELECT body
FROM events
WHERE ws = {workspace} AND number = {number}`, "", "workspace int", "number int")

// readBodies reads the bodies that readHeads left out, each event's once.
func (tx *Tx) readBodies(claims []Claim) error {
	type event struct{ ws, number int64 }
	bodies := map[event][]byte{}
	var events []event
	var rows [][]any
	for i := range claims {
		e := event{claims[i].ws, claims[i].number}
		if _, asked := bodies[e]; claims[i].Body == nil && !asked {
			bodies[e] = nil
			events = append(events, e)
			rows = append(rows, []any{e.ws, e.number})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if err := tx.run(selectBodies, rows, func(i int, r *row) { bodies[events[i]] = r.Blob() }); err != nil {
		return err
	}
	for i := range claims {
		if c := &claims[i]; c.Body == nil {
			c.Body = bodies[event{c.ws, c.number}]
		}
	}
	return nil
}
