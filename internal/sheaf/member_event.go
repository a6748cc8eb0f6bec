package sheaf

import "time"

// MemberEventsKept is the largest number of member events that a workspace keeps. The oldest go first.
const MemberEventsKept = 1000

// MemberEventKind is the kind of a change of a member.
type MemberEventKind string

// The kinds of member events.
const (
	MemberJoined  MemberEventKind = "joined"
	MemberLeft    MemberEventKind = "left" // by their own act
	MemberRemoved MemberEventKind = "removed"
	RoleChanged   MemberEventKind = "role"
)

// MemberEvent is a change of a workspace's members or of their roles. The console shows it among the
// events; no webhook gets it.
type MemberEvent struct {
	Kind MemberEventKind
	User UserID
	By   *UserID // who did it; nil: an operator
	Role Role    // the new role; for a member who left, the last one
	Was  Role    // the previous role; empty for a member who joined
	At   time.Time
	// Name and ByName are the names of both users now. They are empty if a user has no name.
	Name, ByName string
}

// MemberEventFilter selects member events. The zero value selects all.
type MemberEventFilter struct {
	Person UserID     // who did it, or to whom it was done; empty: everybody
	Since  *time.Time // at or after this time
	Before *time.Time // before this time
	Offset int        // number of newest member events to skip
	Limit  int
}
