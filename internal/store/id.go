package store

import (
	"strings"
	"sync"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// Outside the store, identifiers have 36 characters and types have names. Inside they are smaller,
// because every row and every index contains them:
//
//	outside                        inside
//	a WorkspaceID                  ws, a number from a counter that never repeats one
//	a SubscriptionID               sub, likewise, in the tables of its deliveries
//	every other identifier         its 16 bytes (BLOB, UUID); an EventID without "evt_"
//	an EventType                   a number (event.go)
//
// bound converts arguments of these types; readID converts columns.

// bound converts the arguments of a statement, in place, to the stored form. An invalid identifier
// becomes NULL, which equals nothing. An unknown workspace becomes 0, which no workspace has.
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
		case letterID:
			args[i] = idBytes(string(a))
		case sheaf.ProposalID:
			args[i] = idBytes(string(a))
		case *sheaf.ProposalID:
			args[i] = optBytes(a)
		case sheaf.ReleaseID:
			args[i] = idBytes(string(a))
		case sheaf.DocumentID:
			args[i] = idBytes(string(a))
		case *sheaf.DocumentID:
			args[i] = optBytes(a)
		case sheaf.SubscriptionID:
			args[i] = idBytes(string(a))
		case sheaf.DeliveryID:
			args[i] = idBytes(string(a))
		case sheaf.AuditID:
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

// idBytes returns the 16 bytes of an identifier, or nil if it is invalid.
func idBytes(id string) any {
	u, ok := sheaf.UUIDBytes(id)
	if !ok {
		return nil
	}
	return u[:]
}

// optBytes is idBytes for an optional id; nil stays nil, which is NULL.
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

// maxNumbers is the most workspace numbers that are cached; beyond it the cache is cleared.
const maxNumbers = 100_000

// numbers caches the numbers of workspaces. Since no number is reused, an entry from a committed
// transaction is valid forever.
type numbers struct {
	mu   sync.RWMutex // guards byID
	byID map[sheaf.WorkspaceID]int64
}

func newNumbers() *numbers { return &numbers{byID: map[sheaf.WorkspaceID]int64{}} }

// of returns the number of a workspace; false if it is not cached.
func (n *numbers) of(id sheaf.WorkspaceID) (int64, bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	number, known := n.byID[id]
	return number, known
}

// learn adds committed numbers.
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

// number returns the number of a workspace, or 0 if it does not exist. A transaction caches what it
// reads for itself until it has committed, because it may have created the workspace.
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

// Number returns the number of a workspace, or 0 if it does not exist, for the doctor's SQL.
func (r *Reader) Number(id sheaf.WorkspaceID) (int64, error) { return r.number(id) }

const countOn = `
INSERT INTO counters (name, last)
VALUES ($1, 1)
ON CONFLICT (name) DO UPDATE SET last = counters.last + 1
RETURNING last`

// nextNumber returns a number that was never used before. counter is "workspace", "subscription" or
// "instance_audit".
func (tx *Tx) nextNumber(counter string) (int64, error) {
	n, _, err := one(&tx.Reader, countOn, (*row).Int, counter)
	return n, err
}
