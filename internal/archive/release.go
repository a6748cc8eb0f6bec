package archive

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// The line of a release is followed by a line for each of its documents, parents first, by a line for each of
// its media, and by the line of its end. A text is in the line of the first document that has it; later
// documents have its hash. So a text that a hundred releases have is in the file once. In the same way the
// bytes of a medium follow only if no earlier medium has them.

func releaseFields(r *sheaf.Release) sheaf.RecordFunc {
	return func(o *sheaf.Object) {
		o.Text("id", string(r.ID))
		o.Text("project_id", string(r.ProjectID))
		o.Text("name", r.Name)
		o.OptText("notes", r.Notes)
		o.Int("documents", r.Documents)
		o.Text("user_id", string(r.User))
		o.OptText("key_id", (*string)(r.Key))
		o.Time("created_at", r.CreatedAt)
	}
}

func releasedFields(of sheaf.ReleaseID, d *sheaf.DocumentText, withText bool) sheaf.RecordFunc {
	return func(o *sheaf.Object) {
		o.Text("release_id", string(of))
		o.Text("id", string(d.ID))
		o.Text("title", d.Title)
		o.OptText("description", d.Description)
		o.OptText("parent_id", (*string)(d.ParentID))
		o.Int("sort_order", d.SortOrder)
		o.Int("number", d.Number)
		o.OptText("external_id", d.ExternalID)
		o.OptText("url", d.URL)
		o.Metadata("metadata", d.Metadata)
		o.Int("version", d.Version)
		if withText {
			o.Text("content", d.Content)
		} else {
			o.Text("content_sha256", d.ContentSHA256)
		}
		o.Time("created_at", d.CreatedAt)
		o.Time("updated_at", d.UpdatedAt)
	}
}

// releasedMediumFields are the fields of a medium of a release. If withBytes is set, lines with its bytes
// follow.
func releasedMediumFields(of sheaf.ReleaseID, m *sheaf.Medium, withBytes bool) sheaf.RecordFunc {
	return func(o *sheaf.Object) {
		o.Text("release_id", string(of))
		o.Text("id", string(m.ID))
		o.Text("filename", m.Filename)
		o.Int("bytes", m.Bytes)
		o.Text("sha256", m.SHA256)
		o.Bool("with_bytes", withBytes)
		o.Time("created_at", m.CreatedAt)
	}
}

func releaseEndFields(of sheaf.ReleaseID) sheaf.RecordFunc {
	return func(o *sheaf.Object) { o.Text("release_id", string(of)) }
}

func readRelease(f *strict.Fields) *app.ImportRelease {
	required(f, "project_id")
	required(f, "user_id")
	documents := f.Int("documents", 0, sheaf.MaxTree)
	if !documents.Given() {
		f.Refuse(errors.New("documents is required: give the number of the documents that follow"))
	}
	return &app.ImportRelease{ProjectID: referenceTo[sheaf.ProjectID](f, "project_id").Value, Name: required(f, "name"), Notes: f.Text("notes").Pointer(),
		Documents: documents.Value, User: referenceTo[sheaf.UserID](f, "user_id").Value, Key: referenceTo[sheaf.KeyID](f, "key_id").Pointer()}
}

// partOfRelease begins the record of a part of a release.
func partOfRelease(f *strict.Fields) app.ImportRecord {
	required(f, "release_id")
	return app.ImportRecord{ID: referenceTo[string](f, "release_id").Value, CreatedAt: f.Time("created_at").Pointer(), UpdatedAt: f.Time("updated_at").Pointer()}
}

