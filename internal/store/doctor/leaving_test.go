package doctor_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/media"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/doctor"
)

// A word that is in everything of the workspace that leaves, and nowhere else.
const canary = "qzcanaryqz"

// bare is a connection to the bare database.
type bare struct {
	t        *testing.T
	db       *sql.DB
	postgres bool
}

func openBare(t *testing.T, o store.Options) bare {
	t.Helper()
	driver, address := "sqlite", filepath.Join(o.Folder, store.FileName)+"?_pragma=busy_timeout(10000)"
	if o.DatabaseURL != "" {
		driver, address = "pgx", o.DatabaseURL
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	return bare{t, db, o.DatabaseURL != ""}
}

func (b bare) exec(statement string, args ...any) {
	b.t.Helper()
	if _, err := b.db.Exec(statement, args...); err != nil {
		b.t.Fatalf("%s: %v", statement, err)
	}
}

func (b bare) count(query string, args ...any) (n int64) {
	b.t.Helper()
	if err := b.db.QueryRow(query, args...).Scan(&n); err != nil {
		b.t.Fatalf("%s: %v", query, err)
	}
	return n
}

func (b bare) strings(query string) (out []string) {
	b.t.Helper()
	rows, err := b.db.Query(query)
	if err != nil {
		b.t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			b.t.Fatal(err)
		}
		out = append(out, s)
	}
	if err := rows.Err(); err != nil {
		b.t.Fatal(err)
	}
	return out
}

