package sheaf

import "time"

// The bounds of a page.
const (
	DefaultLimit = 50
	MaxLimit     = 100
)

// Paging is which part of a list is asked for: at most Limit items, after the first Offset of them.
type Paging struct {
	Limit, Offset int
	Desc          bool // the whole order is reversed, that of equal ones too
}

// Page is a part of a list.
type Page[T any] struct {
	Items []T
	Total int64 // of all that the filter lets through, on every page
	Paging
}

// More reports whether anything stands behind this page.
func (p Page[T]) More() bool { return int64(p.Offset)+int64(p.Limit) < p.Total }

// Match is what an If-Match header asks of a revision. The zero value asks nothing.
type Match struct {
	Asked     bool    // the header was sent
	Any       bool    // it was "*", which asks only that the resource exists
	Revisions []int64 // of which the resource must have one
}

// Check returns PRECONDITION_FAILED unless revision is one that was asked for.
func (m Match) Check(revision int64) error {
	if !m.Asked || m.Any {
		return nil
	}
	for _, r := range m.Revisions {
		if r == revision {
			return nil
		}
	}
	return &Error{Kind: PreconditionFailed, Code: CodePreconditionFailed,
		Text: "If-Match does not match: the resource has changed since you read it; read it again and repeat with its new ETag"}
}

// AnswersKept is for how long the answer to a request with an Idempotency-Key is kept: a repetition
// within it gets the same answer, and a later one is a new request.
const AnswersKept = 24 * time.Hour
