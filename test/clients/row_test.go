package clients

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// A cell is one row for one client, which has a workspace of its own.
type cell struct {
	*site
	key  string
	play func(t *testing.T, task object) object // has the client do it
}

// ask has the client do a row against the server, or against what stands before it.
func (c *cell) ask(t *testing.T, row, server string, task object) object {
	t.Helper()
	whole := object{"row": row, "server": server, "key": c.key}
	for name, value := range task {
		whole[name] = value
	}
	return c.play(t, whole)
}

// rows are what every client must do.
var rows = []struct {
	name string
	run  func(t *testing.T, c *cell)
}{
	{"create", create},
	{"page through 1,050 records", page},
	{"retry a 429", retry},
	{"repeat a lost answer, once", repeat},
	{"resume a stream", resume},
	{"verify both schemes", verify},
	{"upload", upload},
	{"upload 20 MB in pieces", pieces},
	{"share", share},
	{"refuse in classes", refuse},
	{"change what is read", change},
	{"arrange a tree", arrange},
}

func create(t *testing.T, c *cell) {
	got := c.ask(t, "create", c.URL, object{"name": "Übersicht <1> 📄", "color": "#2563eb", "metadata": object{"space": "ENG"}})
	project := c.read(t, c.key, "/api/v1/projects/"+text(got["id"]))
	if project["name"] != "Übersicht <1> 📄" || project["color"] != "#2563eb" || project["metadata"].(object)["space"] != "ENG" {
		t.Errorf("the project is %v", project)
	}
}

func page(t *testing.T, c *cell) {
	c.key = c.library.key
	got := c.ask(t, "page", c.URL, object{"project_id": c.library.project})
	if ids := texts(got["ids"]); !slices.Equal(ids, c.library.ids) {
		t.Errorf("it read %d documents, not these %d in their order", len(ids), len(c.library.ids))
	}
}

func retry(t *testing.T, c *cell) {
	o := before(t, c.URL, posts, busy)
	got := c.ask(t, "create", o.URL, object{"name": "Busy"})
	attempts := o.attempts()
	if len(attempts) != 3 {
		t.Fatalf("%d attempts", len(attempts))
	}
	for i, a := range attempts[1:] {
		if pause := a.at.Sub(attempts[i].at); pause < time.Second {
			t.Errorf("it waited %v, and was asked for a second", pause)
		}
	}
	keyed(t, attempts)
	if ids := c.named(t, c.key, "Busy"); len(ids) != 1 || ids[0] != text(got["id"]) {
		t.Errorf("there are the projects %q, it says %v", ids, got)
	}
}

func repeat(t *testing.T, c *cell) {
	o := before(t, c.URL, posts, lossy)
	got := c.ask(t, "create", o.URL, object{"name": "Lost"})
	if attempts := o.attempts(); len(attempts) != 2 {
		t.Fatalf("%d attempts", len(attempts))
	} else {
		keyed(t, attempts)
	}
	if ids := c.named(t, c.key, "Lost"); len(ids) != 1 || ids[0] != text(got["id"]) {
		t.Errorf("there are the projects %q, it says %v", ids, got)
	}
}

// resume: the client gets the events from before it connects, and those that come while it reads, each once
// and in order.
func resume(t *testing.T, c *cell) {
	c.make(t, c.key, "/api/v1/projects", object{"name": "Before"})
	after := c.newest(t, c.key)
	add := func(name string, n int) {
		for i := range n {
			c.make(t, c.key, "/api/v1/projects", object{"name": fmt.Sprint(name, " ", i)})
		}
	}
	add("Waiting", 6)
	o := before(t, c.URL, streams, func(n int, w http.ResponseWriter, r *http.Request, server http.Handler) bool {
		if n == 3 {
			add("Live", 4)
		}
		return cutting(n, w, r, server)
	})
	got := texts(c.ask(t, "stream", o.URL, object{"after": after, "count": 10})["ids"])
	want := c.log(t, c.key, after)
	if !slices.Equal(got, want) || len(want) != 10 {
		t.Errorf("it read the events %q, not %q", got, want)
	}
	attempts := o.attempts()
	if len(attempts) != 3 || attempts[0].after != after || attempts[1].after != want[1] || attempts[2].after != want[3] {
		t.Errorf("it connected %d times, after %v", len(attempts), attempts)
	}
}

func verify(t *testing.T, c *cell) {
	sent, secret := c.delivered(t, c.key)
	base := time.Now()
	list := append(trials(secret, base), trial{name: "a delivery of the service", headers: flat(sent.Header), body: string(sent.Body), secret: secret})
	var tasks []object
	for _, each := range list {
		tasks = append(tasks, object{"headers": each.headers, "body": base64.StdEncoding.EncodeToString([]byte(each.body)), "secret": each.secret, "now": base.Unix()})
	}
	verdicts := texts(c.ask(t, "verify", c.URL, object{"trials": tasks})["verdicts"])
	if len(verdicts) != len(list) {
		t.Fatalf("%d verdicts on %d trials", len(verdicts), len(list))
	}
	for i, each := range list {
		if verdicts[i] != each.want {
			t.Errorf("%s: %q, not %q", each.name, verdicts[i], each.want)
		}
	}
}

