package sheaf

import "time"

// Limits on the kept versions of a document, including the present one: the newest KeptVersions are
// kept whatever their age, older ones until they are too old, and never more than MaxVersions.
const (
	KeptVersions = 100
	MaxVersions  = 1000
)

// Version is a past or the present state of a document's title and text. Each change of either
// makes one.
type Version struct {
	Number        int64 // shown as version: 1, 2, 3, …
	Title         string
	ContentBytes  int64
	ContentSHA256 string
	UserID        *UserID     // author; nil if it was not recorded
	KeyID         *KeyID      // key of the author; nil in the console
	ProposalID    *ProposalID // proposal whose acceptance made it; nil: none
	CreatedAt     time.Time
	Restored      *int64 // number of the version whose title and text this one brought back; nil: none
}

// Fields appends the version as the list of versions shows it.
func (v *Version) Fields(o *Object) {
	o.Int("version", v.Number)
	o.Text("title", v.Title)
	o.Int("content_bytes", v.ContentBytes)
	o.Text("content_sha256", v.ContentSHA256)
	o.OptText("user_id", (*string)(v.UserID))
	o.OptText("key_id", (*string)(v.KeyID))
	o.OptText("proposal_id", (*string)(v.ProposalID))
	o.Time("created_at", v.CreatedAt)
	o.OptInt("restored_version", v.Restored)
}

// VersionText is a version with its text.
type VersionText struct {
	Version
	Content string
}

// Fields appends the version, and its text as content.
func (v *VersionText) Fields(o *Object) {
	v.Version.Fields(o)
	o.Text("content", v.Content)
}

// Author is the author of a version. Imports, operators and members in the console have no key.
type Author struct {
	User     UserID
	Key      KeyID      // empty: none
	Proposal ProposalID // proposal that is accepted; empty: none
	Restored *int64     // number of the version that the author restored; nil: none
}
