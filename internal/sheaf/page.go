package sheaf

import "time"

// Limits of a page.
const (
	DefaultLimit = 50
	MaxLimit     = 100
)

// Paging selects a part of a list: at most Limit items, after the first Offset items.
type Paging struct {
	Limit, Offset int
	Desc          bool // reverses the whole order, including that of equal items
}

// Page is a part of a list.
type Page[T any] struct {
	Items []T
	Total int64 // number of items that match the filter, on all pages
	Paging
}

// More reports whether there are items after this page.
func (p Page[T]) More() bool { return int64(p.Offset)+int64(p.Limit) < p.Total }

// Match is the condition of an If-Match header on a revision. The zero value has no condition.
type Match struct {
	Asked     bool    // the header was sent
	Any       bool    // it was "*": the resource must exist
	Revisions []int64 // the resource must have one of these
}

// Check returns PRECONDITION_FAILED unless `revision` meets the condition.
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

// AnswersKept is how long the answer to a request with an Idempotency-Key is kept. A repetition
// within that time gets the same answer. A later one is a new request.
const AnswersKept = 24 * time.Hour
