package httpapi_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sheaf.dev/internal/media"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/sheaftest/s3test"
)

const mediaPath = "/api/v1/media"

// picture returns a PNG of that size.
func picture(t testing.TB, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// form returns a body with the file and these fields, and its Content-Type.
func form(t testing.TB, file []byte, name string, fields ...string) (body []byte, header string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(fields); i += 2 {
		if err := w.WriteField(fields[i], fields[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if file != nil {
		part, err := w.CreateFormFile("file", name)
		if err != nil {
			t.Fatal(err)
		}
		part.Write(file)
	}
	w.Close()
	return b.Bytes(), "Content-Type: " + w.FormDataContentType()
}

// upload sends bytes as they are.
func upload(c *apitest.Client, content []byte, query string, headers ...string) *apitest.Response {
	return c.POST(mediaPath+query, content, append([]string{"Content-Type: application/octet-stream"}, headers...)...)
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// D100: one request stores a file, and tells of it with the same record.
func TestMedium_Upload(t *testing.T) {
	apitest.EachStore(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		doc := c.POST(documents, fields{"title": "t"}).Text(t, "id")
		file := picture(t, 3, 2)
		body, header := form(t, file, `C:\Users\ada\diagram.png`, "document_id", strings.ToUpper(doc), "note", "unknown fields are ignored")
		made := c.POST(mediaPath, body, header).Want(t, 201)
		id := made.Text(t, "id")
		want := map[string]any{"id": id, "filename": "diagram.png", "content_type": "image/png", "bytes": float64(len(file)), "sha256": sum(file),
			"width": 3.0, "height": 2.0, "document_id": doc, "url": mediaPath + "/" + id + "/content", "created_at": made.JSON["created_at"]}
		if diff := cmp.Diff(want, made.JSON); diff != "" {
			t.Errorf("the record (-want +got):\n%s", diff)
		}
		if got := made.Header.Get("Location"); !strings.HasSuffix(got, mediaPath+"/"+id) {
			t.Errorf("Location is %q", got)
		}
		if got := c.GET(mediaPath+"/"+id).Want(t, 200); string(got.Body) != string(made.Body) || got.Header.Get("ETag") != made.Header.Get("ETag") {
			t.Errorf("get-one is %s, want %s", got.Body, made.Body)
		}
		event := c.GET("/api/v1/events?type=media.uploaded").Items(t)
		if len(event) != 1 || event[0]["resource_id"] != id || event[0]["resource_type"] != "media" || cmp.Diff(want, event[0]["payload"]) != "" {
			t.Errorf("the event is %v", event)
		}
		raw := upload(c, []byte("plain"), "?filename=notes.txt").Want(t, 201)
		if raw.JSON["filename"] != "notes.txt" || raw.JSON["content_type"] != "application/octet-stream" || raw.JSON["width"] != nil || raw.JSON["document_id"] != nil {
			t.Errorf("raw bytes are %s", raw.Body)
		}
		if got := upload(c, []byte("x"), "").Want(t, 201).JSON["filename"]; got != "untitled" {
			t.Errorf("without a name it is %q", got)
		}
		body, header = form(t, []byte("x"), "part.txt", "filename", "field.txt")
		if got := c.POST(mediaPath, body, header).Want(t, 201).JSON["filename"]; got != "field.txt" {
			t.Errorf("the field filename was passed over: %q", got)
		}
		if got := c.GET("/api/v1/me").JSON["storage"].(map[string]any)["used"]; got != float64(len(file)+len("plain")+2) {
			t.Errorf("the storage is %v", got)
		}
		if v := a.Doctor(); len(v) > 0 {
			t.Error(v)
		}
	})
}

// D100: what the bytes are decides, and what is not whole or says nothing is refused with nothing kept.
func TestMedium_RefusedUploads(t *testing.T) {
	apitest.EachStore(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		file := picture(t, 1, 1)
		whole, header := form(t, file, "a.png")
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		for range 2 {
			part, _ := w.CreateFormFile("file", "a.png")
			part.Write(file)
		}
		w.Close()
		twice := "Content-Type: " + w.FormDataContentType()
		encoded := multipartWith(t, textproto.MIMEHeader{"Content-Disposition": {`form-data; name="file"; filename="a"`}, "Content-Transfer-Encoding": {"base64"}})
		many, manyHeader := form(t, file, "a.png", strings.Split(strings.Repeat("x,y,", 40)+"x,y", ",")...)
		none, noneHeader := form(t, nil, "", "filename", "x")
		long, longHeader := form(t, file, "a.png", "document_id", strings.Repeat("x", 5000))
		bad, badHeader := form(t, file, "a.png", "document_id", "seven")
		named, namedHeader := form(t, file, "a.png", "filename", "../../etc/passwd")
		for name, test := range map[string]struct {
			body   []byte
			header string
			text   string
		}{
			"empty":                       {[]byte{}, "Content-Type: image/png", "file"},
			"truncated":                   {whole[:len(whole)-20], header, "incomplete"},
			"torn in its head":            {whole[:30], header, "file"},
			"no form":                     {file, header, "file"},
			"no boundary":                 {whole, "Content-Type: multipart/form-data", "boundary"},
			"two files":                   {b.Bytes(), twice, "twice"},
			"an encoding":                 {encoded.body, encoded.header, "Content-Transfer-Encoding"},
			"too many parts":              {many, manyHeader, "parts"},
			"no file":                     {none, noneHeader, "file"},
			"a long field":                {long, longHeader, "document_id"},
			"a document that is no id":    {bad, badHeader, "document_id"},
			"a name that leads elsewhere": {named, namedHeader, "filename"},
			"an empty file":               {emptyForm(t), emptyHeader, "file"},
		} {
			t.Run(name, func(t *testing.T) {
				c.POST(mediaPath, test.body, test.header).WantError(t, 400, "VALIDATION_ERROR", test.text)
			})
		}
		upload(c, []byte("x"), "?filename="+strings.Repeat("n", 201)).WantError(t, 400, "VALIDATION_ERROR", "filename")
		upload(c, []byte("x"), "?filename=a%0Ab").WantError(t, 400, "VALIDATION_ERROR", "filename")
		upload(c, []byte("x"), "?document_id="+nowhereID).WantError(t, 404, "NOT_FOUND", "document")
		upload(c, make([]byte, 10<<20+1), "").WantError(t, 413, "PAYLOAD_TOO_LARGE")
		if got := c.GET(mediaPath).Want(t, 200); got.JSON["total"] != 0.0 {
			t.Errorf("something was kept: %s", got.Body)
		}
		if v := a.Doctor(); len(v) > 0 {
			t.Error(v)
		}
	})
}

type aForm struct {
	body   []byte
	header string
}

func multipartWith(t testing.TB, h textproto.MIMEHeader) aForm {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, err := w.CreatePart(h)
	if err != nil {
		t.Fatal(err)
	}
	part.Write([]byte("eA=="))
	w.Close()
	return aForm{b.Bytes(), "Content-Type: " + w.FormDataContentType()}
}

const emptyHeader = "Content-Type: multipart/form-data; boundary=b"

func emptyForm(testing.TB) []byte {
	return []byte("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n\r\n--b--\r\n")
}

// D100: a repetition has one effect, also where the form separates its parts by another text.
func TestMedium_Idempotency(t *testing.T) {
	apitest.EachStore(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		send := func(file, name string) *apitest.Response {
			body, header := form(t, []byte(file), name)
			return c.POST(mediaPath, body, header, "Idempotency-Key: one")
		}
		first := send("bytes", "a.txt").Want(t, 201)
		again := send("bytes", "a.txt").Want(t, 201)
		if string(again.Body) != string(first.Body) || again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("the repetition got %s %v", again.Body, again.Header)
		}
		send("bytes", "b.txt").WantError(t, 409, "IDEMPOTENCY_CONFLICT")
		send("others", "a.txt").WantError(t, 409, "IDEMPOTENCY_CONFLICT")
		if got := c.GET(mediaPath).Want(t, 200); got.JSON["total"] != 1.0 {
			t.Errorf("there are %v media", got.JSON["total"])
		}
		if got := c.GET("/api/v1/events?type=media.uploaded"); got.JSON["total"] != 1.0 {
			t.Errorf("there are %v events", got.JSON["total"])
		}
		// Several at once: one effect, and nothing is left of the others.
		var all sync.WaitGroup
		bodies := make([]string, 16)
		for i := range bodies {
			all.Go(func() {
				body, header := form(t, []byte("together"), "t.txt")
				bodies[i] = string(c.POST(mediaPath, body, header, "Idempotency-Key: two").Want(t, 201).Body)
			})
		}
		all.Wait()
		for _, b := range bodies {
			if b != bodies[0] {
				t.Errorf("two answers: %s and %s", bodies[0], b)
			}
		}
		if v := a.Doctor(); len(v) > 0 {
			t.Error(v)
		}
		// Both files count once, and so do the two answers that are kept for repetitions (D105).
		kept := used(t, c) - len("bytes") - len("together")
		if answers := len(first.Body) + len(bodies[0]); kept < answers || kept > answers+1000 {
			t.Errorf("beside the files %d bytes are used, for answers of %d", kept, answers)
		}
	})
}

// D102: the bytes, whole and in part, in a way in which nothing in them runs.
func TestMedium_Content(t *testing.T) {
	apitest.EachStore(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		file := picture(t, 40, 30)
		at := upload(c, file, "?filename=t%C3%A4t.png").Text(t, "url")
		got := c.GET(at).Want(t, 200)
		if !bytes.Equal(got.Body, file) {
			t.Errorf("got %d bytes, want %d", len(got.Body), len(file))
		}
		for name, want := range map[string]string{"Content-Type": "image/png", "Content-Disposition": `inline; filename*=utf-8''t%C3%A4t.png`,
			"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox", "Cross-Origin-Resource-Policy": "same-origin",
			"Etag": `"` + sum(file) + `"`, "Accept-Ranges": "bytes", "Content-Length": fmt.Sprint(len(file))} {
			if got := got.Header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		tag := got.Header.Get("Etag")
		part := c.GET(at, "Range: bytes=10-19", "If-Range: "+tag).Want(t, 206)
		if !bytes.Equal(part.Body, file[10:20]) || part.Header.Get("Content-Range") != fmt.Sprintf("bytes 10-19/%d", len(file)) {
			t.Errorf("a part is %q, %s", part.Body, part.Header.Get("Content-Range"))
		}
		if whole := c.GET(at, "Range: bytes=10-19", `If-Range: "other"`).Want(t, 200); !bytes.Equal(whole.Body, file) {
			t.Error("If-Range of another file did not get the whole one")
		}
		far := c.GET(at, "Range: bytes=999999-").WantError(t, 416, "RANGE_NOT_SATISFIABLE", "Content-Range")
		if h := far.Header; h.Get("Content-Range") != fmt.Sprintf("bytes */%d", len(file)) || h.Get("Content-Disposition") != "" || h.Get("Etag") != "" {
			t.Errorf("416 has %v", h)
		}
		c.GET(at, "Range: nonsense=1").Want(t, 416)
		c.GET(at, `If-Match: "other"`).WantError(t, 412, "PRECONDITION_FAILED")
		opened := &openings{Store: a.Media.Store}
		a.Media.Store = opened
		if two := c.GET(at, "Range: bytes=0-1,5-6").Want(t, 206); !strings.HasPrefix(two.Header.Get("Content-Type"), "multipart/byteranges") {
			t.Errorf("two parts are %v", two.Header)
		}
		// A part of a file in a bucket is a request of its own: one client cannot make thousands of them.
		seeks := opened.seeks.Load()
		if all := c.GET(at, "Range: bytes=0-0"+strings.Repeat(",2-2,4-4", 1000)).Want(t, 200); !bytes.Equal(all.Body, file) || opened.seeks.Load()-seeks > 10 {
			t.Errorf("2,001 parts are %d bytes, by %d steps in the file", len(all.Body), opened.seeks.Load()-seeks)
		}
		a.Media.Store = opened.Store
		c.GET(at, "If-None-Match: "+tag).Want(t, 304)
		if head := c.Do(http.MethodHead, at, nil).Want(t, 200); len(head.Body) != 0 || head.Header.Get("Content-Length") != fmt.Sprint(len(file)) {
			t.Errorf("HEAD: %d bytes, %v", len(head.Body), head.Header)
		}

		// What could run somewhere is only ever saved, whatever its name is.
		for name, content := range map[string]string{"a.html": "<!DOCTYPE html><script>alert(1)</script>", "a.svg": `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`,
			"a.pdf": "%PDF-1.7\n", "a.png": "GIF is what this is not", "a.zip": "PK\x03\x04", "a.js": "alert(1)"} {
			made := upload(c, []byte(content), "?filename="+name, "Content-Type: image/png").Want(t, 201)
			got := c.GET(made.Text(t, "url")).Want(t, 200)
			if got.Header.Get("Content-Type") != "application/octet-stream" || got.Header.Get("Content-Disposition") != "attachment; filename="+name || string(got.Body) != content {
				t.Errorf("%s is %q, %q", name, got.Header.Get("Content-Type"), got.Header.Get("Content-Disposition"))
			}
		}
	})
}

// D102: what is kept of the answer does not outlast what it was made of: another name and a deletion are seen at once,
// and a key that may not read media gets nothing of it.
func TestMedium_ContentFollowsItsRecord(t *testing.T) {
	apitest.EachStore(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		made := upload(c, []byte("plain"), "?filename=first.txt")
		at := made.Text(t, "url")
		named := func(want string) {
			t.Helper()
			for range 2 { // the second is answered from what was kept
				got := c.GET(at).Want(t, 200)
				if name := got.Header.Get("Content-Disposition"); name != "attachment; filename="+want || string(got.Body) != "plain" {
					t.Errorf("it is %q of %q, want %s", got.Body, name, want)
				}
			}
		}
		named("first.txt")
		ws.Client(ws.Key(sheaf.ProjectsRead)).GET(at).Want(t, 403)
		a.Workspace(sheaf.Pro).Client("").GET(at).Want(t, 404)
		c.PATCH(mediaPath+"/"+made.Text(t, "id"), fields{"filename": "second.txt"}).Want(t, 200)
		named("second.txt")
		c.DELETE(mediaPath+"/"+made.Text(t, "id")).Want(t, 204)
		c.GET(at).Want(t, 404)
	})
}

