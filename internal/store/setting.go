package store

// Setting returns an internal setting of the program; found is false if it is not set.
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

// ReplaceSetting sets the value, whether or not it was set before.
func (tx *Tx) ReplaceSetting(name, value string) error {
	_, err := tx.changed(replaceSetting, name, value)
	return err
}

// KeepSetting sets the value unless it is already set, and reports whether it did.
func (tx *Tx) KeepSetting(name, value string) (bool, error) {
	n, err := tx.changed(insertSetting, name, value)
	return n > 0, err
}
