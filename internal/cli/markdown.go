package cli

import (
	"errors"
	"fmt"
	"strings"

	"sheaf.dev/client"
	"sheaf.dev/internal/markdown"
)

// manyRetries is the number of retries of a request of an import or export, because thousands of
// requests exceed the rate limit.
const manyRetries = 10

// fileError adds the path of the file to an error.
func fileError(path string, err error) error {
	var answered *client.Error
	if errors.As(err, &answered) {
		return fmt.Errorf("%s: %s", path, errorText(err))
	}
	return fmt.Errorf("%s: %w", path, err)
}

// markdownDocument returns the fields of a document that comparing and the layout need.
func markdownDocument(d client.Document) markdown.Document {
	return markdown.Document{ID: d.ID, ExternalID: or(d.ExternalID, ""), ProjectID: or(d.ProjectID, ""), ParentID: or(d.ParentID, ""), SortOrder: d.SortOrder, SHA256: d.ContentSHA256, Version: d.Version,
		Page: markdown.Page{Title: d.Title, Description: or(d.Description, ""), URL: or(d.URL, ""), Metadata: d.Metadata}}
}

// sentence joins counts, given as numbers and formats, and leaves out those of 0.
func sentence(counts ...any) string {
	var parts []string
	for i := 0; i < len(counts); i += 2 {
		if n := counts[i].(int); n > 0 {
			parts = append(parts, fmt.Sprintf(counts[i+1].(string), n))
		}
	}
	return strings.Join(parts, ", ")
}
