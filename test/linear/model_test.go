package linear

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/anishathalye/porcupine"
)

// never is when a lost answer comes: what was asked may take effect at any time, or at the end of all times.
const never = math.MaxInt64

// input is one request about one project, which every client calls by the same name before it is there.
type input struct {
	project string
	kind    kind
	match   int    // the revision in If-Match
	name    string // that a PATCH gives
}

type kind string

const (
	create kind = "create" // with the project as Idempotency-Key: a repetition has one effect
	read   kind = "read"
	search kind = "search" // the list, by the project's name
	patch  kind = "patch"  // with If-Match
	remove kind = "delete"
)

// output is what was answered.
type output struct {
	lost     bool
	status   int
	revision int
	name     string // "" when a search found nothing
	replayed bool
	id       string // that a creation names
}

// String prints the request for a person.
func (i input) String() string {
	switch i.kind {
	case patch:
		return fmt.Sprintf("%s %s revision %d to %q", i.kind, i.project, i.match, i.name)
	default:
		return fmt.Sprintf("%s %s", i.kind, i.project)
	}
}

// String prints the answer for a person.
func (o output) String() string {
	if o.lost {
		return "lost"
	}
	return fmt.Sprintf("%d revision %d %q replayed %t %s", o.status, o.revision, o.name, o.replayed, o.id)
}

// state is a project as it must be. Created tells one that was deleted from one that never was.
type state struct {
	created, there bool
	revision       int
	name           string
	id             string // "" while no answer has named it
}

// projects is the order that porcupine looks for.
var projects = porcupine.Model{
	Partition: partition,
	Init:      func() any { return state{} },
	Step: func(s, in, out any) (bool, any) {
		return step(s.(state), in.(input), out.(output))
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%v → %v", in, out) },
}

// partition divides a history by project, each in the order of its calls.
func partition(operations []porcupine.Operation) (parts [][]porcupine.Operation) {
	all := slices.Clone(operations)
	slices.SortStableFunc(all, func(a, b porcupine.Operation) int {
		return cmp.Or(cmp.Compare(a.Input.(input).project, b.Input.(input).project), cmp.Compare(a.Call, b.Call))
	})
	for from, to := 0, 0; from < len(all); from = to {
		for to < len(all) && all[to].Input.(input).project == all[from].Input.(input).project {
			to++
		}
		parts = append(parts, all[from:to])
	}
	return parts
}

// firstName is what a project is called when it is created.
func firstName(project string) string { return project + " 0" }

// step returns whether the answer is right in that state, and the state after it. A lost answer is always
// right: if the write never had an effect, the model puts the effect after everything that a client saw.
func step(s state, in input, out output) (bool, state) {
	switch in.kind {
	case create:
		return stepCreate(s, in, out)
	case read:
		return out == answerOf(s), s
	case search:
		if !s.there {
			return out.name == "", s
		}
		return out.name == s.name, s
	case patch:
		return stepPatch(s, in, out)
	}
	after := s
	after.there = false
	return out.lost || (out.status == 204) == s.there, after
}

// answerOf is what a read must be answered.
func answerOf(s state) output {
	if !s.there {
		return output{status: 404}
	}
	return output{status: 200, revision: s.revision, name: s.name}
}

func stepCreate(s state, in input, out output) (bool, state) {
	// Every repetition names the project that the first one made.
	id := cmp.Or(s.id, out.id)
	right := out.lost || out == output{status: 201, revision: 1, name: firstName(in.project), replayed: s.created, id: id}
	if !s.created {
		s = state{created: true, there: true, revision: 1, name: firstName(in.project)}
	}
	s.id = id
	return right, s
}

func stepPatch(s state, in input, out output) (bool, state) {
	switch {
	case !s.there:
		return out.lost || out.status == 404, s
	case s.revision != in.match:
		return out.lost || out.status == 412, s
	}
	s.revision, s.name = s.revision+1, in.name
	return out.lost || out == answerOf(s), s
}
