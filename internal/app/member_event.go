package app

import (
	"context"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// noteMember stores what the caller did to a member, in the transaction of that change.
func (w *work) noteMember(kind sheaf.MemberEventKind, u sheaf.UserID, role, was sheaf.Role) error {
	by := w.caller.User
	return w.AddMemberEvent(w.ws.ID, sheaf.MemberEvent{Kind: kind, User: u, By: &by, Role: role, Was: was, At: w.now})
}

// noteRole stores that the caller gave a member another role. If the role is the same, it stores nothing.
func (w *work) noteRole(u sheaf.UserID, role, was sheaf.Role) error {
	if role == was {
		return nil
	}
	return w.noteMember(sheaf.RoleChanged, u, role, was)
}

// noteLeaving stores that a member leaves, or is removed by the caller.
func (w *work) noteLeaving(u sheaf.UserID) error {
	was, err := w.Role(w.ws.ID, u)
	if err != nil {
		return err
	}
	if u == w.caller.User {
		w.audit(sheaf.ActionMemberLeft, string(u), namedFacts("role", string(was)), nil)
		return w.noteMember(sheaf.MemberLeft, u, was, was)
	}
	w.audit(sheaf.ActionMemberRemoved, string(u), namedFacts("role", string(was)), nil)
	return w.noteMember(sheaf.MemberRemoved, u, was, was)
}

// memberWho requires a signed-in member whose role has the scope.
func memberWho(s sheaf.Scope) need {
	return func(c Caller) error {
		if err := member(c); err != nil {
			return err
		}
		return scope(s)(c)
	}
}

// MemberEvents returns the member events of the caller's workspace, newest first. Members who may read
// the log of events may read them, but only owners get the names of former members. A restricted caller
// gets only the member events that they caused or that concern them.
func (a *App) MemberEvents(ctx context.Context, c Caller, f sheaf.MemberEventFilter) ([]sheaf.MemberEvent, error) {
	return read(ctx, a, c, memberWho(sheaf.EventsRead), func(r *store.Reader) ([]sheaf.MemberEvent, error) {
		if c.Restriction() != nil {
			if f.Person != "" && f.Person != c.User {
				return nil, nil
			}
			f.Person = c.User
		}
		events, err := r.MemberEvents(c.Workspace, f)
		if c.Role != sheaf.Owner {
			for i := range events {
				events[i].Name, events[i].ByName = "", ""
			}
		}
		return events, err
	})
}
