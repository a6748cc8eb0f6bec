package front

import "sync"

const (
	// MaxBody is the largest body that may be read whole.
	MaxBody = 10 << 20
	// MaxBodies and MaxAnswers bound the bytes of bodies that are read or worked on, and of answers
	// that are not taken yet. In a process with little memory they are a quarter and an eighth of
	// that, and room for a few in any case.
	MaxBodies  = 256 << 20
	MaxAnswers = 128 << 20
	// freeBody and freeAnswer are not worth counting: the buffers of a connection and of its socket
	// hold as much.
	freeBody   = 4 << 10
	freeAnswer = 64 << 10
)

// budgetsFor returns the budgets of a process that may use so many bytes of memory; 0 is plenty.
func budgetsFor(memory int64) (bodies, answers *budget) {
	most, mostAnswers := int64(MaxBodies), int64(MaxAnswers)
	if memory > 0 {
		most, mostAnswers = min(most, max(memory/4, 4*MaxBody)), min(mostAnswers, max(memory/8, 2*MaxBody))
	}
	// A burst of middling bodies of one workspace is no attack: also where there is little memory,
	// it has room for two of the largest, and as much is left for others.
	return newBudget(most, max(most/4, 2*MaxBody)), newBudget(mostAnswers, mostAnswers/4)
}

// budget bounds how many bytes are held at once, and how many of them by one workspace: its share.
type budget struct {
	most, share int64

	mu   sync.Mutex // guards what follows
	held int64
	by   map[string]int64 // by workspace; those that hold nothing are not in it
}

func newBudget(most, share int64) *budget {
	return &budget{most: most, share: share, by: map[string]int64{}}
}

// reserve reports whether there was room for n more. A workspace that holds nothing may go beyond
// its share, so that a single large body or answer is always possible.
func (b *budget) reserve(ws string, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.by[ws]
	if b.held+n > b.most || own > 0 && own+n > b.share {
		return false
	}
	b.held += n
	b.by[ws] = own + n
	return true
}

// release gives back n bytes that were reserved.
func (b *budget) release(ws string, n int64) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
	if b.by[ws] -= n; b.by[ws] == 0 {
		delete(b.by, ws)
	}
}

// size returns how many bytes are held.
func (b *budget) size() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// HoldAnswer counts an answer of n bytes, which may wait long for its reader, until the request
// ends. It returns a *Refusal when too many do. An edge asks for reads alone: what was changed must
// be told.
func (x *Exchange) HoldAnswer(n int) error {
	if n <= freeAnswer || x.answerBytes > 0 {
		return nil
	}
	if !x.front.answers.reserve(x.workspace, int64(n)) {
		return x.front.refuse()
	}
	x.answerBytes = int64(n)
	return nil
}

// shares counts the requests in work of each workspace.
type shares struct {
	mu sync.Mutex       // guards by
	by map[string]int64 // those that have none are not in it: it has no more entries than there are requests in work
}

// add counts n more, or fewer, and returns how many there are.
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