// D102: bytes that are damaged or missing are 503, which names the medium, whole and in part; other media are served,
// and the same file uploaded again mends it.
func TestMedium_DamagedAndMissingBytes(t *testing.T) {
	apitest.EachStore(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		file := randomBytes(2 << 20)
		made := upload(c, file, "?filename=a.bin").Want(t, 201)
		id, at := made.Text(t, "id"), made.Text(t, "url")
		other := upload(c, []byte("another"), "").Text(t, "url")
		c.GET(at).Want(t, 200)

		intact := a.Media.Store
		a.Media.Store = rotten{intact, sha256.Sum256(file)}
		for _, headers := range [][]string{nil, {"Range: bytes=0-9"}, {"Range: bytes=1048576-"}} {
			got := c.GET(at, headers...).WantError(t, 503, "UNAVAILABLE", id, "a.bin", "damaged")
			if got.Header.Get("Etag") != "" || got.Header.Get("Retry-After") != "3600" {
				t.Errorf("%q: the refusal has %v", headers, got.Header)
			}
		}
		if head := c.Do(http.MethodHead, at, nil); head.Status != 503 {
			t.Errorf("HEAD is %d", head.Status)
		}
		c.GET(other).Want(t, 200)

		a.Media.Store = intact
		upload(c, file, "").Want(t, 201)
		c.GET(at).Want(t, 200)
		if err := intact.Remove(t.Context(), media.Key{Workspace: string(ws.ID), SHA256: sha256.Sum256(file)}); err != nil {
			t.Fatal(err)
		}
		c.GET(at).WantError(t, 503, "UNAVAILABLE", id, "a.bin", "missing")
		c.DELETE(mediaPath+"/"+id).Want(t, 204)
		c.GET(at).WantError(t, 404, "NOT_FOUND")
	})
}

