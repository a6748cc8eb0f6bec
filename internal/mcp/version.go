package mcp

import (
	"errors"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

func listVersions(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	id, paging := readDocumentID(in).Value, readPaging(in, maxPage, usualPage)
	if err := in.Err(); err != nil {
		return nil, err
	}
	paging.Desc = true
	list, err := c.server.App.Versions(c.ctx, c.Caller, id, paging)
	if err != nil {
		return nil, err
	}
	return recordResult(page(list, func(_ int, v *sheaf.Version, o *sheaf.Object) { versionFields(v, o) }), nil), nil
}

func versionFields(v *sheaf.Version, o *sheaf.Object) {
	o.Int("version", v.Number)
	o.Text("title", v.Title)
	o.Int("bytes", v.ContentBytes)
	o.Time("created_at", v.CreatedAt)
	optionalText(o, "user_id", v.UserID)
	optionalText(o, "proposal_id", v.ProposalID)
	if v.Restored != nil {
		o.Int("restored_version", *v.Restored)
	}
}

// readVersion answers with an earlier version of a document.
func (c *call) readVersion(id sheaf.DocumentID, number int64, lines lineChoice, with string) (*sdk.CallToolResult, error) {
	v, err := c.server.App.Version(c.ctx, c.Caller, id, number)
	if err != nil {
		return nil, versionMissing(err)
	}
	part, err := lines.cut(v.Content, with)
	if err != nil {
		return nil, err
	}
	return recordResult(sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Text("id", string(id))
		versionFields(&v.Version, o)
		part.fields(o)
	}), &part.text), nil
}

func compareVersions(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	id, lines := readDocumentID(in).Value, readLines(in)
	from, to := in.Int("from_version", 1, maxOffset), in.Int("to_version", 1, maxOffset)
	if err := in.Err(); err != nil {
		return nil, err
	}
	diff, err := c.server.App.DiffVersions(c.ctx, c.Caller, id, from.Value, to.Pointer())
	if err != nil {
		return nil, versionMissing(err)
	}
	part, err := lines.cut(diff, "")
	if err != nil {
		return nil, err
	}
	return recordResult(sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Bool("same_text", diff == "")
		part.fields(o)
	}), &part.text), nil
}

func restoreVersion(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	id, number, match := readDocumentID(in).Value, in.Int("version", 1, maxOffset), readRevision(in)
	if err := in.Err(); err != nil {
		return nil, err
	}
	d, err := c.server.App.RestoreVersion(c.ctx, c.Caller, id, number.Value, match)
	return c.documentResult(d, versionMissing(c.documentConflict(err, match, id)))
}

// versionMissing says where the numbers of versions are, if the error is that there is no such version.
func versionMissing(err error) error {
	var e *sheaf.Error
	if !errors.As(err, &e) || e.Kind != sheaf.NotFound || e.Noun != "version" {
		return err
	}
	return &sheaf.Error{Kind: e.Kind, Code: e.Code, Noun: e.Noun, Text: "version not found: list_versions returns those that are kept"}
}
