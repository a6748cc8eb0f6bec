package config

import (
	"slices"
	"testing"
)

func TestUnknown_ReturnsUnusedVariables(t *testing.T) {
	t.Parallel()
	got := Unknown([]string{"HOME", "SHEAF", "SHEAF_ADDR", "SHEAF_API_KEY_FILE", "SHEAF_DATABASE_URL_FILE", "SHEAF_DATABSE_URL", "SHEAF_ADDR_FILE",
		"SHEAF_COLOUR", "SHEAF_SERVICE_HOST", "SHEAF_SERVICE_PORT_HTTP", "SHEAF_PORT", "SHEAF_PORT_8080_TCP_ADDR", "SHEAF_TEST_REQUIRE", "SHEAF_APIKEY"})
	want := []UnknownVariable{{"SHEAF_ADDR_FILE", ""}, {"SHEAF_APIKEY", "SHEAF_API_KEY"}, {"SHEAF_COLOUR", ""}, {"SHEAF_DATABSE_URL", "SHEAF_DATABASE_URL"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
	if got := got[1].String(); got != "SHEAF_APIKEY is not a setting and is ignored: did you mean SHEAF_API_KEY?" {
		t.Error(got)
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "abc", 0}, {"abc", "", 3}, {"", "ab", 2}, {"kitten", "sitting", 3}, {"ab", "ba", 2}, {"flaw", "lawn", 2}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: %d", c.a, c.b, got)
		}
	}
}
