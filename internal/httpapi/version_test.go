package httpapi_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/store"
)

// D82: newest first, the present one among them, each with who made it and when.
func TestVersions_ListAndGet(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Pro).Client("")
		me := c.GET("/api/v1/me").JSON
		key, user := me["key"].(fields)["id"].(string), me["user"].(fields)["id"].(string)
		one := at(documents, create(t, c, documents, fields{"title": "One"}))
		a.Clock.Advance(time.Second)
		c.PATCH(one, fields{"title": "Two", "content": "second\n"}).Want(t, 200)
		a.Clock.Advance(time.Second)
		c.PATCH(one, fields{"description": "no version"}).Want(t, 200)
		a.Clock.Advance(time.Second)
		put(c, one, "third\n").Want(t, 200)
		record := func(n int, title, text, when string) string {
			return fmt.Sprintf(`{"version":%d,"title":"%s","content_bytes":%d,"content_sha256":"%s","user_id":"%s","key_id":"%s","proposal_id":null,"created_at":"2026-11-15T%sZ","restored_version":null`,
				n, title, len(text), hashOf(text), user, key, when)
		}
		all := []string{record(3, "Two", "third\n", "10:00:03.000"), record(2, "Two", "second\n", "10:00:01.000"), record(1, "One", "", "10:00:00.000")}
		list := one + "/versions"
		wantBody(t, c.GET(list), `{"data":[`+strings.Join(all, "},")+`}],"total":3,"limit":50,"offset":0}`)
		wantBody(t, c.GET(list+"?limit=1&offset=1"), `{"data":[`+all[1]+`}],"total":3,"limit":1,"offset":1}`)
		if link := c.GET(list + "?limit=1&offset=1").Header.Get("Link"); !strings.Contains(link, `offset=2`) || !strings.Contains(link, `offset=0`) {
			t.Errorf("Link %q", link)
		}
		wantBody(t, c.GET(list+"?order=asc&limit=2"), `{"data":[`+all[2]+`},`+all[1]+`}],"total":3,"limit":2,"offset":0}`)
		wantBody(t, c.GET(list+"?order=asc&offset=2"), `{"data":[`+all[0]+`}],"total":3,"limit":50,"offset":2}`)
		wantBody(t, c.GET(list+"?order=desc&limit=1"), `{"data":[`+all[0]+`}],"total":3,"limit":1,"offset":0}`)
		c.GET(list+"?order=newest").WantError(t, 400, "VALIDATION_ERROR", "order")
		wantBody(t, c.GET(list+"/3"), all[0]+`,"content":"third\n"}`)
		wantBody(t, c.GET(list+"/2"), all[1]+`,"content":"second\n"}`)
		wantBody(t, c.GET(list+"/1"), all[2]+`,"content":""}`)
		c.GET(list+"/2", "If-None-Match: "+c.GET(list+"/2").Header.Get("ETag")).Want(t, 304)
		c.GET(list+"/4").WantError(t, 404, "NOT_FOUND", "version")
		for _, bad := range []string{"0", "-1", "x", "1.5", "99999999999999999999"} {
			c.GET(list+"/"+bad).WantError(t, 400, "VALIDATION_ERROR", "version")
		}
		c.GET(list+"?limit=0").WantError(t, 400, "VALIDATION_ERROR", "limit")
		c.DELETE(one).Want(t, 204)
		for _, path := range []string{"", "/1", "/1/diff"} {
			c.GET(list+path).WantError(t, 404, "NOT_FOUND", "document")
		}
		c.POST(list+"/1/restore", nil).WantError(t, 404, "NOT_FOUND", "document")
		c.POST(one+"/restore", nil).Want(t, 200)
		wantBody(t, c.GET(list+"/2"), all[1]+`,"content":"second\n"}`) // deleting softly keeps them
	})
}

