package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

var lists = []string{"projects", "folders", "brandings", "documents", "events", "api-keys", "icons"}

// D9
func TestQuery_LimitAndOffsetAreNeverClamped(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		for _, noun := range lists {
			for _, bad := range []string{"limit=0", "limit=101", "limit=-1", "limit=1.0", "limit=1e1", "limit=", "limit=%201", "limit=1%20", "limit=+1",
				"limit=%2B1", "limit=ten", "limit=0x10", "limit=1_0", "limit=99999999999999999999", "limit=%D9%A1", "limit", "limit=null",
				"offset=-1", "offset=1.5", "offset=", "offset=x", "offset=99999999999999999999999", "offset=9007199254740992", "offset=-0"} {
				got := c.GET("/api/v1/" + noun + "?" + bad)
				if got.Status != 400 || got.JSON["code"] != "VALIDATION_ERROR" {
					t.Errorf("%s?%s: got %d %s", noun, bad, got.Status, got.Body)
				}
			}
			for _, good := range []string{"limit=1", "limit=100", "offset=0", "offset=2147483648", "offset=9007199254740991", "limit=007", "LIMIT=0", "Offset=x",
				"unknown=1", "a&b&&", "limit=5&"} {
				got := c.GET("/api/v1/"+noun+"?"+good).Want(t, 200)
				if good == "offset=9007199254740991" && (len(got.Items(t)) != 0 || !strings.HasSuffix(string(got.Body), `"offset":9007199254740991}`)) {
					t.Errorf("%s?%s: got %s", noun, good, got.Body)
				}
			}
		}
	})
}

// D9
func TestQuery_TheLastOfARepeatedParameterCounts(t *testing.T) {
	c := apitest.SQLite(t).Workspace(sheaf.Pro).Client("")
	folder := c.POST("/api/v1/folders", `{"name":"f","entity_type":"project"}`).Text(t, "id")
	c.POST("/api/v1/projects", `{"name":"a","folder_id":"`+folder+`"}`).Want(t, 201)
	c.POST("/api/v1/projects", `{"name":"b"}`).Want(t, 201)
	if got := c.GET("/api/v1/projects?limit=100&limit=x&limit=1").Want(t, 200); got.JSON["limit"] != 1.0 {
		t.Errorf("got %s", got.Body)
	}
	c.GET("/api/v1/projects?limit=1&limit=101").WantError(t, 400, "VALIDATION_ERROR", "limit")
	c.GET("/api/v1/projects?limit=1&limit=").WantError(t, 400, "VALIDATION_ERROR", "limit")
	got := c.GET("/api/v1/projects?folder_id=nonsense&q=zzz&folder_id="+folder+"&q=a").Want(t, 200)
	if got.JSON["total"] != 1.0 {
		t.Errorf("got %s", got.Body)
	}
}

// D9: filters combine with AND.
func TestQuery_FiltersCombine(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		folder := c.POST("/api/v1/folders", `{"name":"f","entity_type":"project"}`).Text(t, "id")
		var in []string
		for i, body := range []string{`{"name":"red","folder_id":"%s"}`, `{"name":"red"}`, `{"name":"blue","folder_id":"%s"}`} {
			if i != 1 {
				body = fmt.Sprintf(body, folder)
			}
			in = append(in, c.POST("/api/v1/projects", body).Text(t, "id"))
		}
		if got := c.GET("/api/v1/projects?q=red&folder_id=" + folder).IDs(t); !slices.Equal(got, in[:1]) {
			t.Errorf("both filters: got %q", got)
		}
		c.POST("/api/v1/folders", `{"name":"child","entity_type":"project","parent_id":"`+folder+`"}`).Want(t, 201)
		c.POST("/api/v1/folders", `{"name":"brand","entity_type":"branding"}`).Want(t, 201)
		for query, want := range map[string]float64{"entity_type=project": 2, "parent_id=null": 2, "entity_type=project&parent_id=null": 1,
			"entity_type=branding&parent_id=" + folder: 0} {
			if got := c.GET("/api/v1/folders?"+query).Want(t, 200); got.JSON["total"] != want {
				t.Errorf("%s: got %v, want %v", query, got.JSON["total"], want)
			}
		}
		for query, want := range map[string]float64{"type=project.created": 3, "resource_id=" + in[0]: 1, "type=folder.created&resource_id=" + in[0]: 0} {
			if got := c.GET("/api/v1/events?"+query).Want(t, 200); got.JSON["total"] != want {
				t.Errorf("%s: got %v, want %v", query, got.JSON["total"], want)
			}
		}
	})
}

// D9: a malformed query string is refused on every route, also in parameters that nobody asks for.
func TestQuery_Malformed(t *testing.T) {
	c := apitest.SQLite(t).Workspace(sheaf.Business).Client("")
	ids := resources(t, c)
	for _, bad := range []string{"%", "a=%", "a=%zz", "%zz=1", "a=1;b=2", "a=%ff", "%00=1", "limit=%zz"} {
		for _, noun := range lists {
			c.GET("/api/v1/"+noun+"?"+bad).WantError(t, 400, "VALIDATION_ERROR")
		}
		c.GET("/api/v1/me?"+bad).WantError(t, 400, "VALIDATION_ERROR")
		c.POST("/api/v1/projects?"+bad, `{"name":"a"}`).WantError(t, 400, "VALIDATION_ERROR")
		c.DELETE("/api/v1/projects/"+ids["projects"]+"?"+bad).WantError(t, 400, "VALIDATION_ERROR")
	}
	c.GET("/api/v1/projects/"+ids["projects"]).Want(t, 200)
}

// D8: malformed in a path or a query is 400, also where an unknown one would be an empty page.
func TestQuery_MalformedIDs(t *testing.T) {
	c := apitest.SQLite(t).Workspace(sheaf.Pro).Client("")
	for _, path := range []string{"projects?folder_id=", "projects?folder_id=root", "folders?parent_id=1", "documents?project_id=x",
		"events?resource_id=null", "events?after=" + unknownID, "events?after=evt_", "projects/null", "events/" + unknownID} {
		c.GET("/api/v1/"+path).WantError(t, 400, "VALIDATION_ERROR")
	}
}
