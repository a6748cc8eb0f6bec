package sheaftest

import (
	"os"
	"testing"
)

// EnvRequire, set to 1, makes Unable fail a test rather than skip it.
const EnvRequire = "SHEAF_TEST_REQUIRE"

// Unable ends a test that this machine cannot run. The test is skipped; if SHEAF_TEST_REQUIRE is 1,
// it fails. That is so under ./scripts/test, which installs what is needed.
func Unable(t testing.TB, why string) {
	t.Helper()
	if os.Getenv(EnvRequire) == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
}