// rotten has one other bit in the bytes of a hash, and says that they have changed.
type rotten struct {
	media.Store
	hash [32]byte
}

func (r rotten) Open(ctx context.Context, key media.Key) (media.Content, error) {
	c, err := r.Store.Open(ctx, key)
	if err != nil || key.SHA256 != r.hash {
		return c, err
	}
	return &rottenContent{Content: c}, nil
}

type rottenContent struct {
	media.Content
	at int64
}

func (c *rottenContent) Stamp() media.Stamp { return media.Stamp{ID: "rotten", Settled: true} }

func (c *rottenContent) Seek(offset int64, whence int) (n int64, err error) {
	c.at, err = c.Content.Seek(offset, whence)
	return c.at, err
}

func (c *rottenContent) Read(b []byte) (int, error) {
	n, err := c.Content.Read(b)
	if i := 1_500_000 - c.at; i >= 0 && i < int64(n) {
		b[i] ^= 1
	}
	c.at += int64(n)
	return n, err
}

// openings counts the steps that readers make in files.
type openings struct {
	media.Store
	seeks atomic.Int64
}

func (o *openings) Open(ctx context.Context, key media.Key) (media.Content, error) {
	c, err := o.Store.Open(ctx, key)
	return &steps{c, o}, err
}

type steps struct {
	media.Content
	in *openings
}

