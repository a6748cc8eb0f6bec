package store

import (
	"strings"
	"sync"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// What leaves the store are identifiers of 36 characters and names of types. What is inside is
// smaller, because it stands in every row and every index:
//
//	outside                        inside
//	a WorkspaceID                  ws, a number from a counter that never gives one twice
//	a SubscriptionID               sub, likewise, in the tables of its deliveries
//	every other identifier         its 16 bytes (BLOB, UUID); an EventID without "evt_"
//	an EventType                   a number (event.go)
//
// Arguments of these types are turned by bound, columns are read by readID.

// bound turns the arguments of a statement, in place, into what is stored. An identifier that is
// none becomes NULL, which nothing equals; a workspace that is none becomes 0, which none has.
func (r *Reader) bound(args []any) (err error) {
	for i, a := range args {
		switch a := a.(type) {
		case sheaf.WorkspaceID:
			args[i], err = r.number(a)
		case sheaf.UserID:
			args[i] = idBytes(string(a))
		case *sheaf.UserID:
			args[i] = optBytes(a)
		case sheaf.KeyID:
			args[i] = idBytes(string(a))
		case *sheaf.KeyID:
			args[i] = optBytes(a)
		case sheaf.ProjectID:
			args[i] = idBytes(string(a))
		case *sheaf.ProjectID:
			args[i] = optBytes(a)
		case sheaf.FolderID:
			args[i] = idBytes(string(a))
		case *sheaf.FolderID:
			args[i] = optBytes(a)
		case sheaf.BrandingID:
			args[i] = idBytes(string(a))
		case *sheaf.BrandingID:
			args[i] = optBytes(a)
		case sheaf.MediumID:
			args[i] = idBytes(string(a))
		case *sheaf.MediumID:
			args[i] = optBytes(a)
		case sheaf.ShareID:
			args[i] = idBytes(string(a))
		case sheaf.DocumentID:
			args[i] = idBytes(string(a))
		case *sheaf.DocumentID:
			args[i] = optBytes(a)
		case sheaf.SubscriptionID:
			args[i] = idBytes(string(a))
		case sheaf.DeliveryID:
			args[i] = idBytes(string(a))
		case sheaf.InvitationID:
			args[i] = idBytes(string(a))
		case sheaf.EventID:
			args[i] = idBytes(strings.TrimPrefix(string(a), sheaf.EventPrefix))
		case sheaf.EventType:
			args[i] = typeNumber(a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// idBytes returns the 16 bytes of an identifier, or nil.
func idBytes(id string) any {
	u, ok := sheaf.UUIDBytes(id)
	if !ok {
		return nil
	}
	return u[:]
}

// optBytes is idBytes; nil stays nil, which is NULL.
func optBytes[T ~string](id *T) any {
	if id == nil {
		return nil
	}
	return idBytes(string(*id))
}

// readID reads an identifier.
func readID[T ~string](r *row) T { return T(sheaf.FormatUUID(r.ID())) }

// optID reads an identifier; NULL is nil.
func optID[T ~string](r *row) *T { return engine.Opt(r, readID[T]) }

// readEventID reads the identifier of an event.
func readEventID(r *row) sheaf.EventID { return sheaf.EventPrefix + readID[sheaf.EventID](r) }

// maxNumbers bounds what is kept of the numbers of workspaces; beyond it, it begins anew.
const maxNumbers = 100_000

// numbers keeps which number a workspace has. Since none is ever used again, what was learned from
// a commit is true for ever.
type numbers struct {
	mu   sync.RWMutex // guards byID
	byID map[sheaf.WorkspaceID]int64
}

func newNumbers() *numbers { return &numbers{byID: map[sheaf.WorkspaceID]int64{}} }

// of returns the number of a workspace, if it is known.
func (n *numbers) of(id sheaf.WorkspaceID) (int64, bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	number, known := n.byID[id]
	return number, known
}

// learn notes numbers that are committed.
func (n *numbers) learn(learned map[sheaf.WorkspaceID]int64) {
	if len(learned) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.byID) >= maxNumbers {
		clear(n.byID)
	}
	for id, number := range learned {
		n.byID[id] = number
	}
}

// number returns the number of a workspace, 0 when there is none. A transaction keeps what it
// reads to itself until it has committed: it may be the one that made the workspace.
func (r *Reader) number(id sheaf.WorkspaceID) (int64, error) {
	if n, known := r.numbers.of(id); known {
		return n, nil
	}
	if n, known := r.learned[id]; known {
		return n, nil
	}
	n, err := r.sql.Count(`SELECT ws FROM workspaces WHERE id = $1`, idBytes(string(id)))
	switch {
	case err != nil || n == 0:
		return 0, err
	case r.writes:
		if r.learned == nil {
			r.learned = map[sheaf.WorkspaceID]int64{}
		}
		r.learned[id] = n
	default:
		r.numbers.learn(map[sheaf.WorkspaceID]int64{id: n})
	}
	return n, nil
}

// Number returns the number of a workspace, 0 when there is none, for the doctor, who asks in SQL.
func (r *Reader) Number(id sheaf.WorkspaceID) (int64, error) { return r.number(id) }

const countOn = `
INSERT INTO counters (name, last)
VALUES ($1, 1)
ON CONFLICT (name) DO UPDATE SET last = counters.last + 1
RETURNING last`

// nextNumber returns a number that was never used; counter is "workspace" or "subscription".
func (tx *Tx) nextNumber(counter string) (int64, error) {
	n, _, err := one(&tx.Reader, countOn, (*row).Int, counter)
	return n, err
}
