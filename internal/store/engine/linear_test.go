package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"sheaf.dev/internal/sheaf"
)

// call is one write about one thing; every client uses the same few names.
type call struct {
	kind callKind
	id   string // of the thing
	by   string // prefix of the names that it gives
}

type callKind string

const (
	create  callKind = "create"  // or returns an error that names the holder, like a 409 or a replay
	rename  callKind = "rename"  // an error where there is no such thing
	discard callKind = "discard" // deletes the thing; an error if there is none
	spoil   callKind = "spoil"   // creates or renames the thing, and then fails
)

// taken is the error of a creation whose thing exists.
type taken struct{ holder string }

func (e *taken) Error() string { return "held by " + e.holder }

var errSpoiled = errors.New("refused after its first change")

// answer is the result of a call: the name of the thing as the client saw it.
type answer struct {
	name string // the one given, or the holder's
	err  string // "" for success
}

// run makes the call's changes with the given name. It first locks "w", as every write in a
// workspace locks its row.
func (c call) run(tx *Tx, given string) error {
	if _, err := tx.Count("SELECT version FROM things WHERE id = 'w'" + tx.Dialect().ForUpdate()); err != nil {
		return err
	}
	name, found, err := One(&tx.Reader, "SELECT name FROM things WHERE id = $1", (*Row).Text, c.id)
	if err != nil {
		return err
	}
	switch {
	case c.kind == create && found:
		return &taken{name}
	case (c.kind == rename || c.kind == discard) && !found:
		return errNoThing
	case c.kind == discard:
		return tx.Exec("DELETE FROM things WHERE id = $1", c.id)
	case found:
		err = tx.Exec("UPDATE things SET name = $2 WHERE id = $1", c.id, given)
	default:
		err = insertNamed(c.id, given)(tx)
	}
	if err == nil && c.kind == spoil {
		err = errSpoiled
	}
	return err
}

// thingModel is the name of a thing; "" if there is none.
var thingModel = porcupine.Model{
	Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
		by := map[string][]porcupine.Operation{}
		for _, o := range all {
			by[o.Input.(call).id] = append(by[o.Input.(call).id], o)
		}
		var parts [][]porcupine.Operation
		for _, part := range by {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return "" },
	Step: func(state, in, out any) (bool, any) {
		name, c, a := state.(string), in.(call), out.(answer)
		switch {
		case c.kind == spoil:
			return a.err == errSpoiled.Error(), name
		case c.kind == create && name != "":
			return a == answer{name, "taken"}, name
		case c.kind != create && name == "":
			return a.err == errNoThing.Error(), name
		case c.kind == discard:
			return a.err == "", ""
		}
		return a.err == "", a.name
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%v → %v", in, out) },
}

// Whatever a write returns is based on committed data, even if another member of its group fails
// after a change and the group runs again.
func TestWrite_AnswersHaveAnOrderWhateverFailsBesideThem(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Engine) {
		const clients, calls, names = 8, 150, 3
		put(t, s, "w")
		var history [clients][]porcupine.Operation
		var all sync.WaitGroup
		begun := time.Now()
		for client := range clients {
			random := rand.New(rand.NewPCG(1, uint64(client)))
			all.Go(func() {
				for n := range calls {
					c := call{[]callKind{create, create, rename, discard, spoil, spoil}[random.IntN(6)],
						fmt.Sprint("thing ", random.IntN(names)), fmt.Sprint(client, ".", n)}
					o := porcupine.Operation{ClientId: client, Input: c, Call: time.Since(begun).Nanoseconds()}
					given, runs := "", 0
					err := s.Write(context.Background(), func(tx *Tx) error {
						runs++ // every run makes its own names, as it would make its own ids
						given = fmt.Sprint(c.by, " run ", runs)
						return c.run(tx, given)
					})
					o.Output = told(t, given, err)
					o.Return = time.Since(begun).Nanoseconds()
					history[client] = append(history[client], o)
				}
			})
		}
		all.Wait()
		var operations []porcupine.Operation
		for _, h := range history {
			operations = append(operations, h...)
		}
		if verdict := porcupine.CheckOperationsTimeout(thingModel, operations, 5*time.Minute); verdict != porcupine.Ok {
			t.Errorf("the answers have no order: %s", verdict)
		}
	})
}

// told returns the answer to a call that gave a name or failed.
func told(t *testing.T, given string, err error) answer {
	var holder *taken
	switch {
	case err == nil:
		return answer{name: given}
	case errors.As(err, &holder):
		return answer{holder.holder, "taken"}
	case sheaf.KindOf(err) == sheaf.Unavailable:
		t.Errorf("unavailable: %v", err)
	}
	return answer{err: err.Error()}
}
