package sheaf

import "time"

// How many versions of a document are kept, the present one included: the newest KeptVersions
// whatever their age, older ones until they are too old, and never more than MaxVersions.
const (
	KeptVersions = 100
	MaxVersions  = 1000
)

// Version is a document's title and text as they were, or are. Each change of one of them makes one.
type Version struct {
	Number        int64 // shown as version: 1, 2, 3, …
	Title         string
	ContentBytes  int64
	ContentSHA256 string
	UserID        *UserID // who made it; nil where that was not noted yet
	KeyID         *KeyID  // with which key; nil in the console
	CreatedAt     time.Time
}

// Fields appends the version as the list of versions shows it.
func (v *Version) Fields(o *Object) {
	o.Int("version", v.Number)
	o.Text("title", v.Title)
	o.Int("content_bytes", v.ContentBytes)
	o.Text("content_sha256", v.ContentSHA256)
	o.OptText("user_id", (*string)(v.UserID))
	o.OptText("key_id", (*string)(v.KeyID))
	o.Time("created_at", v.CreatedAt)
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

// Author is who makes a version. An import and an operator have no key, and neither has a member in
// the console.
type Author struct {
	User UserID
	Key  KeyID // empty: none
}
