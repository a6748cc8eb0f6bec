package sheaf

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits of a search and of its results.
const (
	MaxWords   = 10
	MaxSnippet = 240 // code points
)

// SearchType is a kind of record that search finds.
type SearchType string

// The kinds that search finds.
const (
	SearchProject  SearchType = "project"
	SearchFolder   SearchType = "folder"
	SearchDocument SearchType = "document"
)

// SearchTypes are all kinds, in the order in which they are listed.
var SearchTypes = []SearchType{SearchProject, SearchFolder, SearchDocument}

// Scope returns the scope that a key needs to get hits of the kind.
func (t SearchType) Scope() Scope {
	if t == SearchDocument {
		return DocumentsRead
	}
	return ProjectsRead
}

// ParseSearchTypes reads kinds separated by commas, each once.
func ParseSearchTypes(list string) (types []SearchType, err error) {
	for name := range strings.SplitSeq(list, ",") {
		t := SearchType(name)
		switch {
		case !slices.Contains(SearchTypes, t):
			return nil, InvalidField("type", "type must be one or more of project, folder and document, separated by commas, not %q", Clip(name))
		case !slices.Contains(types, t):
			types = append(types, t)
		}
	}
	return types, nil
}

// SearchQuery is the request of a search.
type SearchQuery struct {
	Text    string       // words that must all occur: see Words
	Types   []SearchType // none: all
	Project *ProjectID   // nil: anywhere; else only in that project
	Folder  *FolderID    // nil: anywhere; else only in that folder and the folders below it
	// MustExist makes a Project or Folder that does not exist NotFound. Otherwise it selects
	// nothing.
	MustExist bool
	// Reading makes snippets of documents plain text, as a person reads it, without the marks of
	// Markdown, and sets Unread. It changes neither the hits nor their total.
	Reading bool
	Paging  // Desc is ignored
}

// Words returns the words of the query, each once. White space separates words, and text between
// two quotation marks is one word. A quotation mark without a second one extends to the end. Words
// returns Invalid for a text that is empty or too long, and for no words or too many.
func (q SearchQuery) Words() ([]string, error) {
	if n := utf8.RuneCountInString(q.Text); n < 1 || n > MaxQuery {
		return nil, InvalidField("q", "q must have 1 to %d characters, not %d", MaxQuery, n)
	}
	var words []string
	for i, part := range strings.Split(q.Text, `"`) {
		found := strings.FieldsFunc(part, SeparatesWords)
		if quoted := i%2 == 1; quoted && len(found) > 0 {
			found = []string{strings.Join(found, " ")}
		}
		for _, w := range found {
			if !slices.Contains(words, w) {
				words = append(words, w)
			}
		}
	}
	switch {
	case len(words) == 0:
		return nil, InvalidField("q", "q must have at least one word")
	case len(words) > MaxWords:
		return nil, InvalidField("q", "q has %d words, at most %d are allowed: leave some out, or put words that belong together in quotation marks", len(words), MaxWords)
	}
	return words, nil
}

// SeparatesWords reports whether search treats a character as white space. Invisible control
// characters count as white space.
func SeparatesWords(r rune) bool { return unicode.IsSpace(r) || r < ' ' || r == 0x7F }

// Hit is a record that a search found.
type Hit struct {
	Type SearchType
	ID   string
	// Title is the title of a document, the name of a project or a folder.
	Title string
	// Snippet is a piece of the description or the content: plain text of at most MaxSnippet
	// characters. Ranges are the [start, length] of the words in it, in code points.
	Snippet string
	Ranges  [][2]int
	// ProjectID and FolderID say where it is: a document in its project and that project's folder,
	// a project in its folder, a folder in its parent.
	ProjectID *ProjectID
	FolderID  *FolderID
	// Path has the titles of the documents above a document, the one at the top level first.
	Path      []string
	UpdatedAt time.Time
	// Unread means that some word is only in a part of the document that no reader sees, such as the
	// address of a link or a comment. It is set only if the query has Reading, and not in the API.
	Unread bool
}

// Fields appends the hit as the API shows it.
func (h *Hit) Fields(o *Object) {
	o.Text("type", string(h.Type))
	o.Text("id", h.ID)
	o.Text("title", h.Title)
	o.Text("snippet", h.Snippet)
	o.Raw("ranges", appendRanges(nil, h.Ranges))
	o.OptText("project_id", (*string)(h.ProjectID))
	o.OptText("folder_id", (*string)(h.FolderID))
	o.Texts("path", h.Path)
	o.Time("updated_at", h.UpdatedAt)
}

// appendRanges appends the ranges as a JSON array of arrays.
func appendRanges(b []byte, ranges [][2]int) []byte {
	b = append(b, '[')
	for i, r := range ranges {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		b = strconv.AppendInt(b, int64(r[0]), 10)
		b = append(b, ',')
		b = strconv.AppendInt(b, int64(r[1]), 10)
		b = append(b, ']')
	}
	return append(b, ']')
}