func (s *steps) Seek(offset int64, whence int) (int64, error) {
	s.in.seeks.Add(1)
	return s.Content.Seek(offset, whence)
}

// D102: lists, changes and deletion.
func TestMedium_ListChangeDelete(t *testing.T) {
	apitest.EachStore(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		doc := c.POST(documents, fields{"title": "t"}).Text(t, "id")
		one := upload(c, picture(t, 1, 1), "?filename=one.png&document_id="+doc).Want(t, 201)
		two := upload(c, []byte("two"), "").Text(t, "id")
		id := one.Text(t, "id")
		for query, want := range map[string][]string{"": {id, two}, "?document_id=" + doc: {id}, "?document_id=null": {two}, "?content_type=image/": {id},
			"?content_type=application": {two}, "?order=desc": {two, id}, "?limit=1&offset=1": {two}, "?document_id=" + nowhereID: nil} {
			if got := c.GET(mediaPath+query).Want(t, 200).IDs(t); cmp.Diff(want, got) != "" {
				t.Errorf("%s: got %v, want %v", query, got, want)
			}
		}
		c.GET(mediaPath+"?content_type=").WantError(t, 400, "VALIDATION_ERROR", "content_type")
		at := mediaPath + "/" + id
		tag := one.Header.Get("ETag")
		changed := c.PATCH(at, fields{"filename": "new.png", "document_id": nil}, "If-Match: "+tag).Want(t, 200)
		if changed.JSON["filename"] != "new.png" || changed.JSON["document_id"] != nil || changed.JSON["sha256"] != one.JSON["sha256"] {
			t.Errorf("changed: %s", changed.Body)
		}
		if got := c.GET(at); string(got.Body) != string(changed.Body) {
			t.Errorf("get-one after the change is %s", got.Body)
		}
		if same := c.PATCH(at, fields{"filename": "new.png"}).Want(t, 200); same.Header.Get("ETag") != changed.Header.Get("ETag") {
			t.Error("a change to what it was changed its ETag")
		}
		c.PATCH(at, fields{"filename": "x"}, "If-Match: "+tag).WantError(t, 412, "PRECONDITION_FAILED")
		c.PATCH(at, fields{"document_id": nowhereID}).WantError(t, 404, "NOT_FOUND", "document")
		c.PATCH(at, fields{"filename": nil}).WantError(t, 400, "VALIDATION_ERROR", "filename")
		c.PATCH(at, fields{}).WantError(t, 400, "VALIDATION_ERROR", "filename, document_id")
		c.DELETE(at, "If-Match: "+tag).WantError(t, 412, "PRECONDITION_FAILED")
		before := c.GET("/api/v1/events").JSON["total"]
		c.DELETE(at).Want(t, 204)
		c.GET(at).WantError(t, 404, "NOT_FOUND", "medium")
		c.GET(at+"/content").WantError(t, 404, "NOT_FOUND", "medium")
		c.DELETE(at).WantError(t, 404, "NOT_FOUND")
		if got := c.GET(mediaPath).IDs(t); cmp.Diff([]string{two}, got) != "" {
			t.Errorf("after the deletion there are %v", got)
		}
		if got := c.GET("/api/v1/events").JSON["total"]; got != before {
			t.Errorf("changing and deleting told something: %v events, want %v", got, before)
		}
		if got := c.GET("/api/v1/me").JSON["storage"].(map[string]any)["used"]; got != 3.0 {
			t.Errorf("the storage is %v, want 3", got)
		}
	})
}

