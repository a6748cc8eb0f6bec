package main

import (
	"context"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// auditCommand is sheaf audit.
type auditCommand struct {
	storeFlags
	workspaceFlag
	Instance bool   `help:"Print the log of the instance: sign-ins, second factors, and what operators did in all workspaces."`
	Action   string `placeholder:"NOUN.VERB" help:"Only lines of this action, such as key.revoked."`
	User     string `placeholder:"ID" help:"Only what this user did, or a key of this user."`
	Key      string `placeholder:"ID" help:"Only what this API key did."`
	Target   string `placeholder:"ID" help:"Only what was done to this record."`
	Since    string `placeholder:"TIME" help:"Only lines of this time or later, such as 2026-11-15T10:00:00Z or 24h for the last day."`
	After    string `placeholder:"ID" help:"Only lines after the line with this id, to continue where an earlier run ended."`
}

// Run prints the log as JSON lines, oldest first.
func (c *auditCommand) Run(ctx context.Context, p *program) error {
	f, err := c.filter(time.Now())
	if err != nil {
		return err
	}
	return c.operate(ctx, p, false, func(op app.Operator) error {
		list := func(f sheaf.AuditFilter) (sheaf.Page[sheaf.AuditLine], error) { return op.InstanceAudit(ctx, f) }
		if !c.Instance {
			id, err := c.find(ctx, op)
			if err != nil {
				return err
			}
			list = func(f sheaf.AuditFilter) (sheaf.Page[sheaf.AuditLine], error) { return op.Audit(ctx, id, f) }
		}
		for {
			page, err := list(f)
			if err != nil {
				return err
			}
			for i := range page.Items {
				if _, err := p.Stdout.Write(append(sheaf.AppendJSON(nil, &page.Items[i]), '\n')); err != nil {
					return err
				}
			}
			if len(page.Items) == 0 {
				return nil
			}
			f.After = page.Items[len(page.Items)-1].ID
		}
	})
}

// filter returns the filter that the flags ask for.
func (c *auditCommand) filter(now time.Time) (f sheaf.AuditFilter, err error) {
	f = sheaf.AuditFilter{Action: sheaf.AuditAction(c.Action), Paging: sheaf.Paging{Limit: sheaf.MaxLimit}}
	if c.Instance && c.Workspace != "" {
		return f, sheaf.Invalidf("--instance and --workspace exclude each other: the log of the instance is that of all workspaces")
	}
	if f.Action != "" && !f.Action.Known() && (!c.Instance || !f.Action.KnownToInstance()) {
		return f, sheaf.Invalidf("--action: %q is unknown: docs/audit.md lists the actions", sheaf.Clip(c.Action))
	}
	for _, id := range []struct {
		flag, value string
		set         func(string)
	}{
		{"--user", c.User, func(v string) { f.User = sheaf.UserID(v) }},
		{"--key", c.Key, func(v string) { f.Key = sheaf.KeyID(v) }},
		{"--target", c.Target, func(v string) { f.Target = v }},
		{"--after", c.After, func(v string) { f.After = sheaf.AuditID(v) }},
	} {
		if id.value == "" {
			continue
		}
		v, ok := sheaf.ParseUUID(id.value)
		if !ok {
			return f, sheaf.Invalidf("%s must be an id, such as 0190b0a0-0000-7000-8000-000000000000", id.flag)
		}
		id.set(v)
	}
	if c.Since == "" {
		return f, nil
	}
	at, err := time.Parse(time.RFC3339, c.Since)
	if err != nil {
		ago, failed := time.ParseDuration(c.Since)
		if failed != nil || ago < 0 {
			return f, sheaf.Invalidf("--since must be a time such as 2026-11-15T10:00:00Z, or a duration such as 24h")
		}
		at = now.Add(-ago)
	}
	f.Since = &at
	return f, nil
}
