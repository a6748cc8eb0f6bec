package httpapi_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// attacks are values that must not be anywhere in a body. Each stands where %s is in every frame
// below.
var attacks = map[string]string{
	"duplicate name":            `{"a":1,"a":2}`,
	"duplicate, one escaped":    `{"a":1,"\u0061":2}`,
	"duplicate among many":      manyMembers(50, `"25":0`),
	"invalid UTF-8":             "\"a\xffb\"",
	"overlong UTF-8":            "\"\xc0\xaf\"",
	"surrogate as UTF-8":        "\"\xed\xa0\x80\"",
	"invalid UTF-8 in a name":   "{\"\xff\":1}",
	"lone surrogate":            `"\ud800"`,
	"surrogates reversed":       `"\udc00\ud800"`,
	"NUL escape":                `"a\u0000b"`,
	"NUL escape in a name":      `{"a\u0000":1}`,
	"raw NUL":                   "\"a\x00b\"",
	"raw control character":     "\"a\nb\"",
	"single quotes":             `'a'`,
	"comment":                   `/* a */ 1`,
	"trailing comma":            `[1,]`,
	"trailing comma, object":    `{"a":1,}`,
	"NaN":                       `NaN`,
	"Infinity":                  `-Infinity`,
	"leading zero":              `01`,
	"plus":                      `+1`,
	"bare point":                `.5`,
	"hex number":                `0x10`,
	"unquoted name":             `{a:1}`,
	"bad escape":                `"\x41"`,
	"short escape":              `"\u12"`,
	"unfinished string":         `"a`,
	"unfinished array":          `[1`,
	"nothing":                   ``,
	"True":                      `True`,
	"depth":                     strings.Repeat("[", 40) + strings.Repeat("]", 40),
	"depth of a stack overflow": strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000),
}

// frames are bodies with a place at some depth, in fields that are written, unknown and read-only.
var frames = map[string]string{
	"unknown field":       `{"name":"a","x":%s}`,
	"before the field":    `{"x":%s,"name":"a"}`,
	"read-only field":     `{"name":"a","id":%s}`,
	"deep in an object":   `{"name":"a","x":{"y":{"z":%s}}}`,
	"deep in an array":    `{"name":"a","x":[[0,{"y":%s}]]}`,
	"twenty levels below": `{"name":"a","x":` + strings.Repeat(`{"y":`, 20) + `%s` + strings.Repeat("}", 20) + `}`,
}

func manyMembers(n int, more string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		fmt.Fprintf(&b, `"%d":0,`, i)
	}
	return b.String() + more + "}"
}

// D5
func TestBody_AttacksAreRefusedAtAnyDepth(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		path := "/api/v1/projects/" + c.POST("/api/v1/projects", `{"name":"before"}`).Text(t, "id")
		untouched := everything(t, c)
		for attack, value := range attacks {
			for frame, body := range frames {
				body = strings.Replace(body, "%s", value, 1)
				for _, got := range []*apitest.Response{c.POST("/api/v1/projects", body), c.PATCH(path, body)} {
					if got.Status != 400 || got.JSON["code"] != "VALIDATION_ERROR" || len(got.Body) > 2000 {
						t.Errorf("%s in %s: got %d %.300s", attack, frame, got.Status, got.Body)
					}
				}
			}
		}
		if diff := cmp.Diff(untouched, everything(t, c)); diff != "" {
			t.Errorf("a refused body changed something:\n%s", diff)
		}
	})
}