// D104: equal bytes are stored once, and go with the last medium that has them.
func TestMedium_EqualBytesAreStoredOnce(t *testing.T) {
	apitest.EachStore(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		c, others := ws.Client(""), a.Workspace(sheaf.Pro).Client("")
		file := []byte("the same")
		one, two := upload(c, file, "").Want(t, 201), upload(c, file, "").Want(t, 201)
		theirs := upload(others, file, "").Want(t, 201)
		wantStored(t, a, ws.ID, 1)
		c.DELETE(mediaPath+"/"+one.Text(t, "id")).Want(t, 204)
		if got := c.GET(two.Text(t, "url")).Want(t, 200); !bytes.Equal(got.Body, file) {
			t.Errorf("the other has %q", got.Body)
		}
		c.DELETE(mediaPath+"/"+two.Text(t, "id")).Want(t, 204)
		wantStored(t, a, ws.ID, 0)
		if got := others.GET(theirs.Text(t, "url")).Want(t, 200); !bytes.Equal(got.Body, file) {
			t.Errorf("the other workspace has %q", got.Body)
		}
		again := upload(c, file, "").Want(t, 201)
		if got := c.GET(again.Text(t, "url")).Want(t, 200); !bytes.Equal(got.Body, file) {
			t.Errorf("uploaded again it is %q", got.Body)
		}
	})
}