func readReleased(f *strict.Fields) app.ImportRecord {
	r := partOfRelease(f)
	required(f, "id")
	number, version := f.Int("number", 0, sheaf.MaxNumber), f.Int("version", 1, sheaf.MaxNumber)
	content, hash := f.Text("content"), f.Text("content_sha256")
	if !number.Given() {
		f.Refuse(errors.New("number is required: among documents with the same sort_order it decides on the order"))
	}
	if content.Given() == hash.Given() {
		f.Refuse(errors.New("content or content_sha256 is required: give one of them"))
	}
	r.Released = &app.ImportReleased{ID: referenceTo[sheaf.DocumentID](f, "id").Value, Number: number.Value, Version: max(version.Value, 1), SHA256: hash.Value,
		DocumentChange: sheaf.DocumentChange{Title: f.Text("title"), Description: f.Text("description"), Content: content,
			ParentID: referenceTo[sheaf.DocumentID](f, "parent_id"), SortOrder: f.Int("sort_order", -sheaf.MaxNumber, sheaf.MaxNumber),
			ExternalID: f.Text("external_id"), URL: f.Text("url"), Metadata: metadata(f)}}
	return r
}

func readReleasedMedium(f *strict.Fields) app.ImportRecord {
	r := partOfRelease(f)
	required(f, "id")
	r.ReleasedMedium = &app.ImportReleasedMedium{ID: referenceTo[sheaf.MediumID](f, "id").Value, ImportMedium: *readMedium(f), WithBytes: f.Bool("with_bytes").Value}
	return r
}

func readReleaseEnd(f *strict.Fields) app.ImportRecord {
	r := partOfRelease(f)
	r.ReleaseEnd = true
	return r
}

// block checks that a release is followed by its documents, its media and its end, and that every text and all
// bytes that it has are on its lines or on earlier ones.
type block struct {
	id     string // of the release; empty: none is under way
	first  int    // its line
	left   int64  // documents that must follow
	levels map[sheaf.DocumentID]int
	media  map[sheaf.MediumID]bool
	texts  map[[32]byte]bool // of all documents of releases so far
	bytes  map[string]bool   // hashes of all media so far
}

func newBlock() *block { return &block{texts: map[[32]byte]bool{}, bytes: map[string]bool{}} }

// ofRelease returns the release that the line is a part of.
func ofRelease(l *line) (id string, part bool) {
	r := &l.record
	return r.ID, r.Released != nil || r.ReleasedMedium != nil || r.ReleaseEnd
}

func (b *block) line(number int, l *line) error {
	if l.kind == kindBytes {
		return nil
	}
	id, part := ofRelease(l)
	if part && (b.id == "" || id != b.id) {
		return fmt.Errorf("is a part of release %s, which does not belong here: documents, media and the end of a release follow the release's own line", id)
	}
	r := &l.record
	switch {
	case !part && b.id != "":
		return fmt.Errorf("is where more of the release on line %d, or its end, should be: lines were lost, export it again", b.first)
	case r.Release != nil:
		b.id, b.first, b.left = r.ID, number, r.Release.Documents
		b.levels, b.media = map[sheaf.DocumentID]int{}, map[sheaf.MediumID]bool{}
	case r.Medium != nil:
		b.bytes[strings.ToLower(r.Medium.SHA256)] = true
	case r.Released != nil:
		return b.document(r.Released)
	case r.ReleasedMedium != nil:
		return b.medium(r.ReleasedMedium)
	case r.ReleaseEnd && b.left != 0:
		return fmt.Errorf("ends the release on line %d, which lacks %d of its documents: lines were lost, export it again", b.first, b.left)
	case r.ReleaseEnd:
		b.id = ""
	}
	return nil
}

func (b *block) document(d *app.ImportReleased) error {
	level := 1
	if d.ParentID.Given() {
		level = b.levels[d.ParentID.Value] + 1
	}
	switch {
	case b.left == 0:
		return fmt.Errorf("is one document more than the release on line %d has: correct its documents", b.first)
	case b.levels[d.ID] > 0:
		return fmt.Errorf("is a second line of document %s in the release on line %d: leave one out", d.ID, b.first)
	case d.ParentID.Given() && level == 1:
		return fmt.Errorf("parent_id: the release on line %d has no document %s on an earlier line: put its line before this one", b.first, d.ParentID.Value)
	case level > sheaf.MaxLevels:
		return fmt.Errorf("parent_id: document %s is on level %d, below which there can be none: correct it", d.ParentID.Value, sheaf.MaxLevels)
	}
	b.left--
	b.levels[d.ID] = level
	if d.SHA256 == "" {
		b.texts[hashOf(d.Content.Value)] = true
		return nil
	}
	if sum, ok := parseHash(d.SHA256); !ok || !b.texts[sum] {
		return errors.New("content_sha256: no document of a release on an earlier line has this text: give the text as content")
	}
	return nil
}

