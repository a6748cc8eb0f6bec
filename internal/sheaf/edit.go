package sheaf

import "strings"

// MaxEdits is the largest number of passages that one change may replace.
const MaxEdits = 50

// Edit replaces a passage of a text. A client that sends edits need not send the rest of the text,
// and does not overwrite what others wrote elsewhere in it.
type Edit struct {
	Old string // the passage, exactly as in the text
	New string // its replacement
	All bool   // replace every occurrence of Old; otherwise it must occur once
	End bool   // append New at the end, on its own line; Old is ignored
}

// CheckEdits returns Invalid for the first edit that is wrong for any text.
func CheckEdits(edits []Edit) error {
	if len(edits) > MaxEdits {
		return InvalidField("edits", "edits has %d entries, at most %d are allowed: send them in several requests", len(edits), MaxEdits)
	}
	for i, e := range edits {
		switch {
		case e.End:
		case e.Old == "":
			return InvalidField("edits", "edits[%d].old must not be empty: give the passage to replace", i)
		case e.Old == e.New:
			return InvalidField("edits", "edits[%d].new is the same as old: leave the entry out, or give a different text", i)
		}
	}
	return nil
}

// ApplyEdits returns the text with the passages replaced, one after the other, so an edit may refer
// to what the previous one wrote. A passage that does not occur, or occurs several times, is a
// CONFLICT. A text that becomes too long is Invalid.
func ApplyEdits(text string, edits []Edit) (string, error) {
	for i, e := range edits {
		if e.End {
			if text != "" && !strings.HasSuffix(text, "\n") {
				text += "\n"
			}
			text += e.New
			continue
		}
		n := strings.Count(text, e.Old)
		switch {
		case n == 0:
			return "", Conflictf("edits[%d].old is not in the text: %s", i, whyNotThere(text, e.Old)).At("edits")
		case n > 1 && !e.All:
			return "", Conflictf("edits[%d].old occurs %d times in the text: include more of the surrounding text so that it occurs once, or send all: true", i, n).At("edits")
		}
		if grown := len(text) + n*(len(e.New)-len(e.Old)); grown > MaxContent {
			return "", InvalidField("edits", "edits[%d] makes a text of %d bytes, at most %d (1 MiB) are allowed: split it into several documents", i, grown, MaxContent)
		}
		text = strings.ReplaceAll(text, e.Old, e.New)
	}
	return text, CheckContent("content", text)
}

// whyNotThere returns what to do about a passage that the text does not contain.
func whyNotThere(text, old string) string {
	unix := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
	if strings.Contains(unix(text), unix(old)) {
		return `its line breaks differ: use those of the text, \r\n or \n`
	}
	return "it may have been changed, or a character differs; read that part again and copy the passage exactly"
}
