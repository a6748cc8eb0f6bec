package sheaf

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// Limits of the fields that say where a record came from.
const (
	MaxExternalID   = 200  // characters
	MaxMetadataName = 64   // characters
	MaxMetadata     = 8192 // bytes of all of it as JSON
)

// CheckExternalID returns Invalid unless id is a valid external id.
func CheckExternalID(id string) error { return CheckName("external_id", id, MaxExternalID) }

// CheckURL returns Invalid unless u is an absolute http or https address. Pages show it as a link,
// and other schemes are not safe there.
func CheckURL(u string) error {
	if err := CheckLength("url", u, MaxURL); err != nil {
		return err
	}
	parsed, err := url.Parse(u)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return InvalidField("url", "url must be an http or https address such as https://example.com/page, not %q", Clip(u))
	}
	return nil
}

// checkReferences returns Invalid for the first bad field of those that say where a record came
// from.
func checkReferences(externalID, u Opt[string], m Opt[MetadataChange]) error {
	if externalID.Given() {
		if err := CheckExternalID(externalID.Value); err != nil {
			return err
		}
	}
	if u.Given() {
		if err := CheckURL(u.Value); err != nil {
			return err
		}
	}
	return m.Value.check()
}

// Metadata is what a client stores with a record: names and texts. It is a JSON object with its
// names in byte order, so that it can be stored, compared and shown as it is. The empty string
// means no metadata and is shown as null; "{}" is metadata without names.
type Metadata string

// MetadataEntry is one name with its text. In a change, a nil value removes the name.
type MetadataEntry struct {
	Name  string
	Value *string
}

// NewMetadata returns the metadata with those entries. Their names must differ, and all must have a
// value.
func NewMetadata(entries []MetadataEntry) Metadata {
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b MetadataEntry) int { return strings.Compare(a.Name, b.Name) })
	return Metadata(AppendJSON(nil, RecordFunc(func(o *Object) {
		for _, e := range entries {
			o.Text(e.Name, *e.Value)
		}
	})))
}

// Entries returns the entries in the order of their names.
func (m Metadata) Entries() []MetadataEntry {
	var texts map[string]string
	if m == "" || json.Unmarshal([]byte(m), &texts) != nil {
		return nil
	}
	entries := make([]MetadataEntry, 0, len(texts))
	for name, text := range texts {
		entries = append(entries, MetadataEntry{name, &text})
	}
	slices.SortFunc(entries, func(a, b MetadataEntry) int { return strings.Compare(a.Name, b.Name) })
	return entries
}

// Check returns Invalid if the metadata is too large. A merge can make it so even if it sends
// little.
func (m Metadata) Check() error {
	if len(m) > MaxMetadata {
		return InvalidField("metadata", "metadata has %d bytes as JSON, at most %d are allowed: remove or shorten some of it", len(m), MaxMetadata)
	}
	return nil
}

// Metadata appends a record's metadata, or null.
func (o *Object) Metadata(name string, m Metadata) {
	if m == "" {
		o.Null(name)
		return
	}
	o.Raw(name, []byte(m))
}

// MetadataChange is what a client sends as metadata: all of it or, with Merge, as in PATCH, the
// names to set and to remove, while the others stay.
type MetadataChange struct {
	Merge   bool
	Entries []MetadataEntry
}

// check returns Invalid for the first error of what was sent, whatever it is merged with.
func (c MetadataChange) check() error {
	if len(c.Entries) == 0 {
		return nil
	}
	set := make([]MetadataEntry, 0, len(c.Entries))
	for _, e := range c.Entries {
		if !isMetadataName(e.Name) {
			return InvalidField("metadata", "metadata: %q is not a valid name: use 1 to %d of the characters A-Z a-z 0-9 _ . -", Clip(e.Name), MaxMetadataName)
		}
		if e.Value != nil {
			set = append(set, e)
		}
	}
	return NewMetadata(set).Check()
}

func isMetadataName(s string) bool {
	strange := strings.ContainsFunc(s, func(r rune) bool {
		letter := 'a' <= r|0x20 && r|0x20 <= 'z' && r < 0x80
		return !letter && !('0' <= r && r <= '9') && r != '_' && r != '.' && r != '-'
	})
	return s != "" && len(s) <= MaxMetadataName && !strange
}

// Apply returns m with the change.
func (c MetadataChange) Apply(m Metadata) Metadata {
	texts := map[string]*string{}
	if c.Merge {
		for _, e := range m.Entries() {
			texts[e.Name] = e.Value
		}
	}
	for _, e := range c.Entries {
		texts[e.Name] = e.Value
	}
	var entries []MetadataEntry
	for name, text := range texts {
		if text != nil {
			entries = append(entries, MetadataEntry{name, text})
		}
	}
	return NewMetadata(entries)
}

// applyMetadata returns m with a change that may not have been sent, or may be null.
func applyMetadata(m Metadata, c Opt[MetadataChange]) Metadata {
	switch {
	case c.Null:
		return ""
	case c.Set:
		return c.Value.Apply(m)
	}
	return m
}
