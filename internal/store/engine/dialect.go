package engine

// Dialect contains everything in which the engines' SQL differs, each with its reason.
type Dialect struct {
	Postgres bool
}

// ForUpdate returns the clause that locks the rows read. SQLite has one writer, so its transactions
// need no row locks.
func (d Dialect) ForUpdate() string {
	if d.Postgres {
		return " FOR UPDATE"
	}
	return ""
}

// ForKeyShare returns the clause of a SELECT that prevents other transactions from deleting the rows
// until this transaction ends. SQLite has one writer and needs no clause.
func (d Dialect) ForKeyShare() string {
	if d.Postgres {
		return " FOR KEY SHARE"
	}
	return ""
}

// Contains returns the condition that the text in column contains the parameter. SQLite lacks the
// standard's POSITION, and LIKE would need escapes.
func (d Dialect) Contains(column string) string {
	if d.Postgres {
		return "strpos(" + column + ", ?) > 0"
	}
	return "instr(" + column + ", ?) > 0"
}

// By returns the clause that makes SQLite use the index: its planner ignores bound values.
// PostgreSQL's planner considers them.
func (d Dialect) By(index string) string {
	if d.Postgres {
		return ""
	}
	return " INDEXED BY " + index + " "
}

// SkipLocked returns the clause that locks the rows of `table` and skips those that another node
// has locked. SQLite has one writer, and needs none.
func (d Dialect) SkipLocked(table string) string {
	if d.Postgres {
		return " FOR UPDATE OF " + table + " SKIP LOCKED"
	}
	return ""
}

// TableColumns returns the query for the columns of table $1, and whether each is bytes. They are
// sorted by name, so that both engines agree.
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