// D5
func TestBody_WrongAsAWhole(t *testing.T) {
	c := apitest.SQLite(t).Workspace(sheaf.Pro).Client("")
	for name, body := range map[string]string{
		"empty": "", "white space": " \n\t", "null": "null", "array": `[{"name":"a"}]`, "string": `"name"`, "number": "1", "true": "true",
		"byte order mark": "\ufeff{\"name\":\"a\"}", "second object": `{"name":"a"} {"name":"b"}`, "second object, no space": `{"name":"a"}{}`,
		"trailing bracket": `{"name":"a"}]`, "trailing NUL": "{\"name\":\"a\"}\x00", "cut off": `{"name":"a"`, "form": "name=a",
		"UTF-16": "\xff\xfe{\x00\"\x00", "UTF-16 without a mark": "{\x00}\x00", "line break of old": "{\"name\":\"a\"}\v",
	} {
		if got := c.POST("/api/v1/projects", body); got.Status != 400 || got.JSON["code"] != "VALIDATION_ERROR" {
			t.Errorf("%s: got %d %s", name, got.Status, got.Body)
		}
	}
	if got := c.GET("/api/v1/projects").Want(t, 200); got.JSON["total"] != 0.0 {
		t.Errorf("something was written: %s", got.Body)
	}
	c.POST("/api/v1/projects", " \r\n\t{ \"name\" : \"a\" }\n ").Want(t, 201)
}

// D5: the text names the field.
func TestBody_WrongTypesNameTheField(t *testing.T) {
	c := apitest.SQLite(t).Workspace(sheaf.Business).Client("")
	wrong := map[string][]string{
		`"name"`: {"1", "true", "[]", "{}"}, `"description"`: {"1", "false", `["a"]`, "{}"}, `"icon"`: {"1"}, `"color"`: {"123456"},
		`"folder_id"`: {"1", "{}"}, `"sort_order"`: {`"1"`, "1.5", "2147483648", "-2147483649", "1e400", "99999999999999999999999", "true", "[]"},
		`"visibility"`: {"1", "true"},
	}
	for field, values := range wrong {
		for _, v := range values {
			body := `{"name":"a",` + field + ":" + v + "}"
			if field == `"name"` {
				body = `{"name":` + v + `}`
			}
			c.POST("/api/v1/projects", body).WantError(t, 400, "VALIDATION_ERROR", strings.Trim(field, `"`))
		}
	}
	c.POST("/api/v1/documents", `{"title":1}`).WantError(t, 400, "VALIDATION_ERROR", "title")
	c.POST("/api/v1/folders", `{"name":"a","entity_type":1}`).WantError(t, 400, "VALIDATION_ERROR", "entity_type")
	c.POST("/api/v1/api-keys", `{"name":"a","scopes":"projects:read"}`).WantError(t, 400, "VALIDATION_ERROR", "scopes")
	c.POST("/api/v1/api-keys", `{"name":"a","scopes":["projects:read",1]}`).WantError(t, 400, "VALIDATION_ERROR", "scopes[1]")
	c.POST("/api/v1/projects", `{"name":"a","x":{"y":[1,{"z":1,"z":2}]}}`).WantError(t, 400, "VALIDATION_ERROR", "x.y[1].z", "twice")
}

// D5: names match by exact case, and what is unknown or read-only is ignored.
func TestBody_UnknownAndReadOnlyFieldsAreIgnored(t *testing.T) {
	c := apitest.SQLite(t).Workspace(sheaf.Pro).Client("")
	c.POST("/api/v1/projects", `{"NAME":"a"}`).WantError(t, 400, "VALIDATION_ERROR", "name", "required")
	made := c.POST("/api/v1/projects", `{"name":"a","Name":7,"nAme":null,"icon":"book","Icon":[],"id":"x","document_count":-1,"documents":{},
		"created_at":12,"workspace_id":"y","toString":1,"__proto__":{"name":"b"},"x":1e400,"y":`+strings.Repeat("9", 100_000)+`}`).Want(t, 201)
	if made.JSON["name"] != "a" || made.JSON["icon"] != "book" || made.JSON["document_count"] != 0.0 {
		t.Errorf("got %s", made.Body)
	}
	// A client may send back what it read.
	read := c.GET("/api/v1/projects/"+made.Text(t, "id")).Want(t, 200)
	c.PATCH("/api/v1/projects/"+made.Text(t, "id"), read.Body).Want(t, 200)
	// Depth 32 is allowed: the object and 31 arrays in it.
	c.POST("/api/v1/projects", `{"name":"a","x":`+strings.Repeat("[", 31)+strings.Repeat("]", 31)+"}").Want(t, 201)
	c.POST("/api/v1/projects", `{"name":"a","x":`+strings.Repeat("[", 32)+strings.Repeat("]", 32)+"}").WantError(t, 400, "VALIDATION_ERROR", "deep")
	// Many members cost no more than few.
	c.POST("/api/v1/projects", `{"name":"a","x":`+manyMembers(50_000, `"x":0`)+"}").Want(t, 201)
}

