package search

import (
	"slices"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// readGroups reads the records that `list` names, in groups, until it has enough text for a batch.
// It returns the records and the number of entries of `list` that it has processed.
func readGroups[T any](r *store.Reader, ws sheaf.WorkspaceID, list []T, what func(*T) (sheaf.SearchType, string)) (found []store.Findable, n int, err error) {
	bytes := 0
	for n < len(list) && bytes < batchBytes {
		group := list[n:min(n+groupRecords, len(list))]
		records, err := readGroup(r, ws, group, what)
		if err != nil {
			return nil, 0, err
		}
		for i := range records {
			bytes += len(records[i].Content) + len(records[i].Description) + len(records[i].Title)
		}
		found = append(found, records...)
		n += len(group)
	}
	return found, n, nil
}

// readGroup reads the records that a group names, of all types. Entries whose type is "" are
// skipped.
func readGroup[T any](r *store.Reader, ws sheaf.WorkspaceID, group []T, what func(*T) (sheaf.SearchType, string)) (found []store.Findable, err error) {
	for _, t := range sheaf.SearchTypes {
		var ids []string
		for i := range group {
			if of, id := what(&group[i]); of == t && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			continue
		}
		records, err := r.Findables(ws, t, ids)
		if err != nil {
			return nil, err
		}
		found = append(found, records...)
	}
	return found, nil
}
