package checksum

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// mixed adds, changes and deletes rows of two tenants that lie between each other, so that pages are
// split and joined.
const mixed = `
INSERT INTO texts (name, value)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
SELECT hex(randomblob(4)) || w || i, replace(hex(zeroblob(1 + abs(random()) % 60)), '00', w)
FROM (SELECT i, CASE abs(random()) % 2 WHEN 0 THEN 'qzcanaryqz' ELSE 'stays-here' END AS w FROM n);
UPDATE texts SET value = value || value WHERE rowid IN (SELECT rowid FROM texts ORDER BY random() LIMIT 40);
UPDATE texts SET name = substr(name, 3) || hex(randomblob(3)) WHERE rowid IN (SELECT rowid FROM texts ORDER BY random() LIMIT 40);
DELETE FROM texts WHERE rowid IN (SELECT rowid FROM texts ORDER BY random() LIMIT 40)`

// D206: no byte of deleted rows is left in the file, nor of the copies that SQLite made when it
// distributed the rows of full pages. The rows beside them are unchanged.
func TestGap_HasNothingOfDeletedRows(t *testing.T) {
	t.Parallel()
	path, c := begun(t)
	run(t, c, "PRAGMA secure_delete = ON")
	for i := range 30 {
		if err := sqlitex.ExecuteScript(c, mixed, nil); err != nil {
			t.Fatal(err)
		}
		if i%10 == 9 {
			run(t, c, "PRAGMA wal_checkpoint(PASSIVE)")
		}
	}
	run(t, c, "DELETE FROM texts WHERE value LIKE '%qzcanaryqz%' OR name LIKE '%qzcanaryqz%'")
	run(t, c, "PRAGMA wal_checkpoint(TRUNCATE)")
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(file, []byte("qzcanaryqz")); n > 0 || bytes.Count(file, []byte("stays-here")) < 1000 {
		t.Errorf("the file has the deleted word %d times", n)
	}
	for text, want := range map[string]string{"PRAGMA integrity_check": "ok", "SELECT COUNT(*) FROM texts WHERE value NOT LIKE 'stays-here%'": "0"} {
		var got string
		err := sqlitex.ExecuteTransient(c, text, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			got = s.ColumnText(0)
			return nil
		}})
		if err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
	size := int(binary.BigEndian.Uint16(file[16:]))
	for at := 0; at < len(file); at += size {
		if number := uint32(at/size) + 1; !isSound(file[at:at+size], number) {
			t.Errorf("page %d has not its checksum", number)
		}
	}
}

// Pages without a gap, and pages whose header makes no sense, stay as they are.
func TestClearGap_LeavesOtherPages(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(page []byte){
		"of a long text":           func(page []byte) { page[0] = 0 },
		"more rows than room":      func(page []byte) { page[3], page[4] = 0xff, 0xff },
		"rows behind the end":      func(page []byte) { page[5], page[6] = 0x10, 0x00 },
		"rows that begin nowhere":  func(page []byte) { page[5], page[6] = 0, 0 },
		"full, of an index inside": func(page []byte) { page[0], page[4], page[5], page[6] = insideIndex, 10, 0, 32 },
	} {
		page := bytes.Repeat([]byte{'x'}, 4096)
		page[0], page[3], page[4], page[5], page[6] = leafOfTable, 0, 1, 0x0f, 0x00
		set(page)
		before := bytes.Clone(page)
		if clearGap(page, 2); !bytes.Equal(page, before) {
			t.Errorf("%s: it was changed", name)
		}
	}
	page := bytes.Repeat([]byte{'x'}, 4096)
	page[100], page[103], page[104], page[105], page[106] = leafOfTable, 0, 3, 0x0f, 0x00
	if clearGap(page, 1); page[113] != 'x' || page[114] != 0 || page[0xeff] != 0 || page[0xf00] != 'x' {
		t.Error("the gap of the first page is another")
	}
}