// D5
func TestBody_IsIgnoredWhereNoneIsTaken(t *testing.T) {
	c := apitest.SQLite(t).Workspace(sheaf.Business).Client("")
	ids := resources(t, c)
	for _, body := range []string{"{", "\xff", `{"a":1,"a":1}`, "name=a"} {
		c.Do("GET", "/api/v1/projects", body, "Content-Type: text/plain").Want(t, 200)
		c.POST("/api/v1/documents/"+ids["documents"]+"/restore", body, "Content-Type: text/plain").Want(t, 200)
	}
	c.Do("DELETE", "/api/v1/projects/"+ids["projects"], "{", "Content-Type: text/plain").Want(t, 204)
}

// D10
func TestContentType(t *testing.T) {
	c := apitest.SQLite(t).Workspace(sheaf.Pro).Client("")
	for _, good := range []string{"application/json", "Application/JSON", "application/json; charset=utf-8", "application/json;charset=UTF-16",
		"application/json ; odd", "application/json;", ""} {
		c.POST("/api/v1/projects", `{"name":"a"}`, "Content-Type: "+good).Want(t, 201)
	}
	for _, bad := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp",
		"application/vnd.api+json", "json", "text/html; a=application/json", "application/json, text/plain", "*/*"} {
		c.POST("/api/v1/projects", `{"name":"a"}`, "Content-Type: "+bad).WantError(t, 400, "VALIDATION_ERROR", "Content-Type", "application/json")
	}
	// A PATCH is a merge patch (RFC 7396), and nothing else is.
	const merge = "Content-Type: application/merge-patch+json"
	id := c.POST("/api/v1/projects", `{"name":"a","description":"d"}`).Text(t, "id")
	if got := c.PATCH("/api/v1/projects/"+id, `{"name":"b","description":null}`, merge+"; charset=utf-8").Want(t, 200); got.JSON["name"] != "b" || got.JSON["description"] != nil {
		t.Errorf("the merge patch made %s", got.Body)
	}
	c.POST("/api/v1/projects", `{"name":"a"}`, merge).WantError(t, 400, "VALIDATION_ERROR", "Content-Type")
	c.PATCH("/api/v1/projects/"+id, `[]`, "Content-Type: application/json-patch+json").WantError(t, 400, "VALIDATION_ERROR", "Content-Type")
}

// bodyOf returns a valid body of exactly that many bytes.
func bodyOf(size int) string {
	const begin, end = `{"name":"a","x":"`, `"}`
	return begin + strings.Repeat("x", size-len(begin)-len(end)) + end
}

// D13
func TestBody_TenMiBAreAcceptedAndNotAByteMore(t *testing.T) {
	const limit = 10 * 1024 * 1024
	if front.MaxBody != limit {
		t.Fatalf("the limit is %d", front.MaxBody)
	}
	c := apitest.SQLite(t).Workspace(sheaf.Pro).Client("")
	whole, over := bodyOf(limit), bodyOf(limit+1)
	c.POST("/api/v1/projects", whole).Want(t, 201)
	c.POST("/api/v1/projects", strings.NewReader(whole)).Want(t, 201)
	c.POST("/api/v1/projects", over).WantError(t, 413, "PAYLOAD_TOO_LARGE", "10")
	c.POST("/api/v1/projects", strings.NewReader(over)).WantError(t, 413, "PAYLOAD_TOO_LARGE", "10")
	if got := c.GET("/api/v1/projects").Want(t, 200); got.JSON["total"] != 2.0 {
		t.Errorf("%v projects were made, want 2", got.JSON["total"])
	}
}

// countedListener counts what the server reads from its connections.
type countedListener struct {
	net.Listener
	read atomic.Int64
}