// wantStored looks how many files of the workspace are kept.
func wantStored(t testing.TB, a *apitest.API, ws sheaf.WorkspaceID, want int) {
	t.Helper()
	n := 0
	if err := a.Media.List(t.Context(), string(ws), func(media.Key, int64) error { n++; return nil }); err != nil || n != want {
		t.Errorf("%d files are stored, want %d; %v", n, want, err)
	}
}

// D105: the quota holds exactly, however many upload at once, and counts texts beside media.
func TestMedium_QuotaIsExactUnderConcurrency(t *testing.T) {
	apitest.EachStore(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		c.POST(documents, fields{"title": "t", "content": strings.Repeat("x", 50)}).Want(t, 201)
		a.Quota.Store(50 + 10*100)
		var all sync.WaitGroup
		var mu sync.Mutex
		var kept []string
		for i := range 64 {
			all.Go(func() {
				file := bytes.Repeat([]byte{byte(i)}, 100)
				r := upload(c, file, "")
				if r.Status == 201 {
					mu.Lock()
					defer mu.Unlock()
					kept = append(kept, r.Text(t, "url"))
					return
				}
				r.WantError(t, 403, "QUOTA_REACHED", "100 more")
			})
		}
		all.Wait()
		if len(kept) != 10 {
			t.Errorf("%d of 64 were kept, want 10", len(kept))
		}
		for _, at := range kept {
			if got := c.GET(at).Want(t, 200); len(got.Body) != 100 {
				t.Errorf("%s has %d bytes", at, len(got.Body))
			}
		}
		wantStored(t, a, ws.ID, 10)
		c.PATCH(documents+"/"+c.GET(documents).IDs(t)[0], fields{"content": "more"}).WantError(t, 403, "QUOTA_REACHED", "media")
		if v := a.Doctor(); len(v) > 0 {
			t.Error(v)
		}
	})
}

// D104: 64 clients upload and delete the same bytes at once, and no live medium lacks them.
func TestMedium_SameBytesUploadedAndDeletedAtOnce(t *testing.T) {
	apitest.EachStore(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		c := ws.Client("")
		file := []byte("contested")
		var all sync.WaitGroup
		for i := range 64 {
			all.Go(func() {
				at := mediaPath + "/" + upload(c, file, "").Want(t, 201).Text(t, "id")
				if got := c.GET(at+"/content").Want(t, 200); !bytes.Equal(got.Body, file) {
					t.Errorf("read back %q", got.Body)
				}
				if i%8 != 0 {
					c.DELETE(at).Want(t, 204)
				}
			})
		}
		all.Wait()
		for _, id := range c.GET(mediaPath).IDs(t) {
			if got := c.GET(mediaPath+"/"+id+"/content").Want(t, 200); !bytes.Equal(got.Body, file) {
				t.Errorf("%s has %q", id, got.Body)
			}
		}
		if v := a.Doctor(); len(v) > 0 {
			t.Error(v)
		}
	})
}

