package sheaftest

import (
	"os"
	"path/filepath"
	"testing"
)

// A port is returned only once, although no program listens there yet.
func TestFreePort_IsReturnedOnce(t *testing.T) {
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	taken, err := reserve(filepath.Join(os.TempDir(), "sheaf-test-ports", port))
	if err != nil || !taken {
		t.Errorf("port %s can be had again: %v, %v", port, taken, err)
	}
}
