package console

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
)

// auditPage is the data of audit.html.
type auditPage struct {
	Lines  []auditEntry
	Action sheaf.AuditAction // the filter by action; empty for all
	Person sheaf.UserID      // the filter by person; empty for everybody
	People []personChoice
	Target string // the filter by record: an id
	Since  string // the first day, as yyyy-mm-dd in UTC; empty for all
	Until  string // the last day
	More   string
	Plan   bool // the plan includes the audit log
}

// auditEntry is a line of the audit log as the page shows it.
type auditEntry struct {
	sheaf.AuditLine
	Who   string // a person, "The operator" or "The server"
	Key   string // name of the key that did it
	Text  string // what was done
	About string // name of what it was done to
	Facts []auditFact
}

// auditFact is a field of the record before and after the action.
type auditFact struct{ Name, Before, After string }

// Narrowed reports whether a filter is set.
func (p auditPage) Narrowed() bool {
	return p.Action != "" || p.Person != "" || p.Target != "" || p.Since != "" || p.Until != ""
}

// Actions returns the actions to filter by.
func (auditPage) Actions() []sheaf.ActionText { return sheaf.WorkspaceActions }

// with returns the address of the page from that line on, with the present filters.
func (p auditPage) with(name, value string) string {
	q := url.Values{"action": {string(p.Action)}, "person": {string(p.Person)}, "target": {p.Target}, "since": {p.Since}, "until": {p.Until}}
	q.Set(name, value)
	for name := range q {
		if q.Get(name) == "" {
			q.Del(name)
		}
	}
	return "?" + q.Encode()
}

// Only returns the address of the page for one record.
func (p auditPage) Only(target string) string { return p.with("target", target) }

// audit answers GET /w/{workspace}/audit: who did what to keys, members, webhooks, shares and settings,
// newest first.
func (c *Console) audit(v *visit) (err error) {
	q := v.r.URL.Query()
	p := auditPage{Plan: v.member.Workspace.Plan.AllowAudit() == nil}
	if !p.Plan {
		return v.show(http.StatusOK, "audit", p)
	}
	f := sheaf.AuditFilter{Paging: sheaf.Paging{Limit: sheaf.DefaultLimit, Offset: v.offset("from"), Desc: true}}
	if a := sheaf.AuditAction(q.Get("action")); a.Known() {
		p.Action, f.Action = a, a
	}
	if id, ok := sheaf.ParseUUID(q.Get("person")); ok {
		p.Person, f.User = sheaf.UserID(id), sheaf.UserID(id)
	}
	if id, ok := sheaf.ParseUUID(strings.TrimSpace(q.Get("target"))); ok {
		p.Target, f.Target = id, id
	}
	if day, ok := dayOf(q.Get("since")); ok {
		p.Since, f.Since = q.Get("since"), &day
	}
	if day, ok := dayOf(q.Get("until")); ok {
		end := day.AddDate(0, 0, 1)
		p.Until, f.Before = q.Get("until"), &end
	}
	if p.People, err = v.choosePerson(p.Person); err != nil {
		return err
	}
	page, err := c.app.Audit(v.r.Context(), v.caller, f)
	if err != nil {
		return err
	}
	if page.More() {
		p.More = p.with("from", strconv.Itoa(f.Offset+sheaf.DefaultLimit))
	}
	if p.Lines, err = v.auditEntries(page.Items); err != nil {
		return err
	}
	return v.show(http.StatusOK, "audit", p)
}

// dayOf parses a day in UTC.
func dayOf(s string) (time.Time, bool) {
	t, err := time.Parse(time.DateOnly, s)
	return t, err == nil
}

// auditEntries returns the lines with the names of people, keys and records.
func (v *visit) auditEntries(lines []sheaf.AuditLine) ([]auditEntry, error) {
	names, err := v.console.app.AuditNames(v.r.Context(), v.caller, lines)
	if err != nil {
		return nil, err
	}
	out := make([]auditEntry, len(lines))
	for i, l := range lines {
		e := auditEntry{AuditLine: l, Facts: factsOf(l), Who: "The server", Text: string(l.Action)}
		switch {
		case l.Actor.Operator:
			e.Who = "The operator"
		case l.Actor.User != "":
			if e.Who = names.People[l.Actor.User]; e.Who == "" {
				e.Who = "A person without a name"
			}
		}
		if l.Actor.Key != "" {
			if e.Key = names.Keys[l.Actor.Key]; e.Key == "" {
				e.Key = "a key that is no longer kept"
			}
		}
		if at := slices.IndexFunc(sheaf.WorkspaceActions, func(t sheaf.ActionText) bool { return t.Action == l.Action }); at >= 0 {
			e.Text = sheaf.WorkspaceActions[at].Text
		}
		e.About = names.People[sheaf.UserID(l.Target)]
		for _, f := range e.Facts {
			if f.Name == "name" || f.Name == "email" {
				e.About = f.After
				if e.About == "" {
					e.About = f.Before
				}
			}
		}
		if e.About == "" {
			e.About = names.Keys[sheaf.KeyID(l.Target)]
		}
		out[i] = e
	}
	return out, nil
}

// factsOf returns the fields of a line, in the order in which the record has them.
func factsOf(l sheaf.AuditLine) []auditFact {
	before, after := l.Facts()
	var out []auditFact
	place := map[string]int{}
	at := func(name string) *auditFact {
		i, found := place[name]
		if !found {
			i = len(out)
			place[name] = i
			out = append(out, auditFact{Name: name})
		}
		return &out[i]
	}
	fieldsOf(before, func(name, value string) { at(name).Before = value })
	fieldsOf(after, func(name, value string) { at(name).After = value })
	return out
}

// fieldsOf calls each for the fields of a JSON object that are not null.
func fieldsOf(object []byte, each func(name, value string)) {
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil { // the opening brace
		return
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return
		}
		if key, ok := name.(string); ok && string(raw) != "null" {
			each(key, plainValue(raw))
		}
	}
}

// plainValue returns a JSON value for people to read: a text without quotes, the items of a list with commas.
func plainValue(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return strings.Join(list, ", ")
	}
	return string(raw)
}
