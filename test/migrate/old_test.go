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

// A released program does not serve a database whose migration names a newer one as the oldest that may: it would read
// none of its rows. It is built from the history, so only `make proof` does it.
func TestMigrate_OldProgramRefuses(t *testing.T) {
	if proof.Rounds(0, 1, 1) == 0 {
		return
	}
	row := proof.Row{Name: "a released program beside the newest", Control: "a schema that names it as one that may serve"}
	for schema, commit := range programs {
		old := buildOld(t, commit)
		b := before(t, postgresEngine{}, schema+1)
		b.migrate(t)
		refuses := func() bool {
			out, err := exec.Command(old, append([]string{"migrate"}, b.Flags()...)...).CombinedOutput()
			return err != nil && strings.Contains(string(out), "upgrade sheaf")
		}
		if !refuses() {
			t.Errorf("the program of schema %d takes the newest for its own", schema)
			row.Lost++
		}
		b.commit(t, []string{fmt.Sprintf("UPDATE schema_compat SET oldest = %d", schema)})
		row.Caught = !refuses()
		row.Figures = append(row.Figures, proof.Figure{Name: fmt.Sprintf("schema %d, tries", schema), Value: 2})
	}
	row.Report(t)
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
