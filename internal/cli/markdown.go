package cli

import (
	"errors"
	"fmt"
	"strings"

	"sheaf.dev/client"
	"sheaf.dev/internal/markdown"
)

// patience is how often a request of an import or export is repeated: thousands of them run into
// the rate limit, and each waits for its turn.
const patience = 10

// of says which file an error is about.
func of(path string, err error) error {
	var answered *client.Error
	if errors.As(err, &answered) {
		return fmt.Errorf("%s: %s", path, said(err))
	}
	return fmt.Errorf("%s: %w", path, err)
}

// markdownDocument is what the comparing and the layout need of a document.
func markdownDocument(d client.Document) markdown.Document {
	return markdown.Document{ID: d.ID, ExternalID: or(d.ExternalID, ""), ProjectID: or(d.ProjectID, ""), SHA256: d.ContentSHA256,
		Page: markdown.Page{Title: d.Title, Description: or(d.Description, ""), URL: or(d.URL, ""), Metadata: d.Metadata}}
}

// sentence joins counts for a person, those of 0 left out.
func sentence(counts ...any) string {
	var parts []string
	for i := 0; i < len(counts); i += 2 {
		if n := counts[i].(int); n > 0 {
			parts = append(parts, fmt.Sprintf(counts[i+1].(string), n))
		}
	}
	return strings.Join(parts, ", ")
}
