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

// pathName is the name in a document's metadata for its path, if the external id only has the
// path's hash.
const pathName = "sheaf.path"

var sourceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// CheckSource returns an error if the name of a source is not valid.
func CheckSource(name string) error {
	if !sourceName.MatchString(name) {
		return fmt.Errorf("--source: %q is no name for a source: take 1 to 64 letters, digits, dots, dashes or underscores", name)
	}
	return nil
}

// ExternalID returns the external id by which every import recognises a file or folder of a source:
// the source and the path, or the path's hash if the path is too long.
func ExternalID(source, path string) string {
	id := source + ":" + path
	if utf8.RuneCountInString(id) <= sheaf.MaxExternalID {
		return id
	}
	sum := sha256.Sum256([]byte(path))
	return source + ":" + hashed + hex.EncodeToString(sum[:])
}

// hashed is the prefix of a path's hash in an external id.
const hashed = "sha256:"

// Root is the path of a source's root folder.
const Root = "."

// Origin returns the source and path of an imported document. The path of a folder ends with a
// slash. Other programs have their own external ids: ok is false unless the external id names a file
// or folder that an import would read.
func Origin(externalID string, metadata map[string]string) (source, path string, ok bool) {
	source, path, _ = strings.Cut(externalID, ":")
	if strings.HasPrefix(path, hashed) {
		path = metadata[pathName]
	}
	ok = sourceName.MatchString(source) && isPage(path) && importable(strings.TrimSuffix(path, "/")) && ExternalID(source, path) == externalID
	return source, path, ok
}

// FolderOrigin returns the path of a folder of files, from the external id of its folder or
// project.
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

// importable reports whether an import would take a path without changing it.
func importable(path string) bool {
	return checkPath(path) == nil && !hidden(path) && norm.NFC.IsNormalString(path)
}

// Of reports whether a document came from this source, so that it may be deleted with its file.
// `folders` says whether that includes documents of folders without a file.
func Of(source, externalID string, folders bool) bool {
	path, ok := strings.CutPrefix(externalID, source+":")
	return ok && (IsMarkdown(path) || strings.HasPrefix(path, hashed) || folders && isFolder(path))
}