// D82: a unified diff of the texts.
func TestVersions_Diff(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		one := at(documents, create(t, c, documents, fields{"title": "T\nx", "content": "a\nb\nc\n"}))
		put(c, one, "a\nB\nc\n").Want(t, 200)
		put(c, one, "a\nB\nc\nd").Want(t, 200)
		r := c.GET(one+"/versions/1/diff?to=2").Want(t, 200)
		wantBody(t, r, "--- version 1: T x\n+++ version 2: T x\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n")
		if got := r.Header.Get("Content-Type"); got != "text/plain; charset=utf-8" {
			t.Errorf("Content-Type %q", got)
		}
		wantBody(t, c.GET(one+"/versions/2/diff").Want(t, 200), "--- version 2: T x\n+++ version 3: T x\n@@ -1,3 +1,4 @@\n a\n B\n c\n+d\n\\ No newline at end of file\n")
		wantBody(t, c.GET(one+"/versions/2/diff?to=1"), "--- version 2: T x\n+++ version 1: T x\n@@ -1,3 +1,3 @@\n a\n-B\n+b\n c\n")
		wantBody(t, c.GET(one+"/versions/3/diff"), "")
		c.GET(one+"/versions/1/diff?to=4").WantError(t, 404, "NOT_FOUND", "version")
		c.GET(one+"/versions/4/diff").WantError(t, 404, "NOT_FOUND", "version")
		for _, bad := range []string{"0", "x", ""} {
			c.GET(one+"/versions/1/diff?to="+bad).WantError(t, 400, "VALIDATION_ERROR", "to")
		}
		for _, bad := range []string{"0", "-1", "x", "01", "+1", "1.0"} {
			c.GET(one+"/versions/"+bad).WantError(t, 400, "VALIDATION_ERROR", "version")
		}
	})
}

// D82: texts of more than 20,000 lines are not compared, and the worst of those that are cost little:
// the test would not end within minutes if all pairs of lines were looked at.
func TestVersions_DiffIsBounded(t *testing.T) {
	a := apitest.SQLite(t)
	c := a.Workspace(sheaf.Business).Client("")
	one := at(documents, create(t, c, documents, fields{"title": "T", "content": strings.Repeat("x\n", 20_001)}))
	put(c, one, "y\n").Want(t, 200)
	c.GET(one+"/versions/1/diff").WantError(t, 400, "VALIDATION_ERROR", "20000", "20001")
	c.GET(one+"/versions/2/diff?to=1").WantError(t, 400, "VALIDATION_ERROR", "20000")
	hostile := map[string][2]string{
		"nothing in common":  {numbered(20_000, "a"), numbered(20_000, "b")},
		"two lines mixed":    {mixed(20_000, 7), mixed(20_000, 11)},
		"long lines, nearly": {strings.Repeat(strings.Repeat("x", 1000)+"a\n", 1000), strings.Repeat(strings.Repeat("x", 1000)+"b\n", 1000)},
		"one long line":      {strings.Repeat("x", 1<<20), strings.Repeat("y", 1<<20)},
	}
	for name, pair := range hostile {
		one := at(documents, create(t, c, documents, fields{"title": name, "content": pair[0]}))
		put(c, one, pair[1]).Want(t, 200)
		diff := string(c.GET(one+"/versions/1/diff").Want(t, 200).Body)
		if got := patched(t, pair[0], diff); got != pair[1] {
			t.Errorf("%s: the diff leads to another text", name)
		}
	}
}

func numbered(n int, letter string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s%d\n", letter, i)
	}
	return b.String()
}

// mixed has two sorts of lines in an order that looks random.
func mixed(n, seed int) string {
	var b strings.Builder
	for range n {
		seed = (seed*1103515245 + 12345) & (1<<31 - 1)
		b.WriteString([]string{"a\n", "b\n"}[seed>>16&1])
	}
	return b.String()
}

// patched applies a unified diff to a text, as patch does.
func patched(t *testing.T, text, diff string) string {
	t.Helper()
	old := strings.SplitAfter(text, "\n")
	var out strings.Builder
	at := 0
	lines := strings.SplitAfter(diff, "\n")
	for i := 2; i < len(lines); i++ {
		line := lines[i]
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], `\ No newline`) {
			line = strings.TrimSuffix(line, "\n")
		}
		switch {
		case strings.HasPrefix(line, "@@"):
			var from int
			if _, err := fmt.Sscanf(line, "@@ -%d", &from); err != nil {
				t.Fatal(err)
			}
			for at < from-1 {
				out.WriteString(old[at])
				at++
			}
		case strings.HasPrefix(line, "+"):
			out.WriteString(line[1:])
		case strings.HasPrefix(line, "-"):
			at++
		case strings.HasPrefix(line, " "):
			out.WriteString(old[at])
			at++
		}
	}
	for ; at < len(old); at++ {
		out.WriteString(old[at])
	}
	return out.String()
}

