package clients

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"sheaf.dev/client"
	"sheaf.dev/webhook"
)

// startGo plays the rows with the package client, in this process.
func startGo(*testing.T, *site) func(t *testing.T, task object) object {
	plays := map[string]func(*testing.T, *client.Client, object) object{
		"create": goCreate, "page": goPage, "stream": goStream, "verify": goVerify,
		"upload": goUpload, "pieces": goPieces, "share": goShare, "refuse": goRefuse, "change": goChange, "arrange": goArrange,
	}
	return func(t *testing.T, task object) object {
		t.Helper()
		return plays[task["row"].(string)](t, goClient(t, task, task["key"].(string)), task)
	}
}

func goClient(t *testing.T, task object, key string) *client.Client {
	t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	c, err := client.New(client.Config{Server: task["server"].(string), Key: key, HTTP: &http.Client{Transport: transport}})
	return must(t, c, err)
}

func must[T any](t *testing.T, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func goCreate(t *testing.T, c *client.Client, task object) object {
	in := client.NewProject{Name: task["name"].(string), Color: text(task["color"])}
	if metadata, ok := task["metadata"].(object); ok {
		in.Metadata = map[string]string{"space": metadata["space"].(string)}
	}
	p, err := c.Projects.Create(t.Context(), in)
	return object{"id": must(t, p, err).ID}
}

func goPage(t *testing.T, c *client.Client, task object) object {
	var ids []any
	for d, err := range c.Documents.All(t.Context(), client.DocumentFilter{ProjectID: task["project_id"].(string)}) {
		ids = append(ids, must(t, d, err).ID)
	}
	return object{"ids": ids}
}

func goStream(t *testing.T, c *client.Client, task object) object {
	var ids []any
	for e, err := range c.Events.Stream(t.Context(), client.EventFilter{After: task["after"].(string)}) {
		if ids = append(ids, must(t, e, err).ID); len(ids) == task["count"].(int) {
			break
		}
	}
	return object{"ids": ids}
}

func goVerify(t *testing.T, _ *client.Client, task object) object {
	words := map[error]string{nil: "", webhook.ErrNoSignature: "NotSigned", webhook.ErrMalformed: "Malformed",
		webhook.ErrMismatch: "Mismatch", webhook.ErrTimestamp: "Stale", webhook.ErrSecret: "BadSecret"}
	var verdicts []any
	for _, each := range task["trials"].([]object) {
		header := http.Header{}
		for name, value := range each["headers"].(map[string]string) {
			header.Set(name, value)
		}
		body, err := base64.StdEncoding.DecodeString(each["body"].(string))
		if err != nil {
			t.Fatal(err)
		}
		now := webhook.WithClock(func() time.Time { return time.Unix(each["now"].(int64), 0) })
		_, err = webhook.Parse(each["secret"].(string), header, body, now)
		for known, word := range words {
			if errors.Is(err, known) {
				verdicts = append(verdicts, word)
			}
		}
	}
	return object{"verdicts": verdicts}
}

func goUpload(t *testing.T, c *client.Client, task object) object {
	content, err := base64.StdEncoding.DecodeString(task["content"].(string))
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Media.Upload(t.Context(), client.NewMedium{Filename: task["filename"].(string)}, content)
	must(t, m, err)
	var back bytes.Buffer
	if err := c.Media.Download(t.Context(), m.ID, &back); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(back.Bytes())
	return object{"id": m.ID, "sha256": hex.EncodeToString(sum[:])}
}

func goPieces(t *testing.T, c *client.Client, task object) object {
	content := bytes.Repeat([]byte{byte(task["seed"].(int))}, task["bytes"].(int))
	m, err := c.Media.UploadFrom(t.Context(), client.NewMedium{Filename: task["filename"].(string)}, bytes.NewReader(content), int64(len(content)))
	return object{"id": must(t, m, err).ID}
}

func goShare(t *testing.T, c *client.Client, task object) object {
	s, err := c.Shares.Create(t.Context(), client.NewShare{ResourceType: "document", ResourceID: task["document_id"].(string)})
	return object{"url": must(t, s, err).URL}
}

// goWord is the class of an error in the other languages.
func goWord(err error) string {
	words := map[client.Code]string{client.ErrNotFound: "NotFound", client.ErrValidation: "ValidationError",
		client.ErrUnauthorized: "Unauthorized", client.ErrPreconditionFailed: "PreconditionFailed"}
	var refused *client.Error
	errors.As(err, &refused)
	if refused == nil {
		return ""
	}
	return words[refused.Code]
}

func goRefuse(t *testing.T, c *client.Client, task object) object {
	_, missing := c.Projects.Get(t.Context(), task["id"].(string))
	_, invalid := c.Projects.Create(t.Context(), client.NewProject{Name: "Wrong", Color: "blue"})
	_, unknown := goClient(t, task, "shf_unknown").Me(t.Context())
	var refused *client.Error
	errors.As(invalid, &refused)
	return object{"missing": goWord(missing), "invalid": goWord(invalid), "field": refused.Field, "key": goWord(unknown)}
}

func goArrange(t *testing.T, c *client.Client, task object) object {
	project := task["project_id"].(string)
	create := func(title, parent string) client.Document {
		d, err := c.Documents.Create(t.Context(), client.NewDocument{Title: title, ProjectID: project, ParentID: parent})
		return must(t, d, err)
	}
	tree := func() (out []any) {
		read, err := c.Projects.Tree(t.Context(), project)
		for _, e := range must(t, read, err).Data {
			out = append(out, fmt.Sprint(e.Depth, " ", e.Title))
		}
		return out
	}
	move := func(id string, to client.DocumentMove) []any {
		d, err := c.Documents.Move(t.Context(), id, to)
		must(t, d, err)
		return tree()
	}
	top := create("top", "")
	first, second := create("first", top.ID), create("second", top.ID)
	return object{"swapped": move(second.ID, client.DocumentMove{BeforeID: first.ID}), "top": move(first.ID, client.DocumentMove{ParentID: client.Null[string]()})}
}

func goChange(t *testing.T, c *client.Client, task object) object {
	id := task["id"].(string)
	d, err := c.Documents.Get(t.Context(), id)
	read := must(t, d, err).ETag
	d, err = c.Documents.Update(t.Context(), id, client.DocumentChange{Title: client.Set("Second")}, client.IfMatch(read))
	must(t, d, err)
	_, second := c.Documents.Update(t.Context(), id, client.DocumentChange{Title: client.Set("Third")}, client.IfMatch(read))
	if _, err := c.Documents.PutContent(t.Context(), id, "two\n"); err != nil {
		t.Fatal(err)
	}
	return object{"second": goWord(second), "title": d.Title}
}
