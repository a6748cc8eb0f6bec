package store

import (
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
)

// auditColumns are the columns that both audit logs have.
const auditColumns = `number, id, at, action, actor_user, actor_key, operator, address, request_id, target, email, fields_before, fields_after`

func scanAudit(r *row) sheaf.AuditLine {
	text := func(p *string) []byte {
		if p == nil {
			return nil
		}
		return []byte(*p)
	}
	value := func(p *string) string {
		if p == nil {
			return ""
		}
		return *p
	}
	return sheaf.AuditLine{Number: r.Int(), ID: readID[sheaf.AuditID](r), At: r.Time(), Action: sheaf.AuditAction(r.Text()),
		Actor: sheaf.Actor{User: sheaf.UserID(value((*string)(optID[sheaf.UserID](r)))), Key: sheaf.KeyID(value((*string)(optID[sheaf.KeyID](r)))),
			Operator: r.Bool(), Address: r.Text(), RequestID: r.Text()},
		Target: r.Text(), Email: r.OptText(), Before: text(r.OptText()), After: text(r.OptText())}
}

// auditArgs returns the values of auditColumns. The e-mail is folded, so that erasing a person finds it.
func auditArgs(number int64, l sheaf.AuditLine) []any {
	email := l.Email
	if email != nil {
		folded := Fold(*email)
		email = &folded
	}
	return []any{number, l.ID, l.At, string(l.Action), l.Actor.User, l.Actor.Key, l.Actor.Operator, l.Actor.Address, l.Actor.RequestID,
		l.Target, email, optJSON(l.Before), optJSON(l.After)}
}

func optJSON(b []byte) *string {
	if b == nil {
		return nil
	}
	s := string(b)
	return &s
}

const insertAudit = `
INSERT INTO audit (` + auditColumns + `, ws)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`

// InsertAudit adds a line to the workspace's audit log. The transaction has locked the workspace. What an
// operator did is also added to the instance's log.
func (tx *Tx) InsertAudit(ws sheaf.WorkspaceID, l sheaf.AuditLine) error {
	last, err := tx.count(`SELECT COALESCE(MAX(number), 0) FROM audit WHERE ws = $1`, ws)
	if err != nil {
		return err
	}
	if err := tx.exec(insertAudit, append(auditArgs(last+1, l), ws)...); err != nil {
		return fmt.Errorf("insert the audit line of %s: %w", l.Action, err)
	}
	if !l.Actor.Operator {
		return nil
	}
	l.Workspace = ws
	return tx.InsertInstanceAudit(l)
}

const insertInstanceAudit = `
INSERT INTO instance_audit (` + auditColumns + `, workspace, count)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
ON CONFLICT (action, at, target, address) WHERE count > 0 DO UPDATE SET count = instance_audit.count + 1`

// countedLines is how many counts of one minute have an address. Strangers cause counts, and may have any number of
// addresses.
const countedLines = 1000

const countCounted = `
SELECT COUNT(*)
FROM (SELECT 1 FROM instance_audit WHERE at = $1 AND count > 0 LIMIT $2) AS counted`

// InsertInstanceAudit adds a line to the instance's audit log. A line with a count is added to the count of
// the line with the same action, time, target and address, if there is one. If the minute has countedLines
// counts already, the address is left out.
func (tx *Tx) InsertInstanceAudit(l sheaf.AuditLine) error {
	if l.Count > 0 {
		n, err := tx.count(countCounted, l.At, countedLines)
		if err != nil {
			return err
		}
		if n == countedLines {
			l.Actor.Address = ""
		}
	}
	number, err := tx.nextNumber("instance_audit")
	if err != nil {
		return err
	}
	if err := tx.exec(insertInstanceAudit, append(auditArgs(number, l), idBytes(string(l.Workspace)), l.Count)...); err != nil {
		return fmt.Errorf("insert the audit line of %s: %w", l.Action, err)
	}
	return nil
}

// Audit returns a page of the workspace's audit log, in the order of the transactions. If the log does not
// have the line f.After, it returns NotFound.
func (r *Reader) Audit(ws sheaf.WorkspaceID, f sheaf.AuditFilter) (sheaf.Page[sheaf.AuditLine], error) {
	l := listing{columns: auditColumns, table: "audit", order: []string{"number"}, total: -1}
	l.where.And("ws = ?", ws)
	if f.After != "" {
		number, err := mustFind(r, "audit line", `SELECT number FROM audit WHERE ws = $1 AND id = $2`, (*row).Int, ws, f.After)
		if err != nil {
			return sheaf.Page[sheaf.AuditLine]{}, err
		}
		l.where.And("number > ?", number)
	}
	l.ofAudit(f)
	return list(r, l, f.Paging, scanAudit)
}

