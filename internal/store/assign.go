package store

import "strconv"

// assignments are what an UPDATE sets. SQLite writes each index anew that has a column which is set,
// whether its value changed or not: so the columns of indexes are set only when they change, and a
// changed description costs one index instead of five.
type assignments struct {
	text   []byte // what stands behind SET
	values []any  // of the parameters; the first two name the row
}

// to sets a column to a value.
func (a *assignments) to(column string, value any) {
	if a.values == nil {
		a.text, a.values = make([]byte, 0, 256), make([]any, 2, 20)
	} else {
		a.text = append(a.text, ", "...)
	}
	a.values = append(a.values, value)
	a.text = append(append(a.text, column...), " = $"...)
	a.text = strconv.AppendInt(a.text, int64(len(a.values)), 10)
}

// update runs the UPDATE on the row of a table that a workspace and an identifier name.
func (a *assignments) update(tx *Tx, table string, ws, id any) error {
	a.values[0], a.values[1] = ws, id
	return tx.exec("UPDATE "+table+"\nSET "+string(a.text)+"\nWHERE ws = $1 AND id = $2", a.values...)
}
