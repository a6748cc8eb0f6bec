package crash

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest"
)

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// file is what its client knows of a file that was acknowledged.
type file struct {
	name, sum string
	deleted   bool // acknowledged
	unsure    bool // it may be deleted: that was asked for, and never answered
}

// uploaders are clients that upload files, whole and in pieces, and delete some of them, until they are stopped. What is
// not answered they ask again, a few times; then they give it up and go on with the next.
type uploaders struct {
	keys  []string
	gone  <-chan struct{} // closed when the test is over, however it ended
	ended atomic.Bool     // no file is begun any more
	group sync.WaitGroup

	mu            sync.Mutex // guards what follows
	server        *server    // nil before the first
	files         map[string]*file
	unsure        map[string]bool // names of files that were given up
	away          map[string]bool // requests that were refused with 503
	acks, refused int
	complaints    []string // what a client was told that cannot be
}

func startUploaders(t *testing.T, keys []string) *uploaders {
	u := &uploaders{keys: keys, gone: t.Context().Done(), files: map[string]*file{}, unsure: map[string]bool{}, away: map[string]bool{}}
	for i := range clients {
		u.group.Go(func() {
			for n := 0; !u.ended.Load(); n++ {
				u.upload(i, n)
			}
		})
	}
	return u
}

// upload sends a file, every second one in pieces, and deletes half of them.
func (u *uploaders) upload(client, n int) {
	name, content := nameOf(client, n), contentOf(client, n)
	send := u.whole
	if n%2 == 1 {
		send = u.pieces
	}
	id := send(name, content)
	if id == "" {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.unsure[name] = true
		return
	}
	k := &file{name: name, sum: sum(content)}
	u.mu.Lock()
	u.files[id] = k
	u.acks++
	u.mu.Unlock()
	if n%4 >= 2 {
		u.remove(id, k)
	}
}

func nameOf(client, n int) string { return fmt.Sprintf("%d-%d", client, n) }

// contentOf are the bytes of a file: up to 700 KB, and two of eight are the same for all clients.
func contentOf(client, n int) []byte {
	seed := [32]byte{byte(client), byte(n), byte(n >> 8)}
	if n%8 >= 6 {
		seed[0] = 255
	}
	random := mathrand.NewChaCha8(seed)
	content := make([]byte, 1+random.Uint64()%700_000)
	_, _ = random.Read(content)
	return content
}

// again is how often a client asks for one thing, and pause for how long it waits in between: some seconds, in which a
// killed server is started again.
const (
	again = 200
	pause = 25 * time.Millisecond
)

// persist asks until it is done, and reports false when that is given up.
func (u *uploaders) persist(try func(s *server) (done bool)) bool {
	for range again {
		if s := u.to(); s != nil && try(s) {
			return true
		}
		select {
		case <-u.gone:
			u.ended.Store(true)
			return false
		case <-time.After(pause): // the server is away, or refuses: the pace of trying again
		}
	}
	return false
}

// whole sends a file in one request, which has one effect however often it is sent.
func (u *uploaders) whole(name string, content []byte) (id string) {
	u.persist(func(s *server) bool {
		status, _, body, err := s.ask(http.MethodPost, "/api/v1/media?filename="+name, content, map[string]string{"Idempotency-Key": name})
		switch u.judge(name, status, err) {
		case answered:
			id = idIn(body)
		case senseless:
		default:
			return false
		}
		return true
	})
	return id
}

// pieces sends a file by tus in three pieces.
func (u *uploaders) pieces(name string, content []byte) (id string) {
	path, key, part := "", 0, len(content)/3+1
	done := u.persist(func(s *server) bool {
		if path == "" {
			path = u.begin(s, &key, name, len(content))
			return false
		}
		status, header, _, err := s.tus(u.keys[key], http.MethodHead, path, nil, nil)
		if u.judge(name+", asked for", status, err) != answered {
			return false
		}
		at, _ := strconv.Atoi(header.Get("Upload-Offset"))
		for at < len(content) {
			end := min(at+part, len(content))
			status, _, _, err := s.tus(u.keys[key], http.MethodPatch, path, content[at:end], map[string]string{"Upload-Offset": strconv.Itoa(at), "Content-Type": "application/offset+octet-stream"})
			if u.judge(name+", a piece", status, err) != answered {
				return false
			}
			at = end
		}
		return true
	})
	if !done {
		return ""
	}
	return path[strings.LastIndexByte(path, '/')+1:]
}

// begin makes an upload and returns its path. A key has ten of them at most that are not finished: then comes the next.
func (u *uploaders) begin(s *server, key *int, name string, length int) string {
	status, header, _, err := s.tus(u.keys[*key], http.MethodPost, "/api/v1/uploads", nil, map[string]string{"Upload-Length": strconv.Itoa(length),
		"Upload-Metadata": "filename " + base64.StdEncoding.EncodeToString([]byte(name))})
	if status == http.StatusForbidden {
		*key = (*key + 1) % len(u.keys)
		return ""
	}
	if u.judge("a new upload", status, err) != answered {
		return ""
	}
	_, path, _ := strings.Cut(header.Get("Location"), "/api/")
	return "/api/" + path
}

// remove deletes a medium.
func (u *uploaders) remove(id string, k *file) {
	done := u.persist(func(s *server) bool {
		status, _, _, err := s.ask(http.MethodDelete, "/api/v1/media/"+id, nil, nil)
		return err == nil && (status == http.StatusNoContent || status == http.StatusNotFound)
	})
	u.mu.Lock()
	defer u.mu.Unlock()
	k.deleted, k.unsure = done, !done
}

// What an answer means.
const (
	unanswered = iota
	answered
	senseless
)

// judge tells a good answer from one that is to be asked for again, and complains of what has no reason.
func (u *uploaders) judge(what string, status int, err error) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case err != nil:
		return unanswered
	case status/100 == 2:
		return answered
	case status == http.StatusServiceUnavailable:
		u.refused++
		u.away[what] = true
		return unanswered
	}
	u.complaints = append(u.complaints, fmt.Sprintf("%s was answered with %d", what, status))
	return senseless
}

// wasRefused reports whether the server has refused a request with 503.
func (u *uploaders) wasRefused(what string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.away[what]
}

func (u *uploaders) to() *server {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.server
}

func (u *uploaders) target(s *server) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.server = s
}

// end stops the clients, each when its last file has been answered or given up.
func (u *uploaders) end(t *testing.T) {
	t.Helper()
	acks := func() int {
		u.mu.Lock()
		defer u.mu.Unlock()
		return u.acks + len(u.complaints)
	}
	had := acks()
	sheaftest.Eventually(t, "files are acknowledged again", func() bool { return acks() >= had+clients })
	u.ended.Store(true)
	u.group.Wait()
}

// tus is ask in the protocol of uploads.
func (s *server) tus(key, method, path string, body []byte, headers map[string]string) (int, http.Header, []byte, error) {
	with := map[string]string{"Tus-Resumable": "1.0.0", "Authorization": "Bearer " + key}
	for name, value := range headers {
		with[name] = value
	}
	return s.ask(method, path, body, with)
}

// ask makes one request with bytes as they are.
func (s *server) ask(method, path string, body []byte, headers map[string]string) (status int, header http.Header, answer []byte, err error) {
	req, err := http.NewRequest(method, s.URL+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+s.key)
	req.Header.Set("Content-Type", "application/octet-stream")
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	return res.StatusCode, res.Header, answer, err
}

// idIn is the id of what an answer shows.
func idIn(body []byte) string {
	var shown struct{ ID string }
	_ = json.Unmarshal(body, &shown) // an answer without one has no id
	return shown.ID
}
