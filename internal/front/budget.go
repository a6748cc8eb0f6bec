package front

import "sync"

const (
	// MaxBody is the largest body that may be read whole.
	MaxBody = 10 << 20
	// MaxBodies bounds the bytes of bodies that are being read or worked on, MaxAnswers those of
	// answers that clients have not read yet. In a process with little memory the bounds are a quarter
	// and an eighth of that memory, but always enough for a few.
	MaxBodies  = 256 << 20
	MaxAnswers = 128 << 20
	// The first freeBody and freeAnswer bytes are not counted: the buffers of the connection and of its
	// socket hold as much.
	freeBody   = 4 << 10
	freeAnswer = 64 << 10
)

// budgetsFor returns the budgets of a process that may use `memory` bytes; 0 means no limit.
func budgetsFor(memory int64) (bodies, answers *budget) {
	most, mostAnswers := int64(MaxBodies), int64(MaxAnswers)
	if memory > 0 {
		most, mostAnswers = min(most, max(memory/4, 4*MaxBody)), min(mostAnswers, max(memory/8, 2*MaxBody))
	}
	// A burst of medium-sized bodies of one workspace is no attack. Even with little memory, a
	// workspace may hold two bodies of the largest size, and as much is left for others.
	return newBudget(most, max(most/4, 2*MaxBody)), newBudget(mostAnswers, mostAnswers/4)
}

// budget bounds how many bytes are held at once, and how many of them by one workspace: its share.
type budget struct {
	most, share int64

	mu   sync.Mutex // guards what follows
	held int64
	by   map[string]int64 // held bytes by workspace, without the workspaces that hold none
}

func newBudget(most, share int64) *budget {
	return &budget{most: most, share: share, by: map[string]int64{}}
}

// held is one request's reservation of a budget. The zero value is no reservation.
type held struct {
	budget    *budget
	workspace string // whose share it counts for: that of the request when the first byte was reserved
	bytes     int64
}

// reserve reserves n more bytes and reports whether the budget had room for them. They count for
// workspace ws, or for the workspace that the request's first reservation counted for. A workspace that
// holds nothing else may exceed its share, so that one large body or answer is always possible.
func (h *held) reserve(b *budget, ws string, n int64) bool {
	if h.bytes > 0 {
		ws = h.workspace
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.by[ws]
	if b.held+n > b.most || own > h.bytes && own+n > b.share {
		return false
	}
	h.budget, h.workspace = b, ws
	h.bytes += n
	b.held += n
	b.by[ws] = own + n
	return true
}

// release gives back what was reserved.
func (h *held) release() {
	if h.bytes == 0 {
		return
	}
	b := h.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= h.bytes
	if b.by[h.workspace] -= h.bytes; b.by[h.workspace] == 0 {
		delete(b.by, h.workspace)
	}
	h.bytes = 0
}

// size returns how many bytes are held.
func (b *budget) size() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// HoldAnswer counts an answer of n bytes until the request ends, because its client may read it slowly. A
// second call counts only the bytes beyond the first. It returns a *Refusal if all answers together have
// too many bytes. Edges call it for reads only: the answer to a change is never refused.
func (x *Exchange) HoldAnswer(n int) error {
	more := int64(n) - x.answer.bytes
	if n <= freeAnswer || more <= 0 {
		return nil
	}
	if !x.answer.reserve(x.front.answers, x.workspace, more) {
		return x.front.refuse()
	}
	return nil
}

// shares counts the requests in work of each workspace.
type shares struct {
	mu sync.Mutex       // guards by
	by map[string]int64 // without the workspaces that have no request in work, so it cannot grow without bound
}

// add adds n, which may be negative, to the requests of the workspace, and returns their number.
func (s *shares) add(ws string, n int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n += s.by[ws]
	if n == 0 {
		delete(s.by, ws)
	} else {
		s.by[ws] = n
	}
	return n
}
