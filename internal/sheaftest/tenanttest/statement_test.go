package tenanttest

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }

// A table that is not restricted to a workspace is found wherever it is in a statement.
func TestLoose_TablesAreSeen(t *testing.T) {
	t.Parallel()
	ws := []string{"ws"}
	schema := Schema{"projects": ws, "documents": ws, "folders": ws, "media": ws, "texts": ws, "versions": ws, "spaces": {"space", "workspace"}}
	for sql, want := range map[string]string{
		"SELECT id FROM projects WHERE ws = $1 AND id = $2":                                              "",
		"SELECT id FROM projects WHERE id = $1":                                                          "projects",
		"SELECT p.id FROM projects p JOIN documents d ON d.ws = p.ws WHERE p.ws = $1":                    "",
		"SELECT p.id FROM projects p JOIN documents d ON d.project_id = p.id WHERE p.ws = $1":            "documents",
		"SELECT p.id FROM projects p JOIN documents d ON d.ws = p.ws WHERE p.id = $1":                    "documents projects",
		"SELECT p.id FROM projects p JOIN documents d ON d.ws = p.number WHERE p.ws = $1":                "documents",
		"SELECT id FROM projects WHERE ws = $1 AND folder_id IN (SELECT id FROM folders)":                "folders",
		"SELECT id FROM projects p WHERE p.ws = $1 AND EXISTS (SELECT 1 FROM media m WHERE m.ws = p.ws)": "",
		"SELECT id FROM folders WHERE ws = $1 UNION ALL SELECT id FROM projects":                         "projects",
		"UPDATE projects SET name = $1 WHERE id = $2":                                                    "projects",
		"DELETE FROM texts WHERE ws = {ws} AND hash = {hash}":                                            "",
		"INSERT INTO projects (ws, id) VALUES ($1, $2)":                                                  "",
		"INSERT INTO projects (id) VALUES ($1)":                                                          "projects",
		"INSERT INTO versions (ws, version) SELECT ws, version FROM documents WHERE id = $1":             "documents",
		"INSERT INTO versions (ws, version) SELECT ws, version FROM documents WHERE ws = $1 AND id = $2": "",
		"SELECT id FROM users WHERE email_folded = $1":                                                   "",
		"SELECT turn FROM spaces WHERE space = $1":                                                       "",
		"SELECT turn FROM spaces WHERE workspace = $1":                                                   "",
		"SELECT turn FROM spaces WHERE state = $1":                                                       "spaces",
	} {
		if got := strings.Join(schema.Loose(sql), " "); got != want {
			t.Errorf("loose in %q are %q, want %q", sql, got, want)
		}
	}
}
