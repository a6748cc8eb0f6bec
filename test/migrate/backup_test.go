package migrate

import (
	"path/filepath"
	"testing"

	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/sheaftest/proctest"
)

// Backups that programs before this one wrote, of the schemas and in the form that they had, are restored into either
// engine and brought to the newest schema. They are of the store that schema2/sqlite.json tells of.
func TestMigrate_BackupsOfProgramsBefore(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/backups/*.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no backups: %v", err)
	}
	for _, file := range files {
		for _, e := range engines {
			t.Run(filepath.Base(file)+" into "+e.String(), func(t *testing.T) {
				t.Parallel()
				b := &body{Program: proctest.New(t), fixture: readFixture(t, sqliteEngine{}, 2)}
				if e == (postgresEngine{}) {
					b.Database = pgtest.URL(t)
				}
				takeKey(t, b.Program, b.fixture)
				b.Ask(t, "restore", file)
				for _, c := range append(b.doctor(t), b.compare(t)...) {
					t.Error(c)
				}
			})
		}
	}
}