func (l *countedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &countedConn{c, l}, err
}

type countedConn struct {
	net.Conn
	l *countedListener
}

func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.l.read.Add(int64(n))
	return n, err
}

// D13: never read past the limit, however much is sent and however it is framed.
func TestBody_IsNotReadPastTheLimit(t *testing.T) {
	a := apitest.SQLite(t)
	key := a.Workspace(sheaf.Pro).Key()
	for name, test := range map[string]struct{ length, most int64 }{
		"announced": {100 << 20, 10<<20 + 1<<20},
		"chunked":   {-1, 10<<20 + 1<<20},
	} {
		t.Run(name, func(t *testing.T) {
			listener := &countedListener{}
			server := httptest.NewUnstartedServer(a.Front)
			listener.Listener, server.Listener = server.Listener, listener
			server.Start()
			defer server.Close()
			// The client stops sending when the server no longer takes it: there is no end by
			// itself.
			endless := io.LimitReader(zeros{}, 100<<20)
			req, _ := http.NewRequest("POST", server.URL+"/api/v1/projects", endless)
			req.ContentLength = test.length
			req.Header.Set("Authorization", "Bearer "+key)
			res, err := server.Client().Do(req)
			if err == nil {
				if body, _ := io.ReadAll(res.Body); res.StatusCode != 413 || !bytes.Contains(body, []byte("PAYLOAD_TOO_LARGE")) {
					t.Errorf("got %d %s", res.StatusCode, body)
				}
				res.Body.Close()
			} else if !strings.Contains(err.Error(), "reset") && !strings.Contains(err.Error(), "broken pipe") {
				t.Error(err) // a client that writes on may see its connection closed before it sees the answer
			}
			server.Close()
			if got := listener.read.Load(); got > test.most {
				t.Errorf("the server read %d bytes, want at most %d", got, test.most)
			}
		})
	}
}

// D13: a client that reads the answer only after it has sent everything gets the refusal with its
// reason. A client that has sent nothing yet gets it at once.
func TestBody_ThatIsRefusedDoesNotHideTheAnswer(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	server := httptest.NewServer(a.Front)
	defer server.Close()
	ws := a.Workspace(sheaf.Pro)
	upload := begin(t, ws.Client(""), 10<<20)
	for name, test := range map[string]struct {
		method, path, key string
		size, status      int
	}{
		"a piece of an upload at the wrong place": {"PATCH", upload, ws.Key(), 10 << 20, 409},
		"a byte too much":                         {"POST", "/api/v1/projects", ws.Key(), 10<<20 + 1, 413},
		"200 KB too much":                         {"POST", "/api/v1/projects", ws.Key(), 10<<20 + 200<<10, 413}, // of more, the end is not waited for
		"no key":                                  {"POST", "/api/v1/projects", "", 10 << 20, 401},
		"no scope":                                {"POST", "/api/v1/projects", ws.Key(sheaf.ProjectsRead), 10<<20 + 1, 403},
		"no route":                                {"POST", "/api/v1/nowhere", ws.Key(), 10 << 20, 404},
		"no body wanted":                          {"DELETE", "/api/v1/projects/0190b0a0-0000-7000-8000-000000000000", ws.Key(), 10 << 20, 404},
	} {
		t.Run(name, func(t *testing.T) {
			head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n", test.method, test.path, test.key, test.size)
			if test.method == "PATCH" {
				head += tusHeader + "\r\n" + pieceHeader + "\r\nUpload-Offset: 1\r\n"
			}
			head += "\r\n"
			for _, sent := range []int{test.size, 0} {
				conn, err := net.Dial("tcp", server.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if _, err := conn.Write(append([]byte(head), make([]byte, sent)...)); err != nil {
					t.Fatalf("the connection was closed before %d bytes were sent: %v", sent, err)
				}
				res, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != test.status || res.ContentLength != int64(len(body)) {
					t.Errorf("after %d bytes: %d, length %d, %s, %v", sent, res.StatusCode, res.ContentLength, body, err)
				}
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
