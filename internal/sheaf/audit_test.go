package sheaf_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// D200: docs/audit.md has every action with its text.
func TestAuditActions_AreInTheDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/audit.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range slices.Concat(sheaf.WorkspaceActions, sheaf.InstanceActions) {
		if row := fmt.Sprintf("| `%s` | %s |\n", a.Action, a.Text); !strings.Contains(string(page), row) {
			t.Errorf("docs/audit.md has no row %s", row)
		}
	}
}
