package backup

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"sheaf.dev/internal/sheaftest/proctest"
)

// mediumFate is what a client knows of one of its media.
type mediumFate struct {
	content                string
	deleted, deletionAcked bool
}

// mediaJournal is what the clients know of their media, by id.
type mediaJournal struct {
	mu    *sync.Mutex // guards known
	known map[string]mediumFate
}

func newMediaJournal() mediaJournal { return mediaJournal{new(sync.Mutex), map[string]mediumFate{}} }

func (j mediaJournal) note(id string, f mediumFate) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.known[id] = f
}

// copy is what is known now.
func (j mediaJournal) copy() mediaJournal {
	j.mu.Lock()
	defer j.mu.Unlock()
	return mediaJournal{new(sync.Mutex), maps.Clone(j.known)}
}

// compare returns what of this journal the copy lacks, and what it has that nobody uploaded.
func (j mediaJournal) compare(final mediaJournal, copied map[string]string) (complaints []string) {
	complain := func(format string, args ...any) { complaints = append(complaints, fmt.Sprintf(format, args...)) }
	for id, f := range j.known {
		content, there := copied[id]
		switch {
		case f.deletionAcked && there:
			complain("medium %s was deleted and is back", id)
		case !there && !final.known[id].deleted:
			complain("medium %s is lost", id)
		case there && content != f.content:
			complain("medium %s has %q, and %q was uploaded", id, content, f.content)
		}
	}
	for id, content := range copied {
		if f, sent := final.known[id]; !sent || f.content != content {
			complain("medium %s, %q, was sent by nobody", id, content)
		}
	}
	return complaints
}

// oneMedium uploads a file, of its own bytes, and perhaps deletes it.
func (l *load) oneMedium(content string, deleted bool) {
	id, err := uploadTo(l.client, l.server, l.key, content)
	if err != nil {
		l.fail(err)
		return
	}
	f := mediumFate{content: content}
	l.media.note(id, f)
	if !deleted {
		return
	}
	f.deleted = true
	l.media.note(id, f)
	if l.call("DELETE", "/api/v1/media/"+id, "", nil, 204) {
		f.deletionAcked = true
		l.media.note(id, f)
	}
}

// uploadTo uploads a file and returns its id.
func uploadTo(client *http.Client, s *proctest.Server, key, content string) (string, error) {
	req, err := http.NewRequest("POST", s.URL+"/api/v1/media", strings.NewReader(content))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/octet-stream")
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var made struct{ ID string }
	if err := json.NewDecoder(res.Body).Decode(&made); err != nil || res.StatusCode != 201 {
		return "", fmt.Errorf("upload a medium: %d, %v", res.StatusCode, err)
	}
	return made.ID, nil
}

func uploadMedium(t *testing.T, s *proctest.Server, key, content string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	if _, err := uploadTo(client, s, key, content); err != nil {
		t.Fatal(err)
	}
}

// mediaOf returns the bytes of all media by id.
func mediaOf(t *testing.T, s *proctest.Server, key string) map[string]string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	all := map[string]string{}
	for offset := 0; ; offset += 100 {
		var page struct{ Data []struct{ ID string } }
		status, err := s.Call(key, "GET", fmt.Sprintf("/api/v1/media?limit=100&offset=%d", offset), nil, &page)
		if err != nil || status != 200 {
			t.Fatalf("list the media: %d, %v", status, err)
		}
		for _, m := range page.Data {
			all[m.ID] = download(t, client, s, key, m.ID)
		}
		if len(page.Data) < 100 {
			return all
		}
	}
}

func download(t *testing.T, client *http.Client, s *proctest.Server, key, id string) string {
	t.Helper()
	req, err := http.NewRequest("GET", s.URL+"/api/v1/media/"+id+"/content", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("read medium %s: %d, %v", id, res.StatusCode, err)
	}
	return string(b)
}
