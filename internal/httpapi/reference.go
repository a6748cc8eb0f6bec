package httpapi

import (
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// references reads the parameters external_id and updated_since of a list.
func (x *exchange) references() (externalID string, since *time.Time, err error) {
	if x.query.Has("external_id") {
		if externalID, err = x.externalID(); err != nil {
			return "", nil, err
		}
	}
	since, err = x.since("updated_since")
	return externalID, since, err
}

// externalID reads the required parameter external_id.
func (x *exchange) externalID() (string, error) {
	if !x.query.Has("external_id") {
		return "", sheaf.InvalidField("external_id", "external_id is required in the query: PUT %s?external_id=…, with your system's id for it", x.Request.URL.Path)
	}
	id := x.query.Text("external_id")
	return id, sheaf.CheckExternalID(id)
}

// since reads a parameter that is a time, rounded up to milliseconds. It returns nil if the parameter is missing.
func (x *exchange) since(name string) (*time.Time, error) {
	if !x.query.Has(name) {
		return nil, nil
	}
	t, err := strict.Time(x.query.Text(name))
	if err != nil {
		return nil, sheaf.InvalidField(name, "%s %s", name, err)
	}
	// Stored times have whole milliseconds, so the first at or after t is at the next millisecond.
	if whole := t.Truncate(time.Millisecond); whole.Before(t) {
		t = whole.Add(time.Millisecond)
	}
	return &t, nil
}

// A metadataReader reads metadata from a body.
type metadataReader func(*strict.Fields) sheaf.Opt[sheaf.MetadataChange]

// wholeMetadata reads metadata that replaces all entries of a record, as POST and PUT do.
func wholeMetadata(in *strict.Fields) sheaf.Opt[sheaf.MetadataChange] {
	pairs := in.TextMap("metadata")
	out := sheaf.Opt[sheaf.MetadataChange]{Set: pairs.Set, Null: pairs.Null}
	for _, p := range pairs.Value {
		out.Value.Entries = append(out.Value.Entries, sheaf.MetadataEntry{Name: p.Name, Value: &p.Value})
	}
	return out
}

// mergedMetadata reads metadata of PATCH: an entry with null is removed, and entries that are not named stay.
func mergedMetadata(in *strict.Fields) sheaf.Opt[sheaf.MetadataChange] {
	pairs := in.TextPatch("metadata")
	out := sheaf.Opt[sheaf.MetadataChange]{Set: pairs.Set, Null: pairs.Null, Value: sheaf.MetadataChange{Merge: true}}
	for _, p := range pairs.Value {
		out.Value.Entries = append(out.Value.Entries, sheaf.MetadataEntry(p))
	}
	return out
}
