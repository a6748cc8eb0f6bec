package httpapi_test

import (
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// D24: the catalogue of 67 for any key, in the envelope of all lists.
func TestIcons(t *testing.T) {
	a := apitest.SQLite(t)
	ws := a.Workspace(sheaf.Pro)
	c := ws.Client(ws.Key(sheaf.KeysRead))
	const icons = "/api/v1/icons"
	all := wholeList(t, c, icons, 10)
	seen := map[string]bool{}
	for _, i := range all {
		id, name, svg := i["id"].(string), i["name"].(string), i["svg"].(string)
		if len(i) != 3 || seen[id] || name == "" || !strings.HasPrefix(svg, "<svg") {
			t.Errorf("icon %v", i)
		}
		seen[id] = true
	}
	if len(all) != 67 {
		t.Errorf("%d icons", len(all))
	}
	ids := idsOf(all)
	slices.Reverse(ids)
	wantSame(t, "reversed", idsOf(wholeList(t, c, icons+"?order=desc", 9)), ids)
	if r := c.GET(icons+"?limit=1").Want(t, 200); !strings.HasPrefix(string(r.Body), `{"data":[{"id":"`) ||
		!strings.HasSuffix(string(r.Body), `</svg>"}],"total":67,"limit":1,"offset":0}`) {
		t.Errorf("got %s", r.Body)
	}
	wantBody(t, c.GET(icons+"?offset=67"), `{"data":[],"total":67,"limit":50,"offset":67}`)
	tag := c.GET(icons + "?limit=1").Header.Get("ETag")
	c.GET(icons+"?limit=1", "If-None-Match: "+tag).Want(t, 304)
	c.GET(icons+"?limit=1&offset=1", "If-None-Match: "+tag).Want(t, 200)
}
