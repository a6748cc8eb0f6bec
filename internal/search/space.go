package search

import (
	"errors"
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/engine"
)

// form is the version of the index's contents: how texts are folded, and how grams are made and
// written. A space with another form is rebuilt.
const form = 1

// The states of a space.
const (
	building = 0
	serving  = 1
	leaving  = 2 // being deleted in batches
)

const (
	// placeBits is the number of low bits of a key that hold the place. The others hold the space.
	placeBits = 32
	// chunkBytes bounds the text of a chunk, not counting its last record. Every search reads the
	// whole text of the chunks that are not sealed yet.
	chunkBytes = 8 << 20
)

// id is a stored identifier.
type id = [16]byte

// kinds are the kinds of records. Hits that are otherwise equal are sorted by these numbers.
var kinds = []sheaf.SearchType{1: sheaf.SearchDocument, 2: sheaf.SearchFolder, 3: sheaf.SearchProject}

func kindOf(t sheaf.SearchType) int64 {
	for k, name := range kinds {
		if name == t {
			return int64(k)
		}
	}
	panic("search: no kind is called " + string(t))
}

// space is one build of a workspace's index.
type space struct {
	number int64
	state  int64
	form   int64
	asked  int64 // number of the reindex request that it was built for
	turn   int64 // rises with every change, so that two followers notice each other
	cursor int64 // the last event that it contains
	mark   []byte
	kind   int64 // kind and upTo: progress of the build
	upTo   int64
	chunk  int64 // number of the open chunk, with its used places and its bytes
	used   int64
	bytes  int64
	moves  int64 // rises when unchanged records are moved to other places
	room   int64 // places per chunk: chunkPlaces
}

// first returns the key of the first place of `chunk`.
func (s *space) first(chunk int64) int64 { return s.number<<placeBits | chunk<<chunkBits }

// end returns the key after the last place of the space.
func (s *space) end() int64 { return (s.number + 1) << placeBits }

const selectSpaces = `
SELECT space, state, form, asked, turn, cursor, mark, kind, number, chunk, used, bytes, moves
FROM search_spaces
WHERE workspace = $1
ORDER BY space`

func scanSpace(r *engine.Row) space {
	return space{number: r.Int(), state: r.Int(), form: r.Int(), asked: r.Int(), turn: r.Int(), cursor: r.Int(), mark: r.OptBlob(),
		kind: r.Int(), upTo: r.Int(), chunk: r.Int(), used: r.Int(), bytes: r.Int(), moves: r.Int()}
}

// spacesOf returns the workspace's serving space and the one that is being built. Either may be
// nil.
func (x *Index) spacesOf(r *engine.Reader, ws sheaf.WorkspaceID) (serves, built *space, err error) {
	all, err := engine.All(r, selectSpaces, scanSpace, wsBytes(ws))
	for i := range all {
		all[i].room = x.room
		switch all[i].state {
		case serving:
			serves = &all[i]
		case building:
			built = &all[i]
		}
	}
	return serves, built, err
}

func wsBytes(ws sheaf.WorkspaceID) []byte {
	b, _ := sheaf.UUIDBytes(string(ws))
	return b[:]
}

const insertSpace = `
INSERT INTO search_spaces (workspace, state, form, asked, turn, cursor, mark, kind, number, chunk, used, bytes, moves)
VALUES ($1, 0, $2, $3, 0, $4, $5, 1, 0, 0, 0, 0, 0)
ON CONFLICT DO NOTHING`

// errLost means that another follower changed the space, or began one, after it was read.
var errLost = errors.New("another follower changed this index meanwhile")

const updateSpace = `
UPDATE search_spaces
SET state = $3, turn = turn + 1, cursor = $4, mark = $5, kind = $6, number = $7, chunk = $8, used = $9, bytes = $10, moves = $11
WHERE space = $1 AND turn = $2`

// hold locks the space until the transaction ends. It returns errLost if the space has changed
// since it was read. Another follower waits for the lock and then gets errLost.
func (s *space) hold(tx *engine.Tx) error {
	turn, found, err := engine.One(&tx.Reader, `SELECT turn FROM search_spaces WHERE space = $1`+tx.Dialect().ForUpdate(), (*engine.Row).Int, s.number)
	if err == nil && (!found || turn != s.turn) {
		err = errLost
	}
	return err
}

// save writes a space that the transaction holds.
func (s *space) save(tx *engine.Tx) error {
	n, err := tx.Changed(updateSpace, s.number, s.turn, s.state, s.cursor, s.mark, s.kind, s.upTo, s.chunk, s.used, s.bytes, s.moves)
	if err == nil && n == 0 {
		err = errLost
	}
	s.turn++
	return err
}

// record is the folded form of a project, folder or document.
type record struct {
	id      id
	kind    int64
	parent  any // project of a document, folder of others: 16 bytes, or nil
	updated time.Time
	title   string
	body    string
}

