package deliver

import (
	"fmt"
	"runtime/debug"
)

// panicked is a panic in an attempt, with the stack on which it happened. It is an error, so that
// net/http carries one from the goroutine in which it dials to the attempt that waits for the
// connection.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// asPanicked returns what recover returned in the shape above; it must be called before the stack
// is left.
func asPanicked(value any) *panicked {
	if p, ok := value.(*panicked); ok {
		return p
	}
	return &panicked{value: value, stack: debug.Stack()}
}
