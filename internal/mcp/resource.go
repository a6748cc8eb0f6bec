package mcp

import (
	"context"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sheaf.dev/internal/sheaf"
)

const (
	documentScheme = "sheaf://document/"
	markdownType   = "text/markdown"
)

// documentTemplate is the address under which an agent reads the text of a document.
var documentTemplate = &sdk.ResourceTemplate{URITemplate: documentScheme + "{id}", Name: "document", Title: "A document", MIMEType: markdownType,
	Description: "The Markdown of a document, whole. To read a part of a long one, call read_document."}

// readResource answers with the text of a document.
func readResource(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	c := callOf(ctx)
	id, ok := sheaf.ParseUUID(strings.TrimPrefix(r.Params.URI, documentScheme))
	if !ok {
		return nil, sdk.ResourceNotFoundError(r.Params.URI)
	}
	d, err := c.server.App.DocumentText(c.ctx, c.Caller, sheaf.DocumentID(id))
	if sheaf.KindOf(err) == sheaf.NotFound {
		return nil, sdk.ResourceNotFoundError(r.Params.URI)
	}
	if err != nil {
		return nil, c.protocolError(err)
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: documentScheme + id, MIMEType: markdownType, Text: d.Content}}}, nil
}

// protocolError returns err as an error of JSON-RPC, for a method that no language model calls.
func (c *call) protocolError(err error) error {
	e := c.Refusal(err)
	c.Refused = string(e.Code)
	return &jsonrpc.Error{Code: codeOf(e.Kind, invalidParams), Message: e.Text, Data: errorData(e.Code)}
}

// listResources answers resources/list with a page of the documents, the last changed first. The SDK itself
// supports only a fixed list.
func listResources(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		c := callOf(ctx)
		p, ok := r.GetParams().(*sdk.ListResourcesParams)
		if method != listMethod || !ok || !c.Caller.May(sheaf.DocumentsRead) {
			return next(ctx, method, r)
		}
		offset, err := readCursor(p)
		if err != nil {
			return nil, c.protocolError(err)
		}
		if p != nil {
			p.Cursor = "" // the SDK would refuse our cursor
		}
		result, err := next(ctx, method, r)
		if err != nil {
			return nil, err
		}
		return c.fillDocuments(result.(*sdk.ListResourcesResult), offset)
	}
}

// readCursor reads the cursor, which is the offset as a text. Clients treat it as opaque.
func readCursor(p *sdk.ListResourcesParams) (int, error) {
	if p == nil || p.Cursor == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(p.Cursor, 10, 53)
	if err != nil {
		return 0, sheaf.InvalidField("cursor", "cursor must be the nextCursor of the previous answer")
	}
	return int(n), nil
}

// fillDocuments adds a page of documents to the answer.
func (c *call) fillDocuments(out *sdk.ListResourcesResult, offset int) (sdk.Result, error) {
	list, err := c.server.App.Documents(c.ctx, c.Caller, sheaf.DocumentFilter{Sort: sheaf.DocumentsByUpdated, Paging: sheaf.Paging{Limit: maxPage, Offset: offset, Desc: true}})
	if err != nil {
		return nil, c.protocolError(err)
	}
	for i := range list.Items {
		d := &list.Items[i]
		r := &sdk.Resource{URI: documentScheme + string(d.ID), Name: d.Title, Title: d.Title, MIMEType: markdownType, Size: d.ContentBytes}
		if d.Description != nil {
			r.Description = *d.Description
		}
		out.Resources = append(out.Resources, r)
	}
	if list.More() && len(list.Items) > 0 {
		out.NextCursor = strconv.Itoa(offset + len(list.Items))
	}
	return out, nil
}
