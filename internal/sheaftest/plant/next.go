package plant

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// latest is the file with the number of the program's migrations.
const latest = "internal/store/migrate.go"

var latestLine = regexp.MustCompile(`const Latest = (\d+)`)

// nextMigration adds a column and an index to a table that every write uses, as an additive
// migration does. The previous program may continue beside it.
const nextMigration = `-- +goose Up
-- A column that only the next program knows.
INSERT INTO schema_compat (version, oldest) VALUES (%d, %d);

ALTER TABLE projects ADD COLUMN remark TEXT NOT NULL DEFAULT '';
CREATE INDEX projects_by_remark ON projects (ws, remark, number);
`

// Latest returns the schema of the program in the tree.
func Latest(root string) (int, error) {
	source, err := os.ReadFile(filepath.Join(root, latest))
	if err != nil {
		return 0, err
	}
	found := latestLine.FindSubmatch(source)
	if found == nil {
		return 0, fmt.Errorf("%s does not say how many migrations there are", latest)
	}
	return strconv.Atoi(string(found[1]))
}

// NextMigration returns the text of the migration after schema `now`.
func NextMigration(now int) string { return fmt.Sprintf(nextMigration, now+1, now) }

// NextSchema returns the fault that makes the program of the tree its next version, with one more
// migration.
func NextSchema(root string) (Fault, error) {
	now, err := Latest(root)
	if err != nil {
		return nil, err
	}
	edits := Fault{{File: latest, Old: fmt.Sprintf("const Latest = %d", now), New: fmt.Sprintf("const Latest = %d", now+1)}}
	for _, engine := range []string{"sqlite", "postgres"} {
		file := fmt.Sprintf("internal/store/migrations/%s/%05d_next.sql", engine, now+1)
		edits = append(edits, Edit{File: file, New: NextMigration(now)})
	}
	return edits, nil
}
