package sheaf

import "time"

// The bounds of a page.
const (
	DefaultLimit = 50
	MaxLimit     = 100
)

// Paging is which part of a list is asked for.
type Paging struct {
	Limit, Offset int
	Desc          bool // the whole order reversed, ties too
}

// Page is a part of a list. Total counts everything that matches.
type Page[T any] struct {
	Items []T
	Total int64
	Paging
}

// More reports whether anything stands behind this page.
func (p Page[T]) More() bool { return int64(p.Offset)+int64(p.Limit) < p.Total }

// Match is what an If-Match header asks of a revision. The zero value asks nothing.
type Match struct {
	Asked     bool
	Any       bool // "*": that it exists
	Revisions []int64
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
