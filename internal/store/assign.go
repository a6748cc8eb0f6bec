package store

import "strconv"

// assignments are the columns that an UPDATE sets. SQLite rewrites every index that contains a set
// column, whether or not its value changed. So indexed columns are set only if they change: a
// changed description then costs one index instead of five.
type assignments struct {
	text   []byte // the text after SET
	values []any  // the parameters; the first two identify the row
}

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

// update runs the UPDATE on the row of `table` with that workspace and id.
func (a *assignments) update(tx *Tx, table string, ws, id any) error {
	a.values[0], a.values[1] = ws, id
	return tx.exec("UPDATE "+table+"\nSET "+string(a.text)+"\nWHERE ws = $1 AND id = $2", a.values...)
}
