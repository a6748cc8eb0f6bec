package sheaf

import "time"

// Workspace is the tenant: it has a plan and owns everything else.
type Workspace struct {
	ID        WorkspaceID
	Name      string
	Plan      Plan
	Personal  bool // one user's own: it takes no second member, and its events name no workspace
	CreatedAt time.Time

	// The fields below are updated by the transactions that change the workspace, under the lock of
	// its row.

	Version       int64 // rises when a project, folder, document or branding changes; caches use it
	LastNumber    int64 // Number of the record created last
	LastEvent     int64 // Number of the newest event
	Projects      int64 // number of projects
	Documents     int64 // number of documents, without deleted ones
	Subscriptions int64 // number of subscriptions
	Filters       int64 // number of subscriptions with a filter
	Reviewed      int64 // number of projects that need review; if 0, no document's project is looked up
	Restrictions  int64 // number of restrictions; if 0, as Filters, places of events are not read
	Brandings     int64 // number of brandings
	Shares        int64 // number of shares
	Storage       int64 // bytes of all texts, including past versions and deleted documents, and of media
	Kept          int64 // bytes of reported events and of answers kept for an Idempotency-Key

	// LastEventAt is the time of the newest event; zero if there never was one.
	LastEventAt time.Time

	// Given counts the deliveries that each subscription was ever given, in the store's encoding.
	Given string

	// DefaultBranding is the branding of shares that name none; empty: there is none.
	DefaultBranding BrandingID

	// NewestAt is the latest updated_at ever given to a project, folder, document or branding of
	// the workspace. NewestShared is how many records were given it: see app/newest.go.
	NewestAt     time.Time
	NewestShared int64
	DeletedAt    time.Time // when the operator deleted it; zero: it is not deleted
	EndsAt       time.Time // when the removal of a deleted workspace begins
	Removing     bool      // its removal has begun
}

// WithoutFigures returns the workspace as a restricted person sees it: without counts and times of its
// records.
func (w Workspace) WithoutFigures() Workspace {
	return Workspace{ID: w.ID, Name: w.Name, Plan: w.Plan, Personal: w.Personal, CreatedAt: w.CreatedAt, DefaultBranding: w.DefaultBranding,
		DeletedAt: w.DeletedAt, EndsAt: w.EndsAt, Removing: w.Removing}
}

// EventTime returns the time of an event that is appended to the workspace's log at `now`. It is never
// before the newest event's, even if the clock was set back or belongs to another node. So the times
// of a log rise with its numbers.
func (w *Workspace) EventTime(now time.Time) time.Time {
	if now.Before(w.LastEventAt) {
		return w.LastEventAt
	}
	return now
}

// Used returns the bytes that count against the workspace's quota.
func (w *Workspace) Used() int64 { return w.Storage + w.Kept }

// Fields appends the workspace as GET /api/v1/me shows it.
func (w *Workspace) Fields(o *Object) {
	o.Text("id", string(w.ID))
	o.Text("name", w.Name)
	o.Bool("personal", w.Personal)
}

// IsDeleted reports whether the operator has deleted the workspace.
func (w *Workspace) IsDeleted() bool { return !w.DeletedAt.IsZero() }

// Restorable reports whether the operator can bring the deleted workspace back at `now`.
func (w *Workspace) Restorable(now time.Time) bool {
	return w.IsDeleted() && !w.Removing && now.Before(w.EndsAt)
}

// Storage is how many bytes a workspace stores, and how many it may store.
type Storage struct {
	Used  int64
	Quota int64 // 0: no limit
}

// Fields appends the storage as GET /api/v1/me shows it.
func (s *Storage) Fields(o *Object) {
	o.Int("used", s.Used)
	if s.Quota == 0 {
		o.Null("quota")
		return
	}
	o.Int("quota", s.Quota)
}

// WorkspaceSet is a set of workspaces, or all of them. The zero value is empty.
type WorkspaceSet struct {
	All bool
	IDs map[WorkspaceID]struct{} // meaningless if All is set
}

// Add adds one workspace.
func (s *WorkspaceSet) Add(id WorkspaceID) {
	if s.IDs == nil {
		s.IDs = map[WorkspaceID]struct{}{}
	}
	s.IDs[id] = struct{}{}
}

// AddAll adds the workspaces of another set.
func (s *WorkspaceSet) AddAll(other WorkspaceSet) {
	s.All = s.All || other.All
	for id := range other.IDs {
		s.Add(id)
	}
}

// Membership is a user in a workspace.
type Membership struct {
	Workspace Workspace
	User      User
	Role      Role
	Since     time.Time // when they joined
	// RestrictedTo limits what they see and change; nil: the whole workspace.
	RestrictedTo *Restriction
}

// Invitation is an open offer to join a workspace. Only the hash of its link's token is stored.
type Invitation struct {
	ID        InvitationID
	Email     string
	Role      Role
	InvitedBy UserID
	CreatedAt time.Time
	ExpiresAt time.Time
	// RestrictedTo limits the person who joins; nil: the whole workspace.
	RestrictedTo *Restriction
}

// User is a person.
type User struct {
	ID           UserID
	Email        *string // nil: this user cannot sign in
	Name         string
	PasswordHash string // empty while no password is set
	// PasswordAllowed means that the user may sign in with the password even if the server has turned passwords off.
	PasswordAllowed bool
	CreatedAt       time.Time
	ErasedAt        *time.Time // nil: the user was not erased
}

// ErasedUser is the name of a user whose name and e-mail were erased.
const ErasedUser = "erased user"

// Fields appends the user as GET /api/v1/me shows them.
func (u *User) Fields(o *Object) {
	o.Text("id", string(u.ID))
	o.OptText("email", u.Email)
	o.Text("name", u.Name)
}
