package migrate

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
)

// Each migration says which is the oldest program that may go on beside it, and never takes that back.
func TestMigrate_NamesTheOldestProgramBesideIt(t *testing.T) {
	t.Parallel()
	says := regexp.MustCompile(`INSERT INTO schema_compat \(version, oldest\) VALUES \((\d+), (\d+)\)`)
	for _, e := range engines {
		oldest := 1
		for i, statements := range migrations(t, e) {
			found := says.FindStringSubmatch(strings.Join(statements, "\n"))
			if found == nil || found[1] != strconv.Itoa(i+1) {
				t.Fatalf("%s: migration %d says %q", e, i+1, found)
			}
			names, _ := strconv.Atoi(found[2])
			if names < oldest || names > i+1 {
				t.Errorf("%s: migration %d names program %d, the one before %d", e, i+1, names, oldest)
			}
			oldest = names
		}
	}
}

// programs are commits that the released schemas were made by.
var programs = map[int]string{2: "3a7fbfd"}

// A released program goes on serving a database that a newer one has migrated, beside it, where the migration says so:
// each sees what the other writes. It is built from the history, so only `make proof` does it.
func TestMigrate_OldProgramGoesOnBeside(t *testing.T) {
	if proof.Rounds(0, 1, 1) == 0 {
		return
	}
	row := proof.Row{Name: "a released program beside the newest", Control: "a schema that names a newer program as the oldest"}
	for schema, commit := range programs {
		old := buildOld(t, commit)
		b := before(t, postgresEngine{}, schema+1)
		b.migrate(t)
		complaints := beside(t, b, old)
		for _, c := range append(complaints, b.doctor(t)...) {
			t.Error(c)
			row.Lost++
		}
		b.commit(t, []string{"UPDATE schema_compat SET oldest = 99"})
		out, err := exec.Command(old, append([]string{"migrate"}, b.Flags()...)...).CombinedOutput()
		row.Caught = err != nil && strings.Contains(string(out), "upgrade sheaf")
		row.Figures = append(row.Figures, proof.Figure{Name: fmt.Sprintf("schema %d, rows seen across", schema), Value: 2 * rowsEach})
	}
	row.Report(t)
}

const rowsEach = 20

// beside lets both programs write in turn and asks each for what the other wrote.
func beside(t *testing.T, b *body, old string) (complaints []string) {
	t.Helper()
	former := *b.Program
	former.Binary = old
	servers := []*proctest.Server{b.Start(t, keepAll), former.Start(t, keepAll)}
	for n := range 2 * rowsEach {
		var made struct{ ID string }
		writer, reader := servers[n%2], servers[1-n%2]
		status, err := writer.Call(b.fixture.Key, "POST", "/api/v1/projects", map[string]any{"name": "beside"}, &made)
		if err != nil || status != 201 {
			return append(complaints, fmt.Sprintf("create: %d, %v", status, err))
		}
		if !shows(reader, b.fixture.Key, made.ID) {
			complaints = append(complaints, "project "+made.ID+" is not seen by the other program")
		}
	}
	for _, s := range servers {
		if err := s.Terminate(); err != nil {
			complaints = append(complaints, fmt.Sprintf("the end of a program: %v", err))
		}
	}
	return complaints
}

func shows(s *proctest.Server, key, project string) bool {
	status, err := s.Call(key, "GET", "/api/v1/projects/"+project, nil, nil)
	return err == nil && status == 200
}

// buildOld builds the program as it was at a commit.
func buildOld(t *testing.T, commit string) string {
	t.Helper()
	folder := t.TempDir()
	binary := filepath.Join(folder, "sheaf-old")
	script := fmt.Sprintf("git archive %s | tar -x -C %s && cd %s && go build -o %s ./cmd/sheaf", commit, folder, folder, binary)
	cmd := exec.Command("bash", "-o", "pipefail", "-c", script)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the program of %s, for which the history must be at hand: %v\n%s", commit, err, out)
	}
	return binary
}
