package mcp

import (
	"encoding/json"
	"maps"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

func listChanges(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	f := sheaf.EventFilter{Since: in.Time("since").Pointer(), Resource: readID[string](in, "resource_id").Value, Paging: readPaging(in, maxPage, usualPage)}
	if after := in.Text("after"); after.Given() {
		id, ok := sheaf.ParseEventID(after.Value)
		if !ok {
			in.Refuse(sheaf.InvalidField("after", "after must be the id of a change, such as evt_0190b0a0-0000-7000-8000-000000000000: the next_after of the previous answer"))
		}
		f.After = id
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	f.Desc = f.After == "" && f.Since == nil
	list, err := c.server.App.Events(c.ctx, c.Caller, f)
	if err != nil {
		return nil, err
	}
	return recordResult(changesRecord(list), nil), nil
}

// changesRecord returns a page of changes, and the id after which the next call continues. If the newest
// come first, that is the id of the first, so that the next call returns newer changes.
func changesRecord(p sheaf.Page[sheaf.Event]) sheaf.Record {
	all := page(p, changeFields)
	return sheaf.RecordFunc(func(o *sheaf.Object) {
		all.Fields(o)
		if n := len(p.Items); n > 0 {
			last := p.Items[n-1]
			if p.Desc {
				last = p.Items[0]
			}
			o.Text("next_after", string(last.ID))
		}
	})
}

// changeFields appends a change in short: its type, its record, its user and the changed fields.
func changeFields(_ int, e *sheaf.Event, o *sheaf.Object) {
	var body struct {
		UserID  string `json:"user_id"`
		Payload struct {
			Title    string                     `json:"title"`
			Name     string                     `json:"name"`
			Previous map[string]json.RawMessage `json:"previous"`
		} `json:"payload"`
	}
	_ = json.Unmarshal(e.Body, &body) // a reported event may lack these fields, or have them with another type
	o.Text("type", string(e.Type))
	o.Time("at", e.At)
	o.Text("resource_id", e.ResourceID)
	title := sheaf.Clip(body.Payload.Title + body.Payload.Name)
	optionalText(o, "title", &title)
	optionalText(o, "user_id", &body.UserID)
	if names := changedFields(body.Payload.Previous); len(names) > 0 {
		o.Texts("changed", names)
	}
}

// changedFields returns the fields that were changed, without derived ones. If the hash of a text differs,
// that is "content".
func changedFields(previous map[string]json.RawMessage) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(previous)) {
		switch name {
		case "updated_at", "version", "content_bytes":
		case "content_sha256":
			names = append(names, "content")
		default:
			names = append(names, name)
		}
	}
	return names
}
