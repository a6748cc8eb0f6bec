package store

// Setting returns a value that the program keeps for itself; found is false when there is none.
func (r *Reader) Setting(name string) (value string, found bool, err error) {
	return one(r, `SELECT value FROM settings WHERE name = $1`, (*row).Text, name)
}

const insertSetting = `
INSERT INTO settings (name, value)
VALUES ($1, $2)
ON CONFLICT (name) DO NOTHING`

const replaceSetting = `
INSERT INTO settings (name, value)
VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE
SET value = excluded.value`

// ReplaceSetting writes the value in place of the one that there is.
func (tx *Tx) ReplaceSetting(name, value string) error {
	_, err := tx.changed(replaceSetting, name, value)
	return err
}

// KeepSetting writes the value unless there is one, and reports whether it did.
func (tx *Tx) KeepSetting(name, value string) (bool, error) {
	n, err := tx.changed(insertSetting, name, value)
	return n > 0, err
}