func (b *block) medium(m *app.ImportReleasedMedium) error {
	hash := strings.ToLower(m.SHA256)
	switch {
	case b.media[m.ID]:
		return fmt.Errorf("is a second line of medium %s in the release on line %d: leave one out", m.ID, b.first)
	case !m.WithBytes && !b.bytes[hash]:
		return errors.New("sha256: no medium on an earlier line has these bytes: set with_bytes, and let them follow")
	}
	b.media[m.ID], b.bytes[hash] = true, true
	return nil
}

// hashOf returns the SHA-256 of a text.
func hashOf(text string) [32]byte { return sha256.Sum256([]byte(text)) }

// parseHash reads a SHA-256 in hexadecimal digits.
func parseHash(s string) (sum [32]byte, ok bool) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(sum) {
		return sum, false
	}
	return [32]byte(b), true
}

// spool keeps the lines of releases while the snapshot is open, and a list of their media. Their bytes are read
// afterwards.
type spool struct {
	lines, listed *os.File
	out           *bufio.Writer
	media         *gob.Encoder
}

func newSpool() (*spool, error) {
	lines, err := unnamed()
	if err != nil {
		return nil, err
	}
	listed, err := unnamed()
	if err != nil {
		return nil, errors.Join(err, lines.Close())
	}
	return &spool{lines, listed, bufio.NewWriter(lines), gob.NewEncoder(listed)}, nil
}

func (s *spool) close() { _, _ = s.lines.Close(), s.listed.Close() }

// listedMedium is a medium of a release in the list. Its line marks its place among the lines.
type listedMedium struct {
	Release sheaf.ReleaseID
	Medium  sheaf.Medium
}

// mediumMark stands for the line of a medium of a release.
const mediumMark = "-\n"

// release writes a record of a release.
func (w *writer) release(to *spool, e app.Exported, withMedia bool) error {
	if e.ReleasedMedium == nil {
		return w.record(to.out, e)
	}
	if !withMedia {
		return nil
	}
	_, err := to.out.WriteString(mediumMark)
	return errors.Join(err, to.media.Encode(listedMedium{e.ReleaseOf, *e.ReleasedMedium}))
}

// releases writes the lines of the releases, and the bytes of media that no earlier line has.
func (w *writer) releases(ctx context.Context, op app.Operator, id sheaf.WorkspaceID, from *spool) error {
	if err := from.out.Flush(); err != nil {
		return err
	}
	return rewound(from.listed, func(listed io.Reader) error {
		media := gob.NewDecoder(listed)
		return rewound(from.lines, func(in io.Reader) error {
			lines := bufio.NewReaderSize(in, MaxLine)
			for {
				line, err := lines.ReadSlice('\n')
				switch {
				case errors.Is(err, io.EOF):
					return nil
				case err != nil:
					return err
				case !bytes.Equal(line, []byte(mediumMark)):
					_, err = w.out.Write(line)
				default:
					var m listedMedium
					if err = media.Decode(&m); err == nil {
						err = w.releasedMedium(ctx, op, id, m)
					}
				}
				if err != nil {
					return err
				}
			}
		})
	})
}

// releasedMedium writes a medium of a release, with its bytes if no earlier line has them. It leaves the medium
// out if its bytes were removed with the release meanwhile.
func (w *writer) releasedMedium(ctx context.Context, op app.Operator, id sheaf.WorkspaceID, m listedMedium) error {
	write := func(withBytes bool) error {
		w.pieces++
		return w.write(w.out, kindReleaseMedium, releasedMediumFields(m.Release, &m.Medium, withBytes))
	}
	if w.written[m.Medium.SHA256] {
		return write(false)
	}
	content, err := op.ExportedBytes(ctx, id, m.Medium)
	if err != nil || content == nil {
		return err
	}
	defer content.Close()
	if err := write(true); err != nil {
		return err
	}
	return w.bytes(ctx, m.Medium, content)
}
