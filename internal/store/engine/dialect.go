package engine

// Dialect is all that the engines disagree on, each with its reason.
type Dialect struct {
	Postgres bool
}

// ForUpdate locks the rows that are read. SQLite has one writer, so whatever a transaction reads is
// locked already.
func (d Dialect) ForUpdate() string {
	if d.Postgres {
		return " FOR UPDATE"
	}
	return ""
}

// Contains is true when the text in column has the text of the parameter in it. The standard's
// POSITION is not in SQLite, and LIKE would need escapes.
func (d Dialect) Contains(column string) string {
	if d.Postgres {
		return "strpos(" + column + ", ?) > 0"
	}
	return "instr(" + column + ", ?) > 0"
}

// By names the index that SQLite is to use, whose planner does not look at what is bound.
// PostgreSQL's does.
func (d Dialect) By(index string) string {
	if d.Postgres {
		return ""
	}
	return " INDEXED BY " + index + " "
}

// SkipLocked locks the rows of a table that are read, and passes over those that another node has
// locked. SQLite has one writer.
func (d Dialect) SkipLocked(table string) string {
	if d.Postgres {
		return " FOR UPDATE OF " + table + " SKIP LOCKED"
	}
	return ""
}

// TableColumns lists the columns of the table $1 and whether each is bytes, in an order that both
// engines share: that of their names.
func (d Dialect) TableColumns() string {
	if d.Postgres {
		return `
SELECT column_name, CASE WHEN data_type IN ('bytea', 'uuid') THEN 1 ELSE 0 END
FROM information_schema.columns
WHERE table_schema = current_schema() AND table_name = $1
ORDER BY column_name COLLATE "C"`
	}
	return `
SELECT name, CASE WHEN type = 'BLOB' THEN 1 ELSE 0 END
FROM pragma_table_info($1)
ORDER BY name`
}
