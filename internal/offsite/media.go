package offsite

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"

	"sheaf.dev/internal/media"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// sender sends the media of one backup. Those of a workspace come after each other, so it knows what the bucket has of
// one workspace at a time. It is for one goroutine.
type sender struct {
	b        *Bucket
	overhead int64 // bytes of an encrypted empty text, without the tag of its one chunk
	count    int64 // media that were sent

	workspace string              // whose media come now; empty before the first
	there     map[string]int64    // sizes of the workspace's objects, by their names, that no medium has needed yet
	marks     map[string][]string // marks of the workspace, by hash
	seen      map[string]bool     // workspaces that have media
	needed    *names              // the objects of all media, with their sizes
	unneeded  *names              // what has to be marked
	small     bytes.Buffer        // an encrypted medium that is small
}

const (
	// smallMedium is the size up to which a medium is encrypted in memory.
	smallMedium = 1 << 20
	// ageChunk and ageTag are the sizes of age's chunks, and of what authenticates each.
	ageChunk = 64 << 10
	ageTag   = 16
)

func (b *Bucket) newSender(ctx context.Context) (*sender, error) {
	s := &sender{b: b, seen: map[string]bool{}}
	w, err := age.Encrypt(&s.small, b.recipients...)
	if err == nil {
		err = w.Close()
	}
	s.overhead = int64(s.small.Len()) - ageTag
	if err == nil {
		s.needed, err = b.newNames()
	}
	if err == nil {
		s.unneeded, err = b.newNames()
	}
	if err == nil { // these recipients are in use again
		err = s.unmark(ctx, goneFolder+b.group+"/"+everything+"/")
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *sender) close() {
	s.needed.close()
	s.unneeded.close()
}

// encryptedSize returns the size of an encrypted text of n bytes.
func (s *sender) encryptedSize(n int64) int64 {
	return s.overhead + n + ageTag*max(1, (n+ageChunk-1)/ageChunk)
}

func (b *Bucket) mediumName(m store.MediumBytes) string { return mediumIn(b.group, m) }

func mediumIn(group string, m store.MediumBytes) string {
	return mediaFolder + group + "/" + string(m.Workspace) + "/" + hex.EncodeToString(m.SHA256[:]) + ".age"
}

// send sends a medium unless the bucket has it.
func (s *sender) send(ctx context.Context, m store.MediumBytes, content io.Reader) error {
	if string(m.Workspace) != s.workspace {
		if err := s.enter(ctx, string(m.Workspace)); err != nil {
			return err
		}
	}
	name, hash, size := s.b.mediumName(m), hex.EncodeToString(m.SHA256[:]), s.encryptedSize(m.Size)
	for _, mark := range s.marks[hash] { // it is needed again
		if err := s.b.Objects.Remove(ctx, mark); err != nil {
			return err
		}
	}
	if s.there[name] != size {
		if err := s.put(ctx, name, m.Size, size, content); err != nil {
			return err
		}
		s.count++
	}
	delete(s.there, name)
	return s.needed.add(fmt.Sprintf("%s %d", name, size))
}

// put encrypts the bytes into a file, so that their hash is known before they are sent, and the bucket refuses others.
func (s *sender) put(ctx context.Context, name string, plain, size int64, content io.Reader) error {
	hash := sha256.New()
	var body io.ReadSeeker
	var out io.Writer = &s.small
	s.small.Reset()
	if plain > smallMedium {
		spool, err := s.b.newSpool()
		if err != nil {
			return err
		}
		defer spool.Close()
		body, out = spool, spool
	}
	w, err := age.Encrypt(io.MultiWriter(out, hash), s.b.recipients...)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, content); err != nil {
		return err // also that the bytes are missing or others, which the caller knows
	}
	if err := w.Close(); err != nil {
		return err
	}
	if body == nil {
		body = bytes.NewReader(s.small.Bytes())
	}
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return s.b.Objects.Put(ctx, name, size, hex.EncodeToString(hash.Sum(nil)), body)
}