// D82: title and text as they were, as a new version.
func TestVersions_Restore(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		id := create(t, c, documents, fields{"title": "One", "description": "kept", "content": "first"})
		one := at(documents, id)
		tag := c.GET(one).Header.Get("ETag")
		c.PATCH(one, fields{"title": "Two", "content": "second", "description": "later"}).Want(t, 200)
		c.POST(one+"/versions/1/restore", nil, "If-Match: "+tag).WantError(t, 412, "PRECONDITION_FAILED")
		es := emitted(t, c, func() {
			r := c.POST(one+"/versions/1/restore", nil, "Idempotency-Key: r").Want(t, 200)
			again := c.POST(one+"/versions/1/restore", nil, "Idempotency-Key: r").Want(t, 200)
			wantBody(t, again, string(r.Body))
			if r.JSON["version"] != 3.0 || r.JSON["title"] != "One" || r.JSON["content_sha256"] != hashOf("first") || r.JSON["description"] != "later" {
				t.Errorf("restored %s", r.Body)
			}
		})
		wantSame(t, "restoring", typesOf(es), []string{"document.updated " + id})
		if got := c.GET(one).JSON["content"]; got != "first" {
			t.Errorf("the text is %q", got)
		}
		if got := c.GET(one + "/versions/2").JSON["content"]; got != "second" {
			t.Errorf("version 2 has become %q", got)
		}
		es = emitted(t, c, func() {
			for _, same := range []string{"1", "3"} { // it is so already
				if r := c.POST(one+"/versions/"+same+"/restore", nil).Want(t, 200); r.JSON["version"] != 3.0 {
					t.Errorf("restoring %s made %s", same, r.Body)
				}
			}
		})
		if len(es) != 0 {
			t.Errorf("changing nothing emitted %q", typesOf(es))
		}
		// The version says which one it restored, even after the next change. Typing the same text again restores
		// nothing.
		for _, text := range []string{"second", "first"} {
			c.PATCH(one, fields{"content": text}).Want(t, 200)
		}
		for n, want := range []any{nil, nil, 1.0, nil, nil} {
			if got := c.GET(fmt.Sprint(one, "/versions/", n+1)).JSON["restored_version"]; got != want {
				t.Errorf("version %d restored %v, want %v", n+1, got, want)
			}
		}
		c.POST(one+"/versions/9/restore", nil).WantError(t, 404, "NOT_FOUND", "version")
		c.POST(one+"/versions/9/restore", nil, `If-Match: "1-x"`).WantError(t, 404, "NOT_FOUND", "version")
	})
}

// D82: at most 1,000 versions are kept, from the moment of the change on.
func TestVersions_ThousandAtMost(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		c := ws.Client("")
		id := create(t, c, documents, fields{"title": "d", "content": "text 1"})
		one := at(documents, id)
		// Many changes in few transactions, as the store makes them.
		for from := 1; from < 999; from += 100 {
			err := a.Store.Write(context.Background(), func(tx *store.Tx) error {
				w, err := tx.LockWorkspace(ws.ID)
				for n := from; err == nil && n < min(from+100, 999); n++ {
					var before sheaf.Document
					if before, err = tx.Document(ws.ID, sheaf.DocumentID(id)); err != nil {
						return err
					}
					text := store.NewText(fmt.Sprint("text ", n+1))
					d := before
					d.Version, d.ContentBytes, d.ContentSHA256 = before.Version+1, text.Bytes(), text.SHA256()
					var grown int64
					grown, err = tx.AddVersion(ws.ID, before, d, sheaf.Author{}, text)
					w.Storage += grown
				}
				if err != nil {
					return err
				}
				return tx.SaveWorkspace(w)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		first := func(want int) {
			t.Helper()
			for n, status := range map[int]int{want - 1: 404, want: 200, want + 1: 200} {
				if n > 0 {
					c.GET(fmt.Sprintf("%s/versions/%d", one, n)).Want(t, status)
				}
			}
		}
		put(c, one, "text 1000").Want(t, 200)
		first(1)
		put(c, one, "text 1001").Want(t, 200)
		first(2)
		put(c, one, "text 500").Want(t, 200)
		first(3)
		list := c.GET(one+"/versions?limit=1&offset=999").Want(t, 200)
		if list.JSON["total"] != 1000.0 || list.Items(t)[0]["version"] != 3.0 {
			t.Errorf("the oldest of them: %s", list.Body)
		}
	})
}
