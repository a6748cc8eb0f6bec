package backup

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	backupfile "sheaf.dev/internal/backup"
	"sheaf.dev/internal/sheaftest/proof"
)

// A file with one flipped bit, with its end cut off or with something appended is refused before
// anything is created. In the long form every bit is flipped.
func TestBackup_DamageIsRefused(t *testing.T) {
	s := newStore(t, "SQLite")
	key := s.Workspace(t, "Acme")
	server := s.Start(t) // which makes the master key
	uploadMedium(t, server, key, "a picture, or what one takes for it")
	if err := server.Terminate(); err != nil {
		t.Fatal(err)
	}
	whole := s.backup(t)
	if !taken(whole) {
		t.Fatal("the whole file is refused")
	}
	d := damage{taken: taken}
	d.flips(whole, proof.Rounds(17, 1, 1))
	d.cuts(whole, proof.Rounds(5, 1, 1))
	d.additions(whole)
	for _, what := range d.accepted {
		t.Error(what)
	}
	programs := programRefuses(t, s, whole, proof.Rounds(4, 120, 500))
	control := damage{taken: gunzips}
	control.flips(whole, 1)
	proof.Row{
		Name: "backups with a flipped bit, cut or added to",
		Figures: []proof.Figure{{Name: "bytes of the file", Value: len(whole)}, {Name: "flips", Value: d.flipped},
			{Name: "cuts", Value: d.cut}, {Name: "additions", Value: d.added}, {Name: "of these by sheaf restore", Value: programs}},
		Lost:    len(d.accepted),
		Control: "a check by gzip alone, whose checksum does not cover its own header", Caught: len(control.accepted) > 0,
	}.Report(t)
}

// backup returns a backup as it is in its file.
func (s *store) backup(t *testing.T, flags ...string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "copy")
	s.Ask(t, append([]string{"backup", file}, flags...)...)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// taken reports whether the check that comes before a restore takes the file.
func taken(file []byte) bool {
	_, err := backupfile.Check(bytes.NewReader(file))
	return err == nil
}

// damage counts what was tried, and names what was taken.
type damage struct {
	taken               func(file []byte) bool
	flipped, cut, added int
	accepted            []string
}

func (d *damage) try(file []byte, what string, args ...any) {
	if d.taken(file) {
		d.accepted = append(d.accepted, "taken: "+fmt.Sprintf(what, args...))
	}
}

// flips tries the file with one bit flipped, for each `every`-th bit.
func (d *damage) flips(whole []byte, every int) {
	for at := 0; at < 8*len(whole); at += every {
		d.flipped++
		d.try(flip(whole, at), "bit %d is flipped", at)
	}
}

func flip(whole []byte, at int) []byte {
	file := bytes.Clone(whole)
	file[at/8] ^= 1 << (at % 8)
	return file
}

// cuts tries the file cut off, at each `every`-th length.
func (d *damage) cuts(whole []byte, every int) {
	for length := 0; length < len(whole); length += every {
		d.cut++
		d.try(whole[:length], "only the first %d bytes", length)
	}
}

func (d *damage) additions(whole []byte) {
	for name, more := range map[string][]byte{"a zero": {0}, "a line": []byte("\n"), "a second copy": whole, "an empty member": member(nil)} {
		d.added++
		d.try(slices.Concat(whole, more), "%s behind it", name)
	}
}

// member is a gzip file of its own.
func member(content []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(content)
	_ = z.Close()
	return b.Bytes()
}

// programRefuses tries some of the damage with the program itself, and returns how much.
func programRefuses(t *testing.T, s *store, whole []byte, tries int) int {
	random := rand.New(rand.NewPCG(1, 2))
	for n := range tries {
		damaged := flip(whole, random.IntN(8*len(whole)))
		if n%4 == 3 {
			damaged = whole[:random.IntN(len(whole))]
		}
		file := filepath.Join(t.TempDir(), "damaged")
		if err := os.WriteFile(file, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		empty := newStore(t, "SQLite")
		empty.takeKey(t, s)
		out, err := empty.Command("restore", file).CombinedOutput()
		if err == nil || strings.Count(string(out), "\n") != 1 {
			t.Errorf("try %d: the program says %v, %s", n, err, out)
		}
		if left, err := os.ReadDir(empty.Data); err != nil || len(left) != 1 { // the key alone
			t.Errorf("try %d: a refused restore left %v, %v", n, left, err)
		}
	}
	return tries
}

// gunzips reports whether gzip alone accepts the file. It is the control: gzip's checksum does not cover its own header,
// so it misses some of the flips.
func gunzips(file []byte) bool {
	z, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, z)
	return err == nil
}
