package sheaf

import "time"

// Workspace is the tenant: it has a plan and owns everything else.
type Workspace struct {
	ID        WorkspaceID
	Name      string
	Plan      Plan
	Personal  bool // one user's own: it takes no second member, and its events name no workspace
	CreatedAt time.Time

	// What follows is kept by the transactions that change the workspace, each of which holds the
	// lock of its row.

	Version       int64 // rises when a project, folder, document or branding changes: caches go by it
	LastNumber    int64 // the Number of what was created last
	LastEvent     int64 // the Number of the newest event
	Projects      int64 // how many there are
	Documents     int64 // how many there are, without the deleted ones
	Subscriptions int64 // how many there are
	Filters       int64 // how many of them have a filter: without any, nobody asks where something is
	Brandings     int64 // how many there are
	Shares        int64 // how many there are
	Storage       int64 // bytes of all texts, those of past versions and of deleted documents too, and of media
	Kept          int64 // bytes of reported events and of answers kept for an Idempotency-Key

	// DefaultBranding is the look of shares that name none; empty: there is none.
	DefaultBranding BrandingID

	// NewestAt is the latest updated_at that a project, folder, document or branding of the workspace
	// was ever given, and NewestShared how many were given it: see app/newest.go.
	NewestAt     time.Time
	NewestShared int64
}

// Used returns the bytes that count in the workspace's quota.
func (w *Workspace) Used() int64 { return w.Storage + w.Kept }

// Fields appends the workspace as GET /api/v1/me shows it.
func (w *Workspace) Fields(o *Object) {
	o.Text("id", string(w.ID))
	o.Text("name", w.Name)
	o.Bool("personal", w.Personal)
}

// Storage is how many bytes a workspace stores, and may store.
type Storage struct {
	Used  int64
	Quota int64 // 0: any number
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

// WorkspaceSet is some workspaces, or all of them. The zero value is none.
type WorkspaceSet struct {
	All bool
	IDs map[WorkspaceID]struct{} // says nothing when All is set
}

// Add adds one workspace.
func (s *WorkspaceSet) Add(id WorkspaceID) {
	if s.IDs == nil {
		s.IDs = map[WorkspaceID]struct{}{}
	}
	s.IDs[id] = struct{}{}
}

// AddAll adds those of another set.
func (s *WorkspaceSet) AddAll(other WorkspaceSet) {
	s.All = s.All || other.All
	for id := range other.IDs {
		s.Add(id)
	}
}

// Role is what a member may do in the console; a key's scopes alone govern the API.
type Role string

// The roles.
const (
	Owner  Role = "owner"
	Admin  Role = "admin"
	Member Role = "member"
)

// ParseRole returns the role of that name.
func ParseRole(s string) (Role, error) {
	switch r := Role(s); r {
	case Owner, Admin, Member:
		return r, nil
	}
	return "", InvalidField("role", "role must be owner, admin or member, not %q", Clip(s))
}

// Scopes is what a member of that role may do in the console: members see, admins and owners
// change. Nobody's key is asked.
func (r Role) Scopes() Scopes {
	switch r {
	case Owner, Admin:
		return AllScopes
	case Member:
		return Scopes{ProjectsRead, DocumentsRead, MediaRead, SharesRead, BrandingsRead, WebhooksRead, EventsRead, KeysRead}
	}
	return nil
}

// Membership is a user in a workspace.
type Membership struct {
	Workspace Workspace
	User      User
	Role      Role
	Since     time.Time // when they joined
}

// Invitation is an open offer to join a workspace. The token in its link is not kept, only its hash.
type Invitation struct {
	ID        InvitationID
	Email     string
	Role      Role
	InvitedBy UserID
	CreatedAt time.Time
	ExpiresAt time.Time
}

// User is a person.
type User struct {
	ID           UserID
	Email        *string // nil: this user cannot sign in
	Name         string
	PasswordHash string // empty while no password is set
	CreatedAt    time.Time
}

// Fields appends the user as GET /api/v1/me shows them.
func (u *User) Fields(o *Object) {
	o.Text("id", string(u.ID))
	o.OptText("email", u.Email)
	o.Text("name", u.Name)
}
