package client

import (
	"context"
	"iter"
	"net/http"
)

// Identity is the user and the workspace of the client's key.
type Identity struct {
	Received
	Key  Key `json:"key"`
	User struct {
		ID    string  `json:"id"`
		Email *string `json:"email"`
		Name  string  `json:"name"`
	} `json:"user"`
	Workspace struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Personal bool   `json:"personal"`
	} `json:"workspace"`
	Plan string `json:"plan"`
	// RateLimit has the number of requests allowed in a minute, the number that is left, and the
	// seconds until one more is admitted.
	RateLimit struct {
		Limit     int `json:"limit"`
		Remaining int `json:"remaining"`
		Reset     int `json:"reset"`
	} `json:"rate_limit"`
	// Storage has the number of bytes that the workspace stores, and the largest number that it may
	// store; nil: there is no limit.
	Storage struct {
		Used  int64  `json:"used"`
		Quota *int64 `json:"quota"`
	} `json:"storage"`
}

// Me returns the Identity of the key. Use it to test a connection.
func (c *Client) Me(ctx context.Context, opts ...Option) (Identity, error) {
	return send[Identity](ctx, c, request{method: http.MethodGet, path: "/api/v1/me"}, opts)
}

// Icon is one of the icons that the service draws for projects.
type Icon struct {
	Received
	ID   string `json:"id"`
	Name string `json:"name"`
	SVG  string `json:"svg"`
}

// Icons are the operations on the catalogue of icons.
type Icons struct{ c *Client }

// List returns one page.
func (s Icons) List(ctx context.Context, p Paging, opts ...Option) (Page[Icon], error) {
	return list[Icon](ctx, s.c, "/api/v1/icons", p.values(), opts)
}

// All returns every icon.
func (s Icons) All(ctx context.Context, p Paging, opts ...Option) iter.Seq2[Icon, error] {
	return all(p, func(p Paging) (Page[Icon], error) { return s.List(ctx, p, opts...) })
}
