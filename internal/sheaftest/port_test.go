package sheaftest

import (
	"os"
	"path/filepath"
	"testing"
)

// A port that was handed out is nobody else's, although nobody listens there yet.
func TestFreePort_IsHandedOutOnce(t *testing.T) {
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	taken, err := reserve(filepath.Join(os.TempDir(), "sheaf-test-ports", port))
	if err != nil || !taken {
		t.Errorf("port %s can be had again: %v, %v", port, taken, err)
	}
}
