package store

import (
	"fmt"
	"strconv"
	"strings"
)

// laneCount counts the held deliveries of a lane, so that nobody has to read them. A lane can be
// turned off with a million deliveries waiting, which are then held at once. So the waiting ones
// are counted too:
//
//	holds   the rows marked as held, and the fresh rows in no lease up to the cursor
//	given   the rows that events have ever added to the lane
//	taken   those of given that are no longer fresh rows in no lease above the cursor
//
//	the fresh rows in no lease above the cursor are    given - taken
//	the lane's held deliveries are                     holds if it is active,
//	                                                   holds + given - taken if it is inactive
//
// holds and taken are stored in the lane, and change under its lock. A commit of events must not
// wait for that lock, since claims take it all the time. It has locked the workspace and writes the
// workspace's row anyway, so given is stored there, for all lanes of the workspace in one text. A
// statement that reads both rows sees one state of them.
//
// While a lane is inactive, only the sum counts. A row that such a lane gains or loses is counted
// in holds, even if it is above the cursor.
type laneCount struct {
	holds, taken int64
	// version rises with every change to the fresh rows that are held, except when the lane is
	// turned on or off, or gets new rows. See Recoverable.
	version int64
}

// holdFresh counts n more fresh rows as held; n may be negative.
func (c *laneCount) holdFresh(n int64) {
	c.holds += n
	c.version++
}

// heldCount returns how many deliveries the lane holds, given the text of its workspace.
func (l *lane) heldCount(given string) int64 {
	if l.active {
		return l.holds
	}
	return l.holds + givenTo(given, l.sub) - l.taken
}

// The text of given has an entry for each lane, such as "7:1200 9:15": the lane's sub, and the
// number of rows that it was given. A lane without an entry was given none.

// givenTo returns the number of rows that the lane `sub` was given.
func givenTo(given string, sub int64) int64 {
	for entry := range strings.FieldsSeq(given) {
		if lane, n, _ := strings.Cut(entry, ":"); lane == strconv.FormatInt(sub, 10) {
			rows, _ := strconv.ParseInt(n, 10, 64)
			return rows
		}
	}
	return 0
}

// appendGiven appends the entry of a lane.
func appendGiven(given []byte, sub, rows int64) []byte {
	if len(given) > 0 {
		given = append(given, ' ')
	}
	return fmt.Appendf(given, "%d:%d", sub, rows)
}

// HeldOf returns how many deliveries a lane holds, from its columns active, sub, held and taken, and
// the column given of its workspace. waiting is the number of fresh rows in no lease above its
// cursor. It is for the doctor.
func HeldOf(active bool, sub, holds, taken int64, given string) (held, waiting int64) {
	l := lane{active: active, sub: sub, laneCount: laneCount{holds: holds, taken: taken}}
	return l.heldCount(given), givenTo(given, sub) - taken
}
