package store

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// What the search index reads: the event log, and the records that its events name.

// Findable is a project, a folder or a document, with the fields that search indexes.
type Findable struct {
	Type        sheaf.SearchType
	ID          string
	Title       string // title of a document; name of a project or a folder
	Description string
	Content     string
	Project     *sheaf.ProjectID  // project of a document; nil otherwise
	Folder      *sheaf.FolderID   // folder of a project, or parent of a folder; nil otherwise
	Parent      *sheaf.DocumentID // document above a document; nil otherwise
	UpdatedAt   time.Time
}

var findable = map[sheaf.SearchType]*engine.Bulk{
	sheaf.SearchProject: newFindable(`
SELECT id, name, description, folder_id, updated_at
FROM projects
WHERE ws = {workspace} AND id = {wanted}`),
	sheaf.SearchFolder: newFindable(`
SELECT id, name, NULL, parent_id, updated_at
FROM folders
WHERE ws = {workspace} AND id = {wanted}`),
	sheaf.SearchDocument: newFindable(`
SELECT id, title, description, project_id, updated_at, parent_id, ` + TextColumns + `
FROM documents
LEFT JOIN texts ON texts.ws = documents.ws AND texts.document_id = documents.id AND texts.hash = documents.content_hash
WHERE documents.ws = {workspace} AND documents.id = {wanted} AND deleted_at IS NULL`),
}

func newFindable(text string) *engine.Bulk {
	return engine.NewBulk(text, "", "workspace int", "wanted id")
}

func scanFindable(t sheaf.SearchType, w *row) (f Findable, err error) {
	f = Findable{Type: t, ID: readID[string](w), Title: w.Text(), Description: w.Text()}
	if t == sheaf.SearchDocument {
		f.Project = optID[sheaf.ProjectID](w)
	} else {
		f.Folder = optID[sheaf.FolderID](w)
	}
	f.UpdatedAt = w.Time()
	if t == sheaf.SearchDocument {
		f.Parent = optID[sheaf.DocumentID](w)
		f.Content, err = ScanText(w)
	}
	return f, err
}

// Findables returns those of the records that exist and are not deleted, in no particular order.
// Each may have a megabyte of content.
func (r *Reader) Findables(ws sheaf.WorkspaceID, t sheaf.SearchType, ids []string) ([]Findable, error) {
	rows := make([][]any, len(ids))
	for i, id := range ids {
		rows[i] = []any{ws, idBytes(id)}
	}
	var found []Findable
	var unpacked error
	err := r.run(findable[t], rows, func(_ int, w *row) {
		f, err := scanFindable(t, w)
		found, unpacked = append(found, f), cmp.Or(unpacked, err)
	})
	if err = cmp.Or(err, unpacked); err != nil {
		return nil, fmt.Errorf("read what can be found: %w", err)
	}
	return found, nil
}

// Numbered is a record's id and number. Numbers rise in the order of creation within a workspace.
type Numbered struct {
	ID     string
	Number int64
}

var numbered = map[sheaf.SearchType]string{
	sheaf.SearchProject:  newNumbered(`projects`, ``),
	sheaf.SearchFolder:   newNumbered(`folders`, ``),
	sheaf.SearchDocument: newNumbered(`documents`, ` AND deleted_at IS NULL`),
}

func newNumbered(table, live string) string {
	return "SELECT id, number FROM " + table + " WHERE ws = $1 AND number > $2" + live + " ORDER BY number LIMIT $3"
}

// NumberedAfter returns up to `most` records with numbers above `after`, lowest first, without
// deleted documents.
func (r *Reader) NumberedAfter(ws sheaf.WorkspaceID, t sheaf.SearchType, after int64, most int) ([]Numbered, error) {
	return all(r, numbered[t], func(w *row) Numbered { return Numbered{readID[string](w), w.Int()} }, ws, after, most)
}

// Change is the part of an event that search needs.
type Change struct {
	Number int64
	Event  sheaf.EventID
	At     time.Time
	Type   sheaf.SearchType // empty: the event's record is not searchable
	ID     string
}

const selectChanges = `
SELECT number, id, at, type, resource_id
FROM events
WHERE ws = $1 AND number > $2
ORDER BY number
LIMIT $3`

// ChangesAfter returns up to `most` events with numbers above `after`, without their bodies.
func (r *Reader) ChangesAfter(ws sheaf.WorkspaceID, after int64, most int) ([]Change, error) {
	return all(r, selectChanges, scanChange, ws, after, most)
}

func scanChange(w *row) Change {
	c := Change{Number: w.Int(), Event: readEventID(w), At: w.Time()}
	switch t := ReadEventType(w); t {
	case sheaf.ProjectCreated, sheaf.ProjectUpdated, sheaf.ProjectDeleted,
		sheaf.FolderCreated, sheaf.FolderUpdated, sheaf.FolderDeleted,
		sheaf.DocumentCreated, sheaf.DocumentUpdated, sheaf.DocumentDeleted:
		c.Type = sheaf.SearchType(t.Resource())
	}
	c.ID = readID[string](w)
	return c
}

