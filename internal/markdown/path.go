package markdown

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// checkPath returns an error if a path from outside leaves its tree, or if some system would read
// it as another path.
func checkPath(path string) error {
	switch {
	case path == "" || len(path) > MaxPath:
		return fmt.Errorf("a path has %d bytes: 1 to %d are taken", len(path), MaxPath)
	case !utf8.ValidString(path):
		return fmt.Errorf("the name %q is not UTF-8", path)
	case strings.ContainsFunc(path, unicode.IsControl) || strings.ContainsRune(path, '\\'):
		return fmt.Errorf("the name %q has a character that is not taken", path)
	case path[0] == '/' || isDrive(path[:min(len(path), 3)]):
		return fmt.Errorf("the path %q is absolute", path)
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return fmt.Errorf("the path %q leads elsewhere", path)
		}
	}
	return nil
}

// isDrive reports whether `begins` is the start of a path on a Windows drive. A note called "Q:
// why?" is not.
func isDrive(begins string) bool {
	return len(begins) > 1 && isASCIILetter(begins[0]) && begins[1] == ':' && (len(begins) == 2 || begins[2] == '/')
}

func isASCIILetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// hidden reports whether a path is of no interest to readers: .git, .obsidian, .DS_Store, and what
// the archiver of macOS adds.
func hidden(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if segment[0] == '.' || segment == "__MACOSX" {
			return true
		}
	}
	return false
}

// maxSegment is the largest size in bytes of a file or folder name that we create. File systems
// allow 255, and a number and an ending may follow.
const maxSegment = 200

// Segment turns a title or name into the name of a file or folder, without its ending. The name is
// valid on every common file system and not hidden.
func Segment(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || strings.ContainsRune(`<>:"/\|?*`, r) || r == utf8.RuneError {
			return '-'
		}
		return r
	}, norm.NFC.String(name))
	name = strings.TrimFunc(clip(name, maxSegment), unicode.IsSpace)
	name = strings.TrimRight(name, ". ")
	switch {
	case name == "":
		return "untitled"
	case name[0] == '.' || name == "__MACOSX" || reserved(name):
		return "_" + name
	}
	return name
}

// clip cuts s to at most `most` bytes, between two characters.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// reserved reports whether Windows takes the name for a device, whatever its ending.
func reserved(name string) bool {
	name, _, _ = strings.Cut(strings.ToUpper(name), ".")
	switch name {
	case "CON", "PRN", "AUX", "NUL":
		return true
	}
	return len(name) == 4 && (strings.HasPrefix(name, "COM") || strings.HasPrefix(name, "LPT")) && name[3] >= '0' && name[3] <= '9'
}