// failingFiles is a store of bytes that fails while it is told to.
type failingFiles struct {
	media.Store
	mu          sync.Mutex // guards both
	put, remove error
}

func (f *failingFiles) set(put, remove error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put, f.remove = put, remove
}

func (f *failingFiles) Put(ctx context.Context, key media.Key, size int64, r io.Reader) error {
	f.mu.Lock()
	err := f.put
	f.mu.Unlock()
	if err != nil {
		return err
	}
	return f.Store.Put(ctx, key, size, r)
}

func (f *failingFiles) Remove(ctx context.Context, key media.Key) error {
	f.mu.Lock()
	err := f.remove
	f.mu.Unlock()
	if err != nil {
		return err
	}
	return f.Store.Remove(ctx, key)
}

// D100, D104: while bytes cannot be stored an upload is refused and nothing of it is left; while they cannot
// be removed, the medium is gone all the same and the sweep removes them.
func TestMedium_BytesThatCannotBeReached(t *testing.T) {
	apitest.EachStore(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Freeze() // but for the step below
		store := &failingFiles{Store: a.Media.Store}
		a.Media.Store = store
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		made := upload(c, []byte("first"), "").Want(t, 201)
		store.set(errors.New("broken"), nil)
		upload(c, []byte("second"), "").WantError(t, 500, "INTERNAL_ERROR")
		if got := c.GET(mediaPath); got.JSON["total"] != 1.0 {
			t.Errorf("of the failed upload is left: %s", got.Body)
		}
		if got := c.GET("/api/v1/me").JSON["storage"].(map[string]any)["used"]; got != 5.0 {
			t.Errorf("the storage is %v", got)
		}
		store.set(nil, errors.New("broken"))
		c.DELETE(mediaPath+"/"+made.Text(t, "id")).Want(t, 204)
		c.GET(made.Text(t, "url")).WantError(t, 404, "NOT_FOUND")
		wantStored(t, a, ws.ID, 1)
		store.set(nil, nil)
		if err := a.App.Operator().SettleMedia(t.Context()); err != nil {
			t.Error(err)
		}
		wantStored(t, a, ws.ID, 1) // the request that deleted it may still be at work
		a.Clock.Advance(2 * time.Minute)
		if err := a.App.Operator().SettleMedia(t.Context()); err != nil {
			t.Error(err)
		}
		wantStored(t, a, ws.ID, 0)
		if v := a.Doctor(); len(v) > 0 {
			t.Error(v)
		}
	})
}

// D100, D101, D104: while the service of a bucket is gone, uploads, pieces and reads are refused with 503 and leave
// nothing; a deletion is done. When it is back, all of it works at once, also with the same bytes.
func TestMedium_WhileTheServiceOfItsBucketIsGone(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		service := s3test.Start(t)
		bucket, err := media.Bucket(service.URL(), media.BucketOptions{Getenv: service.Getenv, Spool: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		a.Media.Store = bucket
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		made := upload(c, []byte("first"), "").Want(t, 201)
		at := begin(t, c, 100)
		file := randomBytes(100)
		service.Stop()
		const text = "the storage of media"
		upload(c, []byte("second"), "").WantError(t, 503, "UNAVAILABLE", text)
		piece(c, at, 0, file).WantError(t, 503, "UNAVAILABLE", text)
		c.GET(made.Text(t, "url")).WantError(t, 503, "UNAVAILABLE", text)
		if got := c.GET(mediaPath); got.JSON["total"] != 1.0 {
			t.Errorf("of the refused upload is left: %s", got.Body)
		}
		if got := storageUsed(t, c); got != 105 {
			t.Errorf("%d bytes are used", got)
		}
		c.DELETE(mediaPath+"/"+made.Text(t, "id")).Want(t, 204)
		service.Restart()
		if again := upload(c, []byte("second"), "").Want(t, 201); string(c.GET(again.Text(t, "url")).Want(t, 200).Body) != "second" {
			t.Error("its bytes are others")
		}
		upload(c, []byte("first"), "").Want(t, 201)
		piece(c, at, 0, file).Want(t, 204)
		if !bytes.Equal(content(t, c, at), file) {
			t.Error("the upload has other bytes")
		}
		if err := a.App.Operator().SettleMedia(t.Context()); err != nil {
			t.Error(err)
		}
		wantStored(t, a, ws.ID, 3)
		if v := a.Doctor(); len(v) > 0 {
			t.Error(v)
		}
	})
}