// InstanceAudit is Audit for the instance's log.
func (r *Reader) InstanceAudit(f sheaf.AuditFilter) (sheaf.Page[sheaf.AuditLine], error) {
	l := listing{columns: auditColumns + ", workspace, count", table: "instance_audit", order: []string{"number"}, total: -1}
	l.where.And("number > ?", int64(0))
	if f.After != "" {
		number, err := mustFind(r, "audit line", `SELECT number FROM instance_audit WHERE id = $1`, (*row).Int, f.After)
		if err != nil {
			return sheaf.Page[sheaf.AuditLine]{}, err
		}
		l.where.And("number > ?", number)
	}
	l.ofAudit(f)
	return list(r, l, f.Paging, func(w *row) sheaf.AuditLine {
		line := scanAudit(w)
		if id := optID[sheaf.WorkspaceID](w); id != nil {
			line.Workspace = *id
		}
		line.Count = w.Int()
		return line
	})
}

// ofAudit adds the filters that both logs have.
func (l *listing) ofAudit(f sheaf.AuditFilter) {
	if f.Action != "" {
		l.where.And("action = ?", string(f.Action))
	}
	if f.User != "" {
		l.where.And("actor_user = ?", f.User)
	}
	if f.Key != "" {
		l.where.And("actor_key = ?", f.Key)
	}
	if f.Target != "" {
		l.where.And("target = ?", f.Target)
	}
	if f.Since != nil {
		l.where.And("at >= ?", *f.Since)
	}
	if f.Before != nil {
		l.where.And("at < ?", *f.Before)
	}
}

var oldAudit = [...]string{`
DELETE FROM audit
WHERE (ws, number) IN (SELECT ws, number FROM audit WHERE at < $1 LIMIT $2)`, `
DELETE FROM instance_audit
WHERE number IN (SELECT number FROM instance_audit WHERE at < $1 LIMIT $2)`}

// DeleteAudit deletes up to `most` lines of each audit log that are older than `before`. It returns the larger
// number of deleted lines.
func (tx *Tx) DeleteAudit(before time.Time, most int) (deleted int64, err error) {
	for _, sql := range oldAudit {
		n, err := tx.changed(sql, before, most)
		if err != nil {
			return 0, err
		}
		deleted = max(deleted, n)
	}
	return deleted, nil
}

// Failures of one account are deleted: without addresses, two of one minute would be the same line.
var eraseAudit = [...]string{`
DELETE FROM instance_audit
WHERE number IN (SELECT number FROM instance_audit WHERE target = $1 AND count > 0 LIMIT $2)`, `
UPDATE audit
SET address = ''
WHERE (ws, number) IN (SELECT ws, number FROM audit WHERE actor_user = $1 AND address <> '' LIMIT $2)`, `
UPDATE instance_audit
SET address = ''
WHERE number IN (SELECT number FROM instance_audit WHERE actor_user = $1 AND address <> '' LIMIT $2)`}

// EraseAuditOf deletes the client's address from up to `most` lines of each audit log that record what the
// person did, and up to `most` counts of failed sign-ins. It returns the largest number of changed lines.
func (tx *Tx) EraseAuditOf(u sheaf.UserID, most int) (changed int64, err error) {
	for i, sql := range eraseAudit {
		var person any = u
		if i == 0 {
			person = string(u) // the target is a text
		}
		n, err := tx.changed(sql, person, most)
		if err != nil {
			return 0, err
		}
		changed = max(changed, n)
	}
	return changed, nil
}

const eraseInstanceAuditOf = `
UPDATE instance_audit
SET email = NULL, fields_before = NULL, fields_after = NULL
WHERE workspace = $1`

// EraseInstanceAuditOf deletes the e-mails and the fields from the lines of the instance's log about a workspace
// whose data is removed.
func (tx *Tx) EraseInstanceAuditOf(ws sheaf.WorkspaceID) error {
	return tx.exec(eraseInstanceAuditOf, idBytes(string(ws)))
}

// EraseAuditEmail deletes the e-mail from the lines of all audit logs.
func (tx *Tx) EraseAuditEmail(email string) error {
	if err := tx.exec(`UPDATE audit SET email = NULL WHERE email = $1`, Fold(email)); err != nil {
		return err
	}
	return tx.exec(`UPDATE instance_audit SET email = NULL WHERE email = $1`, Fold(email))
}