// newRecord folds a record of the store.
func newRecord(f *store.Findable) record {
	r := record{kind: kindOf(f.Type), updated: f.UpdatedAt, title: Fold(f.Title), body: Fold(f.Description) + between + Fold(f.Content)}
	r.id, _ = sheaf.UUIDBytes(f.ID)
	switch {
	case f.Project != nil:
		p, _ := sheaf.UUIDBytes(string(*f.Project))
		r.parent = p[:]
	case f.Folder != nil:
		p, _ := sheaf.UUIDBytes(string(*f.Folder))
		r.parent = p[:]
	}
	return r
}

// between separates description and content. No folded text contains it, so no word is found across
// the two.
const between = "\n"

var (
	placesOf = engine.NewBulk(`SELECT at FROM search_texts WHERE (at >> 32) = {space} AND id = {wanted}`, "", "space int", "wanted id")
	// deleteTexts takes keys. goneOf takes the first places of chunks. leaveChunks takes those too,
	// with the number of records that each chunk lost now and the set of all that have left it.
	deleteTexts = engine.NewBulk(`DELETE FROM search_texts WHERE at IN (SELECT {place} {rows})`, "", "place int")
	goneOf      = engine.NewBulk(`SELECT gone FROM search_chunks WHERE at = {first}`, "", "first int")
	leaveChunks = engine.NewBulk(`UPDATE search_chunks SET live = live - {lost}, gone = {gone} {rows} WHERE search_chunks.at = {first}`, "", "first int", "lost int", "gone bytes")
	insertTexts = engine.NewBulkInsert("search_texts", "at int", "id id", "kind int", "parent id", "updated_at int", "title", "body")
	insertGrams = engine.NewBulkInsert("search_grams", "at int", "sets bytes")
	insertTerms = engine.NewBulkInsert("search_terms", "at int", "names", "sets bytes")
)

// replace removes the records with these ids from the space, and adds `now`, their current
// versions. It changes s but does not save it.
func (s *space) replace(tx *engine.Tx, ids []id, now []record) error {
	if err := s.remove(tx, ids); err != nil {
		return fmt.Errorf("remove from the index of search: %w", err)
	}
	for len(now) > 0 {
		n, err := s.fill(tx, now)
		if err != nil {
			return fmt.Errorf("add to the index of search: %w", err)
		}
		now = now[n:]
	}
	return nil
}

func (s *space) remove(tx *engine.Tx, ids []id) error {
	rows := make([][]any, len(ids))
	for i := range ids {
		rows[i] = []any{s.number, ids[i][:]}
	}
	var places [][]any
	err := tx.Run(placesOf, rows, func(_ int, w *engine.Row) { places = append(places, []any{w.Int()}) })
	if err != nil || len(places) == 0 {
		return err
	}
	if err := tx.Run(deleteTexts, places, engine.Nothing); err != nil {
		return err
	}
	return noteGone(tx, places)
}

// noteGone notes in the chunks which records have left them. The open chunk has no row yet and is
// skipped.
func noteGone(tx *engine.Tx, places [][]any) error {
	left := map[int64]*set{}
	for _, row := range places {
		at := row[0].(int64)
		first := at &^ (chunkPlaces - 1)
		if left[first] == nil {
			left[first] = new(set)
		}
		left[first].add(int(at - first))
	}
	var chunks, rows [][]any
	for first := range left {
		chunks = append(chunks, []any{first})
	}
	err := tx.Run(goneOf, chunks, func(i int, w *engine.Row) {
		first := chunks[i][0].(int64)
		gone, now := bitsOf(w.OptBlob()), left[first]
		gone.join(now)
		rows = append(rows, []any{first, int64(now.count()), gone.appendBits(nil)})
	})
	if err != nil || len(rows) == 0 {
		return err
	}
	return tx.Run(leaveChunks, rows, engine.Nothing)
}

// fill adds records to the open chunk until that is full, and then closes the chunk. It returns the
// number of records added.
func (s *space) fill(tx *engine.Tx, now []record) (n int, err error) {
	var rows [][]any
	for ; n < len(now) && !s.full(); n++ {
		r := &now[n]
		rows = append(rows, []any{s.first(s.chunk) + s.used, r.id[:], r.kind, r.parent, r.updated, r.title, r.body})
		s.used++
		s.bytes += int64(len(r.title) + len(r.body))
	}
	if err := tx.Run(insertTexts, rows, engine.Nothing); err != nil || !s.full() {
		return n, err
	}
	return n, s.close(tx)
}

func (s *space) full() bool { return s.used >= s.room || s.bytes >= chunkBytes }

const insertChunk = `
INSERT INTO search_chunks (at, places, live, sealed)
SELECT CAST($1 AS BIGINT), CAST($2 AS BIGINT), COUNT(*), 0
FROM search_texts
WHERE at >= $1 AND at < $3`

// close ends the open chunk: no record is added to it any more.
func (s *space) close(tx *engine.Tx) error {
	at := s.first(s.chunk)
	if err := tx.Exec(insertChunk, at, s.used, at+chunkPlaces); err != nil {
		return err
	}
	s.chunk++
	s.used, s.bytes = 0, 0
	return nil
}