func upload(t *testing.T, c *cell) {
	got := c.ask(t, "upload", c.URL, object{"filename": "Plan Ü.png", "content": base64.StdEncoding.EncodeToString(picture)})
	medium := c.read(t, c.key, "/api/v1/media/"+text(got["id"]))
	sum := sha256.Sum256(picture)
	want := hex.EncodeToString(sum[:])
	if medium["filename"] != "Plan Ü.png" || medium["content_type"] != "image/png" || medium["sha256"] != want {
		t.Errorf("the medium is %v", medium)
	}
	if got["sha256"] != want {
		t.Errorf("it read back bytes of %v, not of %s", got["sha256"], want)
	}
}

func pieces(t *testing.T, c *cell) {
	const seed, size = 7, 20 << 20
	got := c.ask(t, "pieces", c.URL, object{"filename": "long.bin", "seed": seed, "bytes": size})
	medium := c.read(t, c.key, "/api/v1/media/"+text(got["id"]))
	sum := sha256.Sum256(bytes.Repeat([]byte{seed}, size))
	if medium["filename"] != "long.bin" || medium["bytes"] != float64(size) || medium["sha256"] != hex.EncodeToString(sum[:]) {
		t.Errorf("the medium is %v", medium)
	}
}

// picture is a PNG of one pixel.
var picture, _ = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")

func share(t *testing.T, c *cell) {
	document := c.make(t, c.key, "/api/v1/documents", object{"title": "Shared", "content": "# Hello\n\nIt is *read* by everybody."})
	got := c.ask(t, "share", c.URL, object{"document_id": document["id"]})
	res, err := http.Get(text(got["url"]))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || !bytes.Contains(page, []byte("<em>read</em> by everybody")) {
		t.Errorf("%v shows %d, %v", got["url"], res.StatusCode, err)
	}
}

func refuse(t *testing.T, c *cell) {
	got := c.ask(t, "refuse", c.URL, object{"id": "0190b0a0-0000-7000-8000-00000000000f"})
	want := object{"missing": "NotFound", "invalid": "ValidationError", "field": "color", "key": "Unauthorized"}
	for name, word := range want {
		if got[name] != word {
			t.Errorf("%s is %v, not %v", name, got[name], word)
		}
	}
}

// change: a client that changes a record which another client has changed since gets an error that says so.
func change(t *testing.T, c *cell) {
	document := c.make(t, c.key, "/api/v1/documents", object{"title": "First", "content": "one"})
	got := c.ask(t, "change", c.URL, object{"id": document["id"]})
	if got["second"] != "PreconditionFailed" || got["title"] != "Second" {
		t.Errorf("it says %v", got)
	}
	now := c.read(t, c.key, "/api/v1/documents/"+text(document["id"]))
	if now["title"] != "Second" || now["content"] != "two\n" {
		t.Errorf("the document is %v", now)
	}
}

// arrange: two documents below a third are swapped, and one of them goes to the top level. The client returns the tree after
// each move.
func arrange(t *testing.T, c *cell) {
	project := c.make(t, c.key, "/api/v1/projects", object{"name": "Tree"})
	got := c.ask(t, "arrange", c.URL, object{"project_id": project["id"]})
	if swapped := texts(got["swapped"]); !slices.Equal(swapped, []string{"1 top", "2 second", "2 first"}) {
		t.Errorf("after the first move it reads %q", swapped)
	}
	if top := texts(got["top"]); !slices.Equal(top, []string{"1 top", "2 second", "1 first"}) {
		t.Errorf("after the second move it reads %q", top)
	}
	var stored []string
	for _, entry := range c.read(t, c.key, "/api/v1/projects/"+text(project["id"])+"/tree")["data"].([]any) {
		stored = append(stored, fmt.Sprint(entry.(object)["depth"], " ", entry.(object)["title"]))
	}
	if !slices.Equal(stored, []string{"1 top", "2 second", "1 first"}) {
		t.Errorf("the tree is %q", stored)
	}
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func texts(v any) (out []string) {
	list, _ := v.([]any)
	for _, each := range list {
		out = append(out, text(each))
	}
	return out
}

// flat are the signature's headers of a delivery.
func flat(h http.Header) map[string]string {
	out := map[string]string{}
	for name := range h {
		if strings.HasPrefix(strings.ToLower(name), "webhook-") || name == "X-Service-Signature" {
			out[name] = h.Get(name)
		}
	}
	return out
}
