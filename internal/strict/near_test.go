package strict

import "testing"

// D167: a name that was probably meant to be another one is found, and no other name.
func TestNear_FindsWhatWasMeant(t *testing.T) {
	for name, near := range map[string]bool{
		"restrict_to": true, "restrictedTo": true, "Restricted_to": true, "restricted": true, "restriction": true, "restricted-to": true,
		"restricted_too": true, "retricted_to": true, "resticted_to": true, "restrcited_to": true, "estricted_to": true, "restricted_tp": true,
		"restricted_to": false, "name": false, "scopes": false, "expires_at": false, "related_to": false, "": false, "редактор": false, "_": false,
	} {
		object, err := ParseObject([]byte(`{"scopes":[],"` + name + `":null}`))
		if err != nil && name != "scopes" {
			t.Fatal(err)
		}
		want := ""
		if near {
			want = name
		}
		if got := object.Fields().Near("restricted_to"); got != want {
			t.Errorf("%q: got %q", name, got)
		}
	}
}
