package sheaftest

import (
	"os"
	"testing"
)

// Unable ends a test that this machine cannot run: it is skipped, or fails where SHEAF_TEST_REQUIRE is 1, as under
// ./scripts/test, which installs what is needed.
func Unable(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("SHEAF_TEST_REQUIRE") == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
}
