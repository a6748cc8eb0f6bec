package recipes

import (
	"testing"

	"sheaf.dev/internal/sheaftest/npmtest"
)

// npm returns the folder with the node_modules of npm/package-lock.json.
func npm(t *testing.T) string {
	t.Helper()
	return npmtest.Modules(t, "npm")
}