// tables returns all tables of the schema.
func (b bare) tables() []string {
	if b.postgres {
		return b.strings(`SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' ORDER BY 1`)
	}
	return b.strings(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY 1`)
}

// columns returns the columns of a table, with their types, and whether a row must name them.
func (b bare) columns(table string) (names, types []string, needed []bool) {
	query := `SELECT name || ' ' || type || ' ' || CASE WHEN "notnull" = 1 AND dflt_value IS NULL THEN 'needed' ELSE 'optional' END FROM pragma_table_info('` + table + `')`
	if b.postgres {
		query = `SELECT column_name || ' ' || REPLACE(data_type, ' ', '_') || ' ' || CASE WHEN is_nullable = 'NO' AND column_default IS NULL THEN 'needed' ELSE 'optional' END
FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = '` + table + `'`
	}
	for _, line := range b.strings(query) {
		f := strings.Fields(line)
		names, types, needed = append(names, f[0]), append(types, strings.ToLower(f[1])), append(needed, f[2] == "needed")
	}
	return names, types, needed
}

// tenantTables returns the tables with rows of workspaces, except the table `workspaces`.
func (b bare) tenantTables() (out []string) {
	for _, table := range b.tables() {
		if names, _, _ := b.columns(table); slices.Contains(names, "ws") && table != "workspaces" {
			out = append(out, table)
		}
	}
	return out
}

// plantRow adds a row of the workspace to a table. Its texts are the canary.
func (b bare) plantRow(table string, ws int64) {
	b.t.Helper()
	names, types, needed := b.columns(table)
	var into, values []string
	for i, name := range names {
		value := "1"
		switch {
		case name == "ws":
			value = fmt.Sprint(ws)
		case strings.Contains(types[i], "text"):
			value = "'" + canary + "'"
		case !needed[i]:
			continue
		case types[i] == "uuid":
			value = "gen_random_uuid()"
		case types[i] == "bytea":
			value = "'" + canary + "'"
		case types[i] == "blob":
			value = "randomblob(16)"
		}
		into, values = append(into, name), append(values, value)
	}
	b.exec("INSERT INTO " + table + " (" + strings.Join(into, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")")
}

// number returns the small number of a workspace.
func (b bare) number(id sheaf.WorkspaceID) int64 {
	text := strings.ReplaceAll(string(id), "-", "")
	if b.postgres {
		return b.count(`SELECT ws FROM workspaces WHERE id = '` + text + `'`)
	}
	return b.count(`SELECT ws FROM workspaces WHERE id = X'` + text + `'`)
}

// rows returns how many rows of the workspace each table has.
func (b bare) rows(ws int64) map[string]int64 {
	out := map[string]int64{}
	for _, table := range b.tenantTables() {
		out[table] = b.count("SELECT COUNT(*) FROM " + table + " WHERE ws = " + fmt.Sprint(ws))
	}
	return out
}

// wantNoCanary fails if a row of any table has the canary.
func (b bare) wantNoCanary() {
	b.t.Helper()
	for _, table := range b.tables() {
		names, _, _ := b.columns(table)
		for _, name := range names {
			text := "CAST(" + name + " AS TEXT)"
			if n := b.count("SELECT COUNT(*) FROM " + table + " WHERE " + text + " LIKE '%" + canary + "%' OR " + text + " LIKE '%" + hex.EncodeToString([]byte(canary)) + "%'"); n > 0 {
				b.t.Errorf("%d rows of %s have the canary in %s", n, table, name)
			}
		}
	}
}

// wantNoBytes fails if a file below the folder has the canary in its bytes, or in its name the media of the
// workspace.
func wantNoBytes(t *testing.T, folder string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err == nil {
			if at := bytes.Index(bytes.ToLower(content), []byte(canary)); at >= 0 {
				t.Errorf("%s of %d bytes has the canary at %d: %q", path, len(content), at, content[max(0, at-20):min(len(content), at+40)])
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// fillWithCanaries gives the workspace some of everything, with the canary in it: texts that compress
// badly, long ones, old versions, deleted records, media, a restriction with its log.
func fillWithCanaries(t *testing.T, ws *apitest.Workspace, url string) {
	t.Helper()
	c := ws.Client("")
	populate(t, c, url)
	for i := range 60 {
		noise := make([]byte, 200*(1+i%40))
		_, _ = rand.Read(noise)
		text := canary + " " + hex.EncodeToString(noise) + " " + canary
		d := c.POST("/api/v1/documents", object{"title": fmt.Sprintf("%s %d", canary, i), "content": text}).Want(t, 201).Text(t, "id")
		if i%3 == 0 {
			c.PATCH("/api/v1/documents/"+d, object{"content": text + "!", "title": canary + strings.Repeat("z", i)}).Want(t, 200)
		}
		if i%5 == 0 {
			p := c.POST("/api/v1/proposals", object{"title": canary, "message": text[:min(len(text), 5000)], "changes": []object{
				{"op": "edit", "document_id": d, "base_version": 1, "content": text + "?"}, {"op": "create", "title": canary, "content": "more " + text}}}).Want(t, 201).Text(t, "id")
			c.POST("/api/v1/proposals/"+p+"/comments", object{"body": text[:min(len(text), 5000)]}).Want(t, 201)
		}
		if i%7 == 0 {
			c.DELETE("/api/v1/documents/"+d).Want(t, 204)
		}
	}
	c.POST("/api/v1/media?filename="+canary+".txt", []byte(canary+" bytes"), "Content-Type: application/octet-stream").Want(t, 201)
	folder := c.POST("/api/v1/folders", object{"name": canary, "entity_type": "project"}).Want(t, 201).Text(t, "id")
	c.POST("/api/v1/api-keys", object{"name": canary, "scopes": []string{"projects:read", "documents:read", "events:read"},
		"restricted_to": object{"folder_ids": []string{folder}}}).Want(t, 201)
	c.POST("/api/v1/projects", object{"name": canary, "folder_id": folder}, "Idempotency-Key: "+canary).Want(t, 201)
	c.GET("/api/v1/search?q="+canary).Want(t, 200)
	released := c.POST("/api/v1/projects", object{"name": canary}).Want(t, 201).Text(t, "id")
	picture := c.POST("/api/v1/media?filename="+canary+".bin", []byte(canary+" picture"), "Content-Type: application/octet-stream").Want(t, 201).Text(t, "id")
	c.POST("/api/v1/documents", object{"title": canary, "project_id": released, "content": canary + " ![it](media:" + picture + ")"}).Want(t, 201)
	c.POST("/api/v1/projects/"+released+"/releases", object{"name": canary, "notes": canary}).Want(t, 201)
	c.DELETE("/api/v1/media/"+picture).Want(t, 204)
}

// connectApp connects an app in the name of the workspace's owner.
func connectApp(t *testing.T, a *apitest.API, w *apitest.Workspace) {
	t.Helper()
	owner := app.Caller{Workspace: w.ID, User: w.Owner, Role: sheaf.Owner}
	in := app.NewGrant{App: sheaf.OAuthClient{ID: canary, Name: canary}, Redirect: "https://" + canary + ".example/", Challenge: canary, Scopes: sheaf.DefaultGrantScopes}
	if _, err := a.App.Connect(t.Context(), owner, in); err != nil {
		t.Fatal(err)
	}
}

// beginUpload begins an upload, sends only a first piece with the canary, and returns its path.
func beginUpload(t *testing.T, c *apitest.Client) string {
	t.Helper()
	made := c.POST("/api/v1/uploads", nil, "Tus-Resumable: 1.0.0", "Upload-Length: 1000").Want(t, 201)
	_, id, _ := strings.Cut(made.Header.Get("Location"), "/uploads/")
	path := "/api/v1/uploads/" + id
	c.PATCH(path, []byte(canary+" piece"), "Tus-Resumable: 1.0.0", "Upload-Offset: 0", "Content-Type: application/offset+octet-stream").Want(t, 204)
	return path
}

// D206: a deleted workspace does not answer on any node, and comes back whole. Once its time is over,
// nothing of it is left: in no table that the schema has, in no index, in no media, and in no byte of
// SQLite's files. Its neighbour keeps everything.
func TestLeaving_NothingIsLeft(t *testing.T) {
	t.Parallel()
	apitest.EachStore(t, func(t *testing.T, a *apitest.API) {
		stop := a.Follow()
		defer stop()
		r, err := sheaftest.Receive(a.Webhooks.CA)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		goes, stays := a.Workspace(sheaf.Business), a.Workspace(sheaf.Business)
		fillWithCanaries(t, goes, r.URL)
		connectApp(t, a, goes)
		populate(t, stays.Client(""), r.URL)
		mine, other := goes.Client(""), stays.Client("")
		piece := beginUpload(t, mine)
		op := a.App.Operator()
		invited, err := op.Invite(t.Context(), goes.ID, canary+"@example.com", sheaf.Member, nil)
		if err != nil {
			t.Fatal(err)
		}
		offer := func() sheaf.Kind {
			_, err := a.App.Offer(t.Context(), invited.Token)
			return sheaf.KindOf(err)
		}
		share := mine.GET("/api/v1/shares").Items(t)[0]["url"].(string)
		page := func() int {
			res, err := a.Server.Client().Get(a.Server.URL + strings.TrimPrefix(share, apitest.Address))
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			return res.StatusCode
		}
		b := openBare(t, a.Options)
		defer b.db.Close()
		n, beside := b.number(goes.ID), b.number(stays.ID)
		for table, rows := range b.rows(n) {
			if rows == 0 {
				b.plantRow(table, n)
			}
		}
		before, whole := b.rows(beside), b.rows(n)
		remove := func(id sheaf.WorkspaceID, after time.Duration) {
			t.Helper()
			if _, err := op.DeleteWorkspace(t.Context(), id, after); err != nil {
				t.Fatal(err)
			}
		}
		remove(goes.ID, 7*24*time.Hour)
		for range 4 { // each node, more than once
			mine.GET("/api/v1/me").WantError(t, 401, "UNAUTHORIZED", "")
			mine.POST("/api/v1/projects", object{"name": "no"}).WantError(t, 401, "UNAUTHORIZED", "")
			mine.Do("HEAD", piece, nil, "Tus-Resumable: 1.0.0").Want(t, 401)
			if got := page(); got != http.StatusNotFound {
				t.Errorf("its share answers %d", got)
			}
			if got := offer(); got != sheaf.NotFound {
				t.Errorf("its invitation is answered with %v", got)
			}
			other.GET("/api/v1/me").Want(t, 200)
		}
		if _, err := op.DeleteWorkspace(t.Context(), goes.ID, 0); sheaf.KindOf(err) != sheaf.Conflict || !strings.Contains(err.Error(), "is deleted already") {
			t.Errorf("deleted again: %v", err)
		}
		if err := op.RemoveWorkspaces(t.Context(), a.Clock.Now()); err != nil {
			t.Error(err)
		}
		if _, err := op.UndeleteWorkspace(t.Context(), goes.ID); err != nil {
			t.Fatal(err)
		}
		mine.GET("/api/v1/me").Want(t, 200)
		mine.Do("HEAD", piece, nil, "Tus-Resumable: 1.0.0").Want(t, 200)
		if _, err := a.App.Offer(t.Context(), invited.Token); err != nil {
			t.Errorf("after undelete its invitation: %v", err)
		}
		if got := page(); got != http.StatusOK {
			t.Errorf("after undelete its share answers %d", got)
		}
		got := b.rows(n)
		got["audit"] -= 2 // the deletion and the undeletion
		if fmt.Sprint(got) != fmt.Sprint(whole) {
			t.Errorf("after undelete it has %v, before %v", got, whole)
		}
		remove(goes.ID, 0)
		if err := op.RemoveWorkspaces(t.Context(), a.Clock.Now()); err != nil {
			t.Fatal(err)
		}
		if _, err := op.UndeleteWorkspace(t.Context(), goes.ID); sheaf.KindOf(err) != sheaf.NotFound {
			t.Errorf("undelete of what is removed: %v", err)
		}
		for table, rows := range b.rows(n) {
			if rows > 0 {
				t.Errorf("%d rows are left in %s", rows, table)
			}
		}
		b.wantNoCanary()
		if err := a.Media.List(t.Context(), string(goes.ID), func(media.Key, int64) error { t.Error("a medium is left"); return nil }); err != nil {
			t.Error(err)
		}
		if err := a.Media.Uploads(t.Context(), func(name string) error { t.Errorf("the upload %s is left", name); return nil }); err != nil {
			t.Error(err)
		}
		if got := b.rows(beside); fmt.Sprint(got) != fmt.Sprint(before) {
			t.Errorf("its neighbour has %v, before %v", got, before)
		}
		other.POST("/api/v1/projects", object{"name": "still here"}).Want(t, 201)
		err = doctor.Examine(context.Background(), a.Store, doctor.Examination{Now: a.Clock.Now(), Retention: 720 * time.Hour, Box: a.Webhooks.Box}, func(f doctor.Finding) {
			t.Errorf("the doctor tells of %s", f)
		})
		if err != nil {
			t.Error(err)
		}
		if b.postgres {
			return
		}
		stop()
		sheaftest.Eventually(t, "the logs are empty", func() bool {
			a.Store.EmptyLog()
			for _, name := range []string{store.FileName, "search.db"} {
				if info, err := os.Stat(filepath.Join(a.Options.Folder, name+"-wal")); err == nil && info.Size() > 0 {
					return false
				}
			}
			return true
		})
		wantNoBytes(t, a.Options.Folder)
	}, apitest.WithShares)
}

// D206: requests that are under way while the workspace is deleted and removed leave nothing behind, and
// none that begins after the answer is let in, on any node.
func TestLeaving_BesideRequests(t *testing.T) {
	t.Parallel()
	apitest.EachStore(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		c := ws.Client("")
		b := openBare(t, a.Options)
		defer b.db.Close()
		n := b.number(ws.ID)
		folder := c.POST("/api/v1/folders", object{"name": "Top", "entity_type": "project"}).Want(t, 201).Text(t, "id")
		c.POST("/api/v1/api-keys", object{"name": "k", "scopes": []string{"events:read"}, "restricted_to": object{"folder_ids": []string{folder}}}).Want(t, 201)
		begun := make(chan struct{}, 100) // a request was answered
		var under sync.WaitGroup
		for client := range 8 {
			under.Go(func() {
				for i := 0; ; i++ {
					var answer *apitest.Response
					switch client % 4 {
					case 0:
						answer = c.POST("/api/v1/documents", object{"title": "t", "content": fmt.Sprint(client, i)})
					case 1:
						answer = c.POST("/api/v1/projects", object{"name": "p", "folder_id": folder}, fmt.Sprintf("Idempotency-Key: %d-%d", client, i))
					case 2:
						answer = c.POST("/api/v1/media?filename=f.txt", []byte(fmt.Sprint("bytes", client, i)), "Content-Type: application/octet-stream")
					case 3:
						answer = c.POST("/api/v1/uploads", nil, "Tus-Resumable: 1.0.0", "Upload-Length: 5")
						if _, path, made := strings.Cut(answer.Header.Get("Location"), "/api/"); made {
							answer = c.PATCH("/api/"+path, []byte("piece"), "Tus-Resumable: 1.0.0", "Upload-Offset: 0", "Content-Type: application/offset+octet-stream")
						}
					}
					if answer.Status == http.StatusUnauthorized {
						return
					}
					if answer.Status >= 300 {
						t.Errorf("answered with %d %s", answer.Status, answer.Body)
						return
					}
					select {
					case begun <- struct{}{}:
					default:
					}
				}
			})
		}
		for range 50 {
			<-begun
		}
		if _, err := a.App.Operator().DeleteWorkspace(t.Context(), ws.ID, 0); err != nil {
			t.Fatal(err)
		}
		for range 4 { // each node, more than once
			c.GET("/api/v1/documents").WantError(t, 401, "UNAUTHORIZED", "")
			c.POST("/api/v1/documents", object{"title": "late"}).WantError(t, 401, "UNAUTHORIZED", "")
		}
		if err := a.App.Operator().RemoveWorkspaces(t.Context(), a.Clock.Now()); err != nil {
			t.Fatal(err)
		}
		under.Wait()
		if err := a.App.Operator().RemoveStrayBytes(t.Context()); err != nil { // an upload may have ended after the removal
			t.Fatal(err)
		}
		for table, rows := range b.rows(n) {
			if rows > 0 {
				t.Errorf("%d rows are left in %s", rows, table)
			}
		}
		if err := a.Media.List(t.Context(), string(ws.ID), func(media.Key, int64) error { t.Error("a medium is left"); return nil }); err != nil {
			t.Error(err)
		}
	})
}