// D104: if the process ended during an upload, what the upload left is removed when its time is over, and
// not before.
func TestMedium_AbandonedUploadsAreSwept(t *testing.T) {
	apitest.EachStore(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		// A Put that never returns is a process that was killed in it: its row and its bytes stay.
		hung := &hangingFiles{Store: a.Media.Store, entered: make(chan struct{}), leave: make(chan struct{})}
		a.Media.Store = hung
		done := make(chan *apitest.Response)
		go func() { done <- upload(c, []byte("abandoned"), "") }()
		<-hung.entered
		a.Media.Store = hung.Store
		sweep := func() {
			t.Helper()
			if err := a.App.Operator().SettleMedia(t.Context()); err != nil {
				t.Error(err)
			}
		}
		sweep()
		wantStored(t, a, ws.ID, 1)
		if got := c.GET("/api/v1/me").JSON["storage"].(map[string]any)["used"]; got != 9.0 {
			t.Errorf("the pending upload counts %v", got)
		}
		a.Clock.Advance(time.Hour)
		sweep()
		wantStored(t, a, ws.ID, 0)
		if got := c.GET("/api/v1/me").JSON["storage"].(map[string]any)["used"]; got != 0.0 {
			t.Errorf("the abandoned upload counts %v", got)
		}
		close(hung.leave)
		(<-done).WantError(t, 503, "UNAVAILABLE", "too long")
		if got := c.GET(mediaPath); got.JSON["total"] != 0.0 {
			t.Errorf("it is there after all: %s", got.Body)
		}
		if v := a.Doctor(); len(v) > 0 {
			t.Error(v)
		}
	})
}

// hangingFiles stores bytes and does not return until it may.
type hangingFiles struct {
	media.Store
	entered, leave chan struct{}
}

func (h *hangingFiles) Put(ctx context.Context, key media.Key, size int64, r io.Reader) error {
	err := h.Store.Put(ctx, key, size, r)
	close(h.entered)
	<-h.leave
	return err
}

// D104: bytes that no row tells of are removed, those of a medium and of an upload under way are not.
func TestMedium_StrayBytesAreRemoved(t *testing.T) {
	apitest.EachStore(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		made := upload(c, []byte("live"), "").Want(t, 201)
		stray := []byte("stray")
		put := func(workspace string) {
			t.Helper()
			if err := a.Media.Put(t.Context(), media.Key{Workspace: workspace, SHA256: sha256.Sum256(stray)}, int64(len(stray)), bytes.NewReader(stray)); err != nil {
				t.Fatal(err)
			}
		}
		put(string(ws.ID))
		put(nowhereID)
		if err := a.App.Operator().RemoveStrayBytes(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantStored(t, a, ws.ID, 1)
		wantStored(t, a, nowhereID, 1) // of a workspace that this store does not know
		c.GET(made.Text(t, "url")).Want(t, 200)
		upload(c, stray, "").Want(t, 201)
		if v := a.Doctor(); len(v) > 0 {
			t.Error(v)
		}
	})
}

// D120: what this service tells of itself nobody else can.
func TestMedium_CannotBeReportedFromOutside(t *testing.T) {
	apitest.EachStore(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		id := upload(c, []byte("x"), "").Text(t, "id")
		report := func(c *apitest.Client, id string) *apitest.Response {
			return c.POST("/api/v1/events", fields{"type": "media.uploaded", "resource_id": id, "payload": fields{}})
		}
		report(c, id).WantError(t, 400, "VALIDATION_ERROR", "resource_id")
		report(c, strings.ToUpper(id)).WantError(t, 400, "VALIDATION_ERROR", "resource_id")
		report(c, nowhereID).Want(t, 202)
		report(a.Workspace(sheaf.Pro).Client(""), id).Want(t, 202)
		c.DELETE(mediaPath+"/"+id).Want(t, 204)
		report(c, id).Want(t, 202)
	})
}
