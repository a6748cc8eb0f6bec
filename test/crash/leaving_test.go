package crash

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
)

// D206: a removal that is killed between its transactions goes on: with the next command, and at the next
// start of a server. The neighbour, whose rows lie between those of the workspace, keeps all of its own, and
// no byte of SQLite's files has the texts of the workspace.
func TestKill_ARemovalGoesOn(t *testing.T) {
	for name, database := range map[string]func(*testing.T) string{
		"SQLite":     func(*testing.T) string { return "" },
		"PostgreSQL": func(t *testing.T) string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killRemoval(t, newProgram(t, database(t)))
		})
	}
}

func killRemoval(t *testing.T, p *program) {
	made := p.Ask(t, "workspace", "create", "--name", "Leaving", "--plan", "business")
	id := made["id"].(string)
	leaves := p.Ask(t, "key", "create", "--workspace", id, "--name", "k", "--scopes", "all")["key"].(string)
	p.key = p.Workspace(t, "Beside")
	s := p.start(t, nil)
	const rounds, each = 12, 50
	for range rounds { // the rows of the two lie between each other
		for key, word := range map[string]string{leaves: "qzcanaryqz", p.key: "stays"} {
			var operations []map[string]any
			for range each {
				title := fmt.Sprintf("%06x %s", rand.IntN(1<<24), word)
				operations = append(operations, map[string]any{"action": "create", "resource_type": "document", "body": map[string]any{"title": title, "content": title}})
			}
			var answer any
			if status, err := proctest.Call(client, s.URL, key, http.MethodPost, "/api/v1/batch", map[string]any{"operations": operations}, &answer); err != nil || status != http.StatusOK {
				t.Fatalf("a batch: %d, %v, %v", status, err, answer)
			}
		}
	}
	s.terminate(t)
	kills := 0
	for step := range proof.Rounds(4, 12, 24) {
		if err := p.dieIn(killAt(failpoint.Leaving, 2+step), 0, "workspace", "delete", id, "--delete-after", "0"); err == nil {
			t.Fatalf("pass %d: the command was not killed", 2+step)
		}
		kills++
		p.healthy(t)
	}
	if status := p.Command("workspace", "undelete", id).Run(); status == nil {
		t.Error("a removal that has begun was undone")
	}
	s = p.start(t, nil)
	gone := func() bool {
		out, err := p.Command("workspace", "list", "--json").Output()
		return err == nil && !bytes.Contains(out, []byte(id))
	}
	sheaftest.Eventually(t, "the server has removed the workspace", gone)
	if status, err := proctest.Call(client, s.URL, leaves, http.MethodGet, "/api/v1/me", nil, nil); err != nil || status != http.StatusUnauthorized {
		t.Errorf("its key: %d, %v", status, err)
	}
	left := 0
	s.each(t, "/api/v1/documents", func(item) { left++ })
	if left != rounds*each {
		t.Errorf("its neighbour has %d documents, want %d", left, rounds*each)
	}
	s.terminate(t)
	p.healthy(t)
	if p.Database == "" {
		wantNoBytes(t, p.Data, "qzcanaryqz")
	}
	t.Logf("%d kills", kills)
}

// wantNoBytes fails if a file below the folder has the word.
func wantNoBytes(t *testing.T, folder, word string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if n := bytes.Count(content, []byte(word)); n > 0 {
			at := bytes.Index(content, []byte(word))
			t.Errorf("%s has the word %d times, first at %d (page %d, %d in it)", filepath.Base(path), n, at, at/4096+1, at%4096)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
