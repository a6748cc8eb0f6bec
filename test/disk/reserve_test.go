package disk

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/plant"
	"sheaf.dev/internal/sheaftest/proctest"
)

const (
	megabyte = 1 << 20
	// reserve is the reserve of a disk of 160 MB: a tenth.
	reserve = 16 * megabyte
)

// D19: sheaf import uses nothing of the reserve. Below it, nothing is written. If the disk becomes tight during the import, it
// stops, and continues at that line when there is room again.
func TestReserve_AnImportLeavesIt(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	mountDisk(t, path, 10*reserve/megabyte)
	p := newProgram(t, filepath.Join(path, "data"), plant.None)
	into := p.Ask(t, "workspace", "create", "--name", "into", "--plan", "business")["id"].(string)
	const documents, mediumBytes = 40, 8 * megabyte
	file := archiveOf(t, documents, mediumBytes)
	imports := func(args ...string) (string, error) {
		out, err := p.Command(append([]string{"import", "--workspace", into, file}, args...)...).CombinedOutput()
		return string(out), err
	}
	refused := func(free int64, words ...string) (out string) {
		t.Helper()
		out, err := imports()
		for _, w := range append(words, "nearly full", "--disk-reserve") {
			if !strings.Contains(out, w) || err == nil {
				t.Fatalf("an import with %d bytes free: %v %s, want %q", free, err, out, w)
			}
		}
		return out
	}

	leaveFree(t, path, reserve-megabyte)
	before := freeBytes(t, path)
	refused(before, "nothing was imported")
	if _, err := os.Stat(filepath.Join(p.Data, "master.key")); !os.IsNotExist(err) {
		t.Errorf("a refused import made a master key: %v", err)
	}
	if out, err := imports("--dry-run"); err != nil {
		t.Errorf("a rehearsal, which writes nothing: %v %s", err, out)
	}

	// There is room for some of the documents.
	leaveFree(t, path, reserve+20*megabyte)
	out := refused(reserve+20*megabyte, "lines up to", "continue with --from-line")
	if free := freeBytes(t, path); free < reserve-2*megabyte { // what the log has grown by
		t.Errorf("an import left %d bytes of a reserve of %d", free, reserve)
	}
	_, line, _ := strings.Cut(out, "--from-line ")
	line = strings.TrimSpace(line)
	if n, err := strconv.Atoi(line); err != nil || n < 3 || n > documents {
		t.Fatalf("it stopped before line %q: %s", line, out)
	}

	// The documents and their log fit, the file does not.
	leaveFree(t, path, reserve+90*megabyte)
	if out, err := imports("--from-line", line); err != nil {
		t.Fatalf("the rest with room again: %v %s", err, out)
	}
	leaveFree(t, path, reserve+mediumBytes/2)
	mediaBefore := freeBytes(t, path)
	other := p.Ask(t, "workspace", "create", "--name", "other", "--plan", "business")["id"].(string)
	onlyMedium := archiveOf(t, 0, mediumBytes)
	got, err := p.Command("import", "--workspace", other, onlyMedium).CombinedOutput()
	if err == nil || !strings.Contains(string(got), "nearly full") {
		t.Errorf("a file larger than the room before the reserve: %v %s", err, got)
	}
	if free := freeBytes(t, path); free < mediaBefore-megabyte {
		t.Errorf("the refused file took %d bytes", mediaBefore-free)
	}
	violations, err := sheaftest.DoctorWith(p.Env, p.Binary, p.Flags()...)
	if err != nil || len(violations) > 0 {
		t.Errorf("doctor: %v, %v", violations, err)
	}
}

// archiveOf writes an export with documents of a megabyte, a medium and a subscription.
func archiveOf(t *testing.T, documents, mediumBytes int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "import.ndjson")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(f, `{"kind":"sheaf_export","form":1}`)
	id := func(n int) string {
		return fmt.Sprintf("0198c0de-0000-7000-8000-%08x%04x", rand.Uint32(), n)
	}
	for i := range documents {
		fmt.Fprintf(f, `{"kind":"document","id":%q,"title":"Page %d","content":%q}`+"\n", id(i), i, base64.StdEncoding.EncodeToString(random(megabyte*3/4)))
	}
	content := random(mediumBytes)
	fmt.Fprintf(f, `{"kind":"medium","id":%q,"filename":"a.bin","document_id":null,"bytes":%d,"sha256":"%x"}`+"\n", id(documents), mediumBytes, sha256.Sum256(content))
	lines := 0
	for ; len(content) > 0; lines++ {
		n := min(len(content), megabyte/2)
		fmt.Fprintf(f, `{"kind":"bytes","base64":%q}`+"\n", base64.StdEncoding.EncodeToString(content[:n]))
		content = content[n:]
	}
	fmt.Fprintf(f, `{"kind":"subscription","id":%q,"name":"hook","url":"https://example.com/","events":["project.created"],"header_names":[]}`+"\n", id(documents+1))
	fmt.Fprintf(f, `{"kind":"end","records":%d}`+"\n", documents+2+lines)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// D19: a server whose disk is tight takes nothing into its index of search, and catches up when there is room.
func TestReserve_SearchPauses(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	mountDisk(t, path, 64)
	p := newProgram(t, filepath.Join(path, "data"), plant.None)
	s := &server{Server: p.StartWithMetrics(t), key: p.key}
	metric := func(name string) float64 {
		t.Helper()
		f, err := proctest.Figures(client, s.Metrics)
		if err != nil {
			t.Fatal(err)
		}
		return f[name]
	}
	s.do(t, http.MethodPost, "/api/v1/projects", map[string]any{"name": "before"})
	sheaftest.Eventually(t, "the index has the project", func() bool { return metric("sheaf_search_lag_seconds") == 0 })
	leaveFree(t, path, 64*megabyte/10-megabyte)
	sheaftest.Eventually(t, "the disk is tight", func() bool { return metric("sheaf_disk_level") == 1 })
	s.do(t, http.MethodPost, "/api/v1/projects", map[string]any{"name": "meanwhile"})
	sheaftest.Eventually(t, "the index lags", func() bool { return metric("sheaf_search_lag_seconds") > 5 })
	if _, answer := s.call(t, http.MethodGet, "/api/v1/search?q=meanwhile", nil); !strings.Contains(string(answer), `"total":1`) {
		t.Errorf("a search beside a paused index: %s", answer)
	}
	if err := os.Remove(filepath.Join(path, "other")); err != nil {
		t.Fatal(err)
	}
	sheaftest.Eventually(t, "the index has caught up", func() bool { return metric("sheaf_search_lag_seconds") == 0 })
	s.terminate(t)
}
