package client

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
)

// Operation is one change of a batch. It does what a separate request would do.
type Operation struct {
	// Action is create, update, move or delete; restore for a document.
	Action string `json:"action"`
	// ResourceType is project, folder or document; share to create or delete one.
	ResourceType string `json:"resource_type"`
	// ResourceID is the id of the record; empty for one that is created. It may be [MadeBy].
	ResourceID string `json:"resource_id,omitempty"`
	// IfMatch is the ETag that the record must still have; empty: any.
	IfMatch string `json:"if_match,omitempty"`
	// Body has the fields to write, such as a [NewProject] or a [ProjectChange]. To move
	// a document, send a [DocumentMove]. To move a project, send an object with folder_id; for a
	// folder, with parent_id. A deletion has no body.
	Body any `json:"body,omitempty"`
}

// MadeBy returns a placeholder for the id of the record that operation n of the same batch creates, counted
// from 0. Use it in Operation.ResourceID, and in bodies as the id of a folder, project or document.
func MadeBy(n int) string { return "$" + strconv.Itoa(n) }

// OperationResult is the result of one operation.
type OperationResult struct {
	Status       int             `json:"status"` // status of the operation: 200, 201 or 204
	ResourceType string          `json:"resource_type"`
	ResourceID   string          `json:"resource_id"`
	ETag         string          `json:"etag"` // empty where it was deleted
	Body         json.RawMessage `json:"body"` // the record; null where it was deleted
}

// BatchResults has the results of a batch, in the order of its operations.
type BatchResults struct {
	Received
	Results []OperationResult `json:"results"`
}

// Batch makes up to 100 changes of projects, folders, documents and shares: all of them or none. If one is
// refused, nothing is done, and [Error.Index] says which. A batch costs one request per started group of ten
// operations. It needs the scopes that separate requests would need.
func (c *Client) Batch(ctx context.Context, operations []Operation, opts ...Option) (BatchResults, error) {
	return send[BatchResults](ctx, c, request{method: http.MethodPost, path: "/api/v1/batch",
		body: map[string]any{"operations": operations}}, opts)
}
