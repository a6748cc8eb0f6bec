package sheaf

// Made is what was created with a key and still works.
type Made struct {
	Keys          []Key
	Subscriptions []Subscription
	Shares        []Share // the first ones
	ShareCount    int64   // all shares
}

// Any reports whether there is anything.
func (m Made) Any() bool { return len(m.Keys)+len(m.Subscriptions)+int(m.ShareCount) > 0 }
