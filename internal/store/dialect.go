package store

// dialect is all that the engines disagree on, each with its reason.
type dialect struct {
	postgres bool
}

// forUpdate locks the rows that are read. SQLite has one writer, so whatever a
// transaction reads is locked already.
func (d dialect) forUpdate() string {
	if d.postgres {
		return " FOR UPDATE"
	}
	return ""
}

// contains is true when the text in column has the text of the parameter in it.
// The standard's POSITION is not in SQLite, and LIKE would need escapes.
func (d dialect) contains(column string) string {
	if d.postgres {
		return "strpos(" + column + ", ?) > 0"
	}
	return "instr(" + column + ", ?) > 0"
}

// by names the index that SQLite is to use, whose planner does not look at what
// is bound. PostgreSQL's does.
func (d dialect) by(index string) string {
	if d.postgres {
		return ""
	}
	return "INDEXED BY " + index
}

// skipLocked locks the rows of a table that are read, and passes over those
// that another node has locked. SQLite has one writer.
func (d dialect) skipLocked(table string) string {
	if d.postgres {
		return " FOR UPDATE OF " + table + " SKIP LOCKED"
	}
	return ""
}

// tableColumns lists the columns of the table $1 and whether each is a BLOB, in
// an order that both engines share: that of their names.
func (d dialect) tableColumns() string {
	if d.postgres {
		return `
SELECT column_name, CASE WHEN data_type = 'bytea' THEN 1 ELSE 0 END
FROM information_schema.columns
WHERE table_schema = current_schema() AND table_name = $1
ORDER BY column_name COLLATE "C"`
	}
	return `
SELECT name, CASE WHEN type = 'BLOB' THEN 1 ELSE 0 END
FROM pragma_table_info($1)
ORDER BY name`
}

// ownedColumns lists the columns, of all tables, that name a workspace or a user.
func (d dialect) ownedColumns() string {
	if d.postgres {
		return `
SELECT table_name, column_name
FROM information_schema.columns
WHERE table_schema = current_schema() AND column_name IN ('workspace_id', 'user_id')`
	}
	return `
SELECT t.name, c.name
FROM sqlite_schema t
JOIN pragma_table_info(t.name) c
WHERE t.type = 'table' AND c.name IN ('workspace_id', 'user_id')`
}
