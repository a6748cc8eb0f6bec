package httpapi

import (
	"sheaf.dev/internal/sheaf"
)

// listAudit answers GET /api/v1/audit.
func (s *Server) listAudit(x *exchange) (answer, error) {
	f, err := x.auditFilter()
	if err != nil {
		return answer{}, err
	}
	page, err := s.App.Audit(x.Request.Context(), x.Caller, f)
	a := pageOf(page)
	if n := len(page.Items); f.After != "" && n > 0 {
		a.page.continueAfter(page.Desc, string(page.Items[n-1].ID))
	} else if f.After != "" {
		a.page.more = false
	}
	return a, err
}

// auditFilter reads the filters of the audit log.
func (x *exchange) auditFilter() (f sheaf.AuditFilter, err error) {
	if f.Paging, err = x.paging(); err != nil {
		return f, err
	}
	if x.query.Has("action") {
		if f.Action = sheaf.AuditAction(x.query.Text("action")); !f.Action.Known() {
			return f, sheaf.InvalidField("action", "action %q is not an action of the audit log: GET /docs lists them, such as key.created", sheaf.Clip(string(f.Action)))
		}
	}
	if f.User, err = idIn[sheaf.UserID](x, "user_id"); err != nil {
		return f, err
	}
	if f.Key, err = idIn[sheaf.KeyID](x, "key_id"); err != nil {
		return f, err
	}
	if f.Target, err = idIn[string](x, "target"); err != nil {
		return f, err
	}
	if f.Since, err = x.since("since"); err != nil {
		return f, err
	}
	if f.Before, err = x.since("before"); err != nil {
		return f, err
	}
	if f.After, err = idIn[sheaf.AuditID](x, "after"); err == nil && f.After != "" && f.Offset != 0 {
		err = sheaf.InvalidField("offset", "offset must be 0 with after: send the last line's id as the next after")
	}
	return f, err
}

// idIn reads an id from the query. It returns "" if the parameter is missing.
func idIn[T ~string](x *exchange, name string) (T, error) {
	if !x.query.Has(name) {
		return "", nil
	}
	id, ok := sheaf.ParseUUID(x.query.Text(name))
	if !ok {
		return "", sheaf.InvalidField(name, "%s must be a UUID", name)
	}
	return T(id), nil
}
