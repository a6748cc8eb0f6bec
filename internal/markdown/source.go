package markdown

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"sheaf.dev/internal/sheaf"
)

// pathName is the name in a document's metadata under which its path stands when the external id
// has only the path's hash.
const pathName = "sheaf.path"

var sourceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// CheckSource returns what is wrong with the name of a source.
func CheckSource(name string) error {
	if !sourceName.MatchString(name) {
		return fmt.Errorf("--source: %q is no name for a source: take 1 to 64 letters, digits, dots, dashes or underscores", name)
	}
	return nil
}

// ExternalID is by what a file or folder of a source is known again, at every import: the source
// and the path, or what stands for a path that is too long.
func ExternalID(source, path string) string {
	id := source + ":" + path
	if utf8.RuneCountInString(id) <= sheaf.MaxExternalID {
		return id
	}
	sum := sha256.Sum256([]byte(path))
	return source + ":" + hashed + hex.EncodeToString(sum[:])
}

// hashed begins what stands for a long path.
const hashed = "sha256:"

// Root is the path of a source's root folder.
const Root = "."

// Origin is the source and path of a document that was imported. Other programs give external ids
// of their own: what is not the path of a file that an import would read is none.
func Origin(externalID string, metadata map[string]string) (source, path string, ok bool) {
	source, path, _ = strings.Cut(externalID, ":")
	if strings.HasPrefix(path, hashed) {
		path = metadata[pathName]
	}
	ok = sourceName.MatchString(source) && IsMarkdown(path) && importable(path) && ExternalID(source, path) == externalID
	return source, path, ok
}

// FolderOrigin is the path of a folder of files, from the external id of what was made of it.
func FolderOrigin(externalID string) (path string, ok bool) {
	source, path, _ := strings.Cut(externalID, ":")
	if !sourceName.MatchString(source) || strings.HasPrefix(path, hashed) {
		return "", false
	}
	if path == Root {
		return "", true
	}
	return path, importable(path)
}

// importable reports whether an import would take a path as it is.
func importable(path string) bool {
	return checkPath(path) == nil && !hidden(path) && norm.NFC.IsNormalString(path)
}

// Of reports whether a document came from a source, so that it may be removed with its file.
func Of(source, externalID string) bool {
	path, ok := strings.CutPrefix(externalID, source+":")
	return ok && (IsMarkdown(path) || strings.HasPrefix(path, hashed))
}
