package store

import (
	"fmt"
	"strings"
)

// assignments are what an UPDATE sets. SQLite writes each index anew that has a column which is set,
// whether its value changed or not: so the columns of indexes are set only when they change, and a
// changed description costs one index instead of five.
type assignments struct {
	columns []string
	values  []any
}

// to sets a column to a value.
func (a *assignments) to(column string, value any) {
	a.columns = append(a.columns, column)
	a.values = append(a.values, value)
}

// update runs the UPDATE on the row of a table that a workspace and an identifier name.
func (a *assignments) update(tx *Tx, table string, ws, id any) error {
	var sql strings.Builder
	fmt.Fprintf(&sql, "UPDATE %s\nSET ", table)
	for i, column := range a.columns {
		if i > 0 {
			sql.WriteString(", ")
		}
		fmt.Fprintf(&sql, "%s = $%d", column, i+3)
	}
	sql.WriteString("\nWHERE ws = $1 AND id = $2")
	return tx.exec(sql.String(), append([]any{ws, id}, a.values...)...)
}
