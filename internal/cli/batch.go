package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"sheaf.dev/client"
)

type batchCommand struct {
	apiCommand
	File           string `arg:"" optional:"" default:"-" help:"Operations as a JSON array, or as the body of POST /api/v1/batch; - is standard input."`
	IdempotencyKey string `name:"idempotency-key" placeholder:"KEY" help:"Key of this batch: if it is sent again with the same key, it has no second effect."`
}

// maxBatch bounds the bytes that are read. No server accepts a larger body.
const maxBatch = 10 << 20

func (c *batchCommand) Run(ctx context.Context, p *Program) error {
	operations, err := c.operations(p)
	if err != nil {
		return err
	}
	var opts []client.Option
	if c.IdempotencyKey != "" {
		opts = append(opts, client.IdempotencyKey(c.IdempotencyKey))
	}
	return ask(&c.apiCommand, ctx, p, func(ctx context.Context, api *client.Client) (client.BatchResults, error) {
		return api.Batch(ctx, operations, opts...)
	}, func(done client.BatchResults) string {
		return Table("STATUS\tKIND\tID", func(row func(...any)) {
			for _, r := range done.Results {
				row(r.Status, r.ResourceType, r.ResourceID)
			}
		})
	})
}

// operations reads an array of operations, or an object with one. The server checks the operations.
func (c *batchCommand) operations(p *Program) ([]client.Operation, error) {
	from := p.Stdin
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxBatch+1))
	if err == nil && len(text) > maxBatch {
		err = fmt.Errorf("%s has more than 10 MiB: split it into several batches", c.File)
	}
	if err != nil {
		return nil, err
	}
	var whole struct {
		Operations []batchLine `json:"operations"`
	}
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '[' {
		err = json.Unmarshal(trimmed, &whole.Operations)
	} else {
		err = json.Unmarshal(trimmed, &whole)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not an array of operations, such as [{\"action\": \"delete\", \"resource_type\": \"document\", \"resource_id\": \"…\"}]: %w", c.File, err)
	}
	out := make([]client.Operation, len(whole.Operations))
	for i, line := range whole.Operations {
		out[i] = client.Operation{Action: line.Action, ResourceType: line.ResourceType, ResourceID: line.ResourceID, IfMatch: line.IfMatch}
		if len(line.Body) > 0 {
			out[i].Body = line.Body
		}
	}
	return out, nil
}

// batchLine is an operation in a file. Its body is sent unchanged.
type batchLine struct {
	Action       string          `json:"action"`
	ResourceType string          `json:"resource_type"`
	ResourceID   string          `json:"resource_id"`
	IfMatch      string          `json:"if_match"`
	Body         json.RawMessage `json:"body"`
}