// enter ends the workspace before, and reads what the bucket has of this one.
func (s *sender) enter(ctx context.Context, workspace string) error {
	if err := s.leave(); err != nil {
		return err
	}
	s.workspace, s.seen[workspace] = workspace, true
	s.there, s.marks = map[string]int64{}, map[string][]string{}
	err := s.b.Objects.List(ctx, mediaFolder+s.b.group+"/"+workspace+"/", func(o media.Object) error {
		s.there[o.Name] = o.Size
		return nil
	})
	if err != nil {
		return err
	}
	folder := goneFolder + s.b.group + "/" + workspace + "/"
	if err := s.unmark(ctx, folder+everything+"/"); err != nil {
		return err
	}
	return s.b.Objects.List(ctx, folder, func(o media.Object) error {
		hash, _, _ := strings.Cut(strings.TrimPrefix(o.Name, folder), "/")
		s.marks[hash] = append(s.marks[hash], o.Name)
		return nil
	})
}

// leave notes the objects of the workspace that no medium needs, unless they are marked.
func (s *sender) leave() error {
	for name := range s.there {
		hash := strings.TrimSuffix(name[strings.LastIndex(name, "/")+1:], ".age")
		if len(s.marks[hash]) > 0 {
			continue
		}
		if err := s.unneeded.add(goneFolder + s.b.group + "/" + s.workspace + "/" + hash); err != nil {
			return err
		}
	}
	return nil
}

// unmark removes the marks below a folder.
func (s *sender) unmark(ctx context.Context, folder string) error {
	return s.b.Objects.List(ctx, folder, func(o media.Object) error { return s.b.Objects.Remove(ctx, o.Name) })
}

// finish returns an error unless the bucket has every medium in its size, also if another process has tidied meanwhile.
// It notes workspaces and recipients that no medium needs.
func (s *sender) finish(ctx context.Context) error {
	if err := s.leave(); err != nil {
		return err
	}
	s.there = nil
	workspace, has := "", map[string]int64{}
	err := s.needed.each(func(line string) error {
		var name string
		var size int64
		if _, err := fmt.Sscanf(line, "%s %d", &name, &size); err != nil {
			return err
		}
		if folder := name[:strings.LastIndex(name, "/")+1]; folder != workspace {
			workspace = folder
			clear(has)
			if err := s.b.Objects.List(ctx, folder, func(o media.Object) error {
				has[o.Name] = o.Size
				return nil
			}); err != nil {
				return err
			}
		}
		if got, found := has[name]; !found || got != size {
			return &DamagedError{Object: name, Fault: "was stored, and is missing or has another size now"}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.noteOthers(ctx)
}

// noteOthers notes the workspaces that have no media any more, and the recipients that are not in use.
func (s *sender) noteOthers(ctx context.Context) error {
	note := func(folder string, used func(string) bool) error {
		return s.b.Objects.Folders(ctx, mediaFolder+folder, func(name string) error {
			if used(name) {
				return nil
			}
			mark := goneFolder + folder + name + "/" + everything
			marked := false
			err := s.b.Objects.List(ctx, mark+"/", func(media.Object) error {
				marked = true
				return nil
			})
			if err != nil || marked {
				return err
			}
			return s.unneeded.add(mark)
		})
	}
	return errors.Join(note("", func(group string) bool { return group == s.b.group }),
		note(s.b.group+"/", func(ws string) bool { return s.seen[ws] }))
}

// mark marks what no medium needs, from this backup on.
func (s *sender) mark(ctx context.Context, stamp string) error {
	nothing := sha256.Sum256(nil)
	return s.unneeded.each(func(mark string) error {
		return s.b.Objects.Put(ctx, mark+"/"+stamp, 0, hex.EncodeToString(nothing[:]), bytes.NewReader(nil))
	})
}

// names is a list of lines in a temporary file: there may be millions.
type names struct {
	file *os.File
	w    *bufio.Writer
}

func (b *Bucket) newNames() (*names, error) {
	f, err := b.newSpool()
	if err != nil {
		return nil, err
	}
	return &names{f, bufio.NewWriter(f)}, nil
}

func (n *names) add(line string) error {
	_, err := n.w.WriteString(line + "\n")
	return err
}

// each calls fn with every line.
func (n *names) each(fn func(line string) error) error {
	if err := n.w.Flush(); err != nil {
		return err
	}
	if _, err := n.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	lines := bufio.NewScanner(n.file)
	for lines.Scan() {
		if err := fn(lines.Text()); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (n *names) close() {
	if n != nil {
		n.file.Close()
	}
}

// isWorkspace reports whether a name in the bucket is that of a workspace.
func isWorkspace(name string) bool {
	_, ok := sheaf.ParseUUID(name)
	return ok
}
