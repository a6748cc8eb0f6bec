package client

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
)

// Operation is one change of a batch: what a request of its own would do.
type Operation struct {
	// Action is create, update, move or delete; restore for a document.
	Action string `json:"action"`
	// ResourceType is project, folder or document; share to create or delete one.
	ResourceType string `json:"resource_type"`
	// ResourceID is that of the record, and empty where it is created. It may be [MadeBy].
	ResourceID string `json:"resource_id,omitempty"`
	// IfMatch is the ETag that the record must still have; empty: any.
	IfMatch string `json:"if_match,omitempty"`
	// Body is what is written: of a new project a [NewProject], of a change a [ProjectChange], and so
	// on; of a move an object with folder_id, parent_id or project_id. A deletion has none.
	Body any `json:"body,omitempty"`
}

// MadeBy stands for the id of what operation n of the same batch, counted from 0, creates: in
// Operation.ResourceID, and in bodies where a folder or project is named.
func MadeBy(n int) string { return "$" + strconv.Itoa(n) }

// OperationResult is what became of an operation.
type OperationResult struct {
	Status       int             `json:"status"` // of a request of its own: 200, 201 or 204
	ResourceType string          `json:"resource_type"`
	ResourceID   string          `json:"resource_id"`
	ETag         string          `json:"etag"` // empty where it was deleted
	Body         json.RawMessage `json:"body"` // the record; null where it was deleted
}

// BatchResults are those of a batch, in the order of its operations.
type BatchResults struct {
	Received
	Results []OperationResult `json:"results"`
}

// Batch makes up to 100 changes of projects, folders, documents and shares, all of them or none. When
// one is refused nothing is done, and [Error.Index] says which. It counts as one request for each ten
// operations begun, and needs the scopes that they would need alone.
func (c *Client) Batch(ctx context.Context, operations []Operation, opts ...Option) (BatchResults, error) {
	return send[BatchResults](ctx, c, request{method: http.MethodPost, path: "/api/v1/batch",
		body: map[string]any{"operations": operations}}, opts)
}
