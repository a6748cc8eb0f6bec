package sheaf

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// The bounds of what a record says of the place that it came from.
const (
	MaxExternalID   = 200  // characters
	MaxMetadataName = 64   // characters
	MaxMetadata     = 8192 // bytes of all of it as JSON
)

// CheckExternalID returns Invalid unless id is one that another system may know a record by.
func CheckExternalID(id string) error { return CheckName("external_id", id, MaxExternalID) }

// CheckURL returns Invalid unless u is an absolute address of http or https: pages show it as a link,
// and no other scheme may stand in one.
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

// checkReferences returns Invalid for the first fault of the fields by which a record points to where
// it came from.
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

// Metadata is what a client keeps beside a record: names and texts. It is their JSON object, with the
// names in the order of their bytes, so that it is stored, compared and shown as it is. The empty
// string is no metadata, which is shown as null; "{}" is metadata without a name in it.
type Metadata string

// MetadataEntry is one name and its text. In a change a nil value removes the name.
type MetadataEntry struct {
	Name  string
	Value *string
}

// NewMetadata returns the metadata of those entries, each of which has a name of its own and a value.
func NewMetadata(entries []MetadataEntry) Metadata {
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b MetadataEntry) int { return strings.Compare(a.Name, b.Name) })
	return Metadata(AppendJSON(nil, RecordFunc(func(o *Object) {
		for _, e := range entries {
			o.Text(e.Name, *e.Value)
		}
	})))
}

// Entries returns the names, in their order, with their texts.
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

// Check returns Invalid when there is more than a record may have. A merge can make it so, though it
// sends little.
func (m Metadata) Check() error {
	if len(m) > MaxMetadata {
		return InvalidField("metadata", "metadata has %d bytes as JSON, at most %d are allowed: remove or shorten some of it", len(m), MaxMetadata)
	}
	return nil
}

// Metadata appends what a record has, or null.
func (o *Object) Metadata(name string, m Metadata) {
	if m == "" {
		o.Null(name)
		return
	}
	o.Raw(name, []byte(m))
}

// MetadataChange is what a client sends as metadata: the whole of it, or with Merge, as PATCH does,
// the names to set and to remove, while all others stay.
type MetadataChange struct {
	Merge   bool
	Entries []MetadataEntry
}

// check returns Invalid for the first fault of what was sent, whatever it is merged with.
func (c MetadataChange) check() error {
	if len(c.Entries) == 0 {
		return nil
	}
	set := make([]MetadataEntry, 0, len(c.Entries))
	for _, e := range c.Entries {
		if !isMetadataName(e.Name) {
			return InvalidField("metadata", "metadata: %q is no name: use 1 to %d of the characters A-Z a-z 0-9 _ . -", Clip(e.Name), MaxMetadataName)
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

// applyMetadata returns m with a change that a client may have left out, or sent as null.
func applyMetadata(m Metadata, c Opt[MetadataChange]) Metadata {
	switch {
	case c.Null:
		return ""
	case c.Set:
		return c.Value.Apply(m)
	}
	return m
}