// Log is the range of a workspace's event numbers.
type Log struct {
	First int64 // the oldest event still stored; 0: none
	Last  int64 // the newest event ever appended; 0: none
}

const selectLog = `
SELECT COALESCE((SELECT MIN(number) FROM events WHERE ws = $1), 0), last_event
FROM workspaces
WHERE ws = $1`

// Log returns the range of the workspace's event numbers; found is false if the workspace does not
// exist.
func (r *Reader) Log(ws sheaf.WorkspaceID) (l Log, found bool, err error) {
	return one(r, selectLog, func(w *row) Log { return Log{w.Int(), w.Int()} }, ws)
}

const eventAt = `
SELECT id
FROM events
WHERE ws = $1 AND number = $2`

// EventAt returns the id of the event with that number; found is false if it is no longer stored.
func (r *Reader) EventAt(ws sheaf.WorkspaceID, number int64) (id sheaf.EventID, found bool, err error) {
	return one(r, eventAt, readEventID, ws, number)
}

// EachLog calls each for every workspace with the number of its newest event.
func (r *Reader) EachLog(each func(ws sheaf.WorkspaceID, last int64)) error {
	return r.query(`SELECT id, last_event FROM workspaces`, func(w *row) { each(readID[sheaf.WorkspaceID](w), w.Int()) })
}

const selectLogEnds = `
SELECT w.id, w.last_event, e.id
FROM workspaces w
LEFT JOIN events e ON e.ws = w.ws AND e.number = w.last_event`

// EachLogEnd calls each for every workspace with the number and the id of its newest event. The id
// is nil if the event is no longer stored.
func (r *Reader) EachLogEnd(each func(ws sheaf.WorkspaceID, last int64, event *sheaf.EventID)) error {
	return r.query(selectLogEnds, func(w *row) { each(readID[sheaf.WorkspaceID](w), w.Int(), engine.Opt(w, readEventID)) })
}

const foldersBelow = `
SELECT id
FROM folders
WHERE ` + inTree

const projectsBelow = `
SELECT id
FROM projects
WHERE ws = $1 AND folder_id IN (SELECT id FROM folders WHERE ` + inTree + `)`

// Below returns the ids of the folder and all folders below it, and of the projects in them. All
// are empty if the workspace has no such folder, or if it is not visible.
func (r *Reader) Below(ws sheaf.WorkspaceID, top sheaf.FolderID) (folders, projects [][16]byte, err error) {
	if r.sight.restriction != nil {
		switch _, err := r.Folder(ws, top); {
		case sheaf.KindOf(err) == sheaf.NotFound:
			return nil, nil, nil
		case err != nil:
			return nil, nil, err
		}
	}
	if folders, err = all(r, foldersBelow, (*row).ID, ws, top); err != nil {
		return nil, nil, err
	}
	projects, err = all(r, projectsBelow, (*row).ID, ws, top)
	return folders, projects, err
}

const projectFolder = `
SELECT folder_id
FROM projects
WHERE ws = {workspace} AND id = {wanted}`

var foldersOfProjects = engine.NewBulk(projectFolder, "", "workspace int", "wanted id")

// FoldersOf returns the folder of each project. Projects at the root level have no entry.
func (r *Reader) FoldersOf(ws sheaf.WorkspaceID, projects []sheaf.ProjectID) (map[sheaf.ProjectID]sheaf.FolderID, error) {
	rows := make([][]any, len(projects))
	for i, id := range projects {
		rows[i] = []any{ws, id}
	}
	folders := map[sheaf.ProjectID]sheaf.FolderID{}
	err := r.run(foldersOfProjects, rows, func(i int, w *row) {
		if f := optID[sheaf.FolderID](w); f != nil {
			folders[projects[i]] = *f
		}
	})
	return folders, err
}

// reindexSetting counts the requests to rebuild all search indexes.
const reindexSetting = "search_reindex"

const askReindex = `
INSERT INTO settings (name, value)
VALUES ($1, '1')
ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(settings.value AS BIGINT) + 1 AS TEXT)
RETURNING value`

// AskReindex requests that every search index older than this call is rebuilt. It returns the
// number of the request, which ReindexAsked returns too.
func (tx *Tx) AskReindex() (int64, error) {
	value, _, err := one(&tx.Reader, askReindex, (*row).Text, reindexSetting)
	if err != nil {
		return 0, err
	}
	tx.note.Events, tx.note.Workspaces = true, sheaf.WorkspaceSet{All: true}
	return strconv.ParseInt(value, 10, 64)
}

// ReindexAsked returns how often AskReindex was called.
func (r *Reader) ReindexAsked() (int64, error) {
	value, found, err := r.Setting(reindexSetting)
	if err != nil || !found {
		return 0, err
	}
	return strconv.ParseInt(value, 10, 64)
}
