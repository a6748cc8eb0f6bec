package httpapi_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/media"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/sheaftest/s3test"
)

const (
	uploadsPath = "/api/v1/uploads"
	tusHeader   = "Tus-Resumable: 1.0.0"
	pieceHeader = "Content-Type: application/offset+octet-stream"
)

func metadata(pairs ...string) string {
	var out []string
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, pairs[i]+" "+base64.StdEncoding.EncodeToString([]byte(pairs[i+1])))
	}
	return "Upload-Metadata: " + strings.Join(out, ",")
}

// begin makes an upload and returns its path.
func begin(t testing.TB, c *apitest.Client, length int, headers ...string) string {
	t.Helper()
	made := c.POST(uploadsPath, nil, append(headers, tusHeader, "Upload-Length: "+strconv.Itoa(length))...).Want(t, 201)
	_, id, ok := strings.Cut(made.Header.Get("Location"), uploadsPath+"/")
	if !ok || made.Header.Get("Tus-Resumable") != "1.0.0" || made.Header.Get("Upload-Expires") == "" {
		t.Fatalf("begun with %v", made.Header)
	}
	return uploadsPath + "/" + id
}

func piece(c *apitest.Client, path string, offset int, body any) *apitest.Response {
	return c.PATCH(path, body, tusHeader, pieceHeader, "Upload-Offset: "+strconv.Itoa(offset))
}

// offset asks how far an upload has come.
func offset(t testing.TB, c *apitest.Client, path string) string {
	t.Helper()
	return c.Do("HEAD", path, nil, tusHeader).Want(t, 200).Header.Get("Upload-Offset")
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}

func content(t testing.TB, c *apitest.Client, path string) []byte {
	t.Helper()
	return c.GET(strings.Replace(path, "uploads", "media", 1)+"/content").Want(t, 200).Body
}

// D101: an upload in pieces becomes a medium with its id and its event.
func TestUpload_PiecesBecomeAMedium(t *testing.T) {
	apitest.EachStore(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		doc := c.POST(documents, fields{"title": "t"}).Text(t, "id")
		file := append(picture(t, 30, 20), randomBytes(100_000)...)
		path := begin(t, c, len(file), metadata("filename", "größe.png", "document_id", doc, "filetype", "text/html"))
		if got := offset(t, c, path); got != "0" {
			t.Fatalf("it begins at %s", got)
		}
		for at := 0; at < len(file); at += 30_000 {
			got := piece(c, path, at, file[at:min(at+30_000, len(file))]).Want(t, 204)
			if want := strconv.Itoa(min(at+30_000, len(file))); got.Header.Get("Upload-Offset") != want {
				t.Fatalf("after the piece at %d it is at %s", at, got.Header.Get("Upload-Offset"))
			}
		}
		head := c.Do("HEAD", path, nil, tusHeader).Want(t, 200)
		if n := strconv.Itoa(len(file)); head.Header.Get("Upload-Offset") != n || head.Header.Get("Upload-Length") != n || head.Header.Get("Upload-Expires") != "" {
			t.Errorf("when it is a medium: %v", head.Header)
		}
		m := c.GET(strings.Replace(path, "uploads", "media", 1)).Want(t, 200)
		if m.Text(t, "filename") != "größe.png" || m.Text(t, "content_type") != "image/png" || m.Text(t, "sha256") != sum(file) ||
			m.JSON["width"] != 30.0 || m.JSON["document_id"] != doc {
			t.Errorf("the medium is %s", m.Body)
		}
		if !bytes.Equal(content(t, c, path), file) {
			t.Error("its bytes are others")
		}
		events := c.GET("/api/v1/events?type=media.uploaded").Items(t)
		if len(events) != 1 || events[0]["resource_id"] != m.Text(t, "id") {
			t.Errorf("events: %v", events)
		}
		if used := storageUsed(t, c); used != int64(len(file)) {
			t.Errorf("%d bytes are used, want %d", used, len(file))
		}
		c.DELETE(path, tusHeader).WantError(t, 404, "NOT_FOUND")
	})
}

func storageUsed(t testing.TB, c *apitest.Client) int64 {
	t.Helper()
	storage := c.GET("/api/v1/me").Want(t, 200).JSON["storage"].(map[string]any)
	return int64(storage["used"].(float64))
}

// D101: what is refused, and with what.
func TestUpload_Refusals(t *testing.T) {
	apitest.EachStore(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		length := "Upload-Length: 10"
		c.POST(uploadsPath, nil, length).WantError(t, 412, "PRECONDITION_FAILED", "Tus-Resumable")
		c.POST(uploadsPath, nil, length, "Tus-Resumable: 0.2.2").WantError(t, 412, "PRECONDITION_FAILED", "1.0.0")
		for name, headers := range map[string][]string{
			"no length": {}, "zero": {"Upload-Length: 0"}, "negative": {"Upload-Length: -1"}, "words": {"Upload-Length: many"},
			"deferred": {length, "Upload-Defer-Length: 1"}, "no base64": {length, "Upload-Metadata: filename ???"},
			"a path": {length, metadata("filename", "../a.png")}, "no UTF-8": {length, metadata("filename", "\xff")},
			"no UUID": {length, metadata("document_id", "x")}, "much": {length, metadata("note", strings.Repeat("x", 9000))},
		} {
			if got := c.POST(uploadsPath, nil, append(headers, tusHeader)...); got.Status != 400 {
				t.Errorf("%s: %d %s", name, got.Status, got.Body)
			}
		}
		c.POST(uploadsPath, nil, tusHeader, length, metadata("document_id", unknownID)).WantError(t, 404, "NOT_FOUND")
		c.POST(uploadsPath, nil, tusHeader, fmt.Sprintf("Upload-Length: %d", sheaf.MaxMedium+1)).WantError(t, 413, "PAYLOAD_TOO_LARGE")

		path := begin(t, c, 10)
		c.PATCH(path, []byte("12345"), tusHeader, "Upload-Offset: 0", "Content-Type: application/json").WantError(t, 415, "UNSUPPORTED_MEDIA_TYPE", "application/offset+octet-stream")
		piece(c, path, 1, []byte("12345")).WantError(t, 409, "CONFLICT", "0 bytes")
		c.PATCH(path, []byte("12345"), tusHeader, pieceHeader, "Upload-Offset: x").WantError(t, 400, "VALIDATION_ERROR", "Upload-Offset")
		piece(c, path, 0, []byte("12345")).Want(t, 204)
		piece(c, path, 0, []byte("12345")).WantError(t, 409, "CONFLICT", "5 bytes")
		c.DELETE(path, tusHeader).Want(t, 204)
		if got := c.Do("HEAD", path, nil, tusHeader); got.Status != 404 {
			t.Errorf("after its end: %d", got.Status)
		}
		piece(c, path, 5, []byte("12345")).WantError(t, 404, "NOT_FOUND")
		if used := storageUsed(t, c); used != 0 {
			t.Errorf("%d bytes are used by nothing", used)
		}
		for _, anyone := range []*apitest.Client{c, a.Client(""), a.Client("garbage")} {
			for _, at := range []string{uploadsPath, path, uploadsPath + "/" + unknownID} {
				if got := anyone.Do("OPTIONS", at, nil).Want(t, 204); got.Header.Get("Tus-Version") != "1.0.0" {
					t.Errorf("options of %s: %v", at, got.Header)
				}
			}
		}
		a.Client("").Do("OPTIONS", "/api/v1/me", nil).WantError(t, 401, "UNAUTHORIZED")
		c.Do("OPTIONS", "/api/v1/me", nil).WantError(t, 405, "METHOD_NOT_ALLOWED")
		for _, concat := range []string{"partial", "final;" + path} {
			c.POST(uploadsPath, nil, tusHeader, "Upload-Length: 10", "Upload-Concat: "+concat).WantError(t, 400, "VALIDATION_ERROR", "Upload-Concat")
		}
		options := c.Do("OPTIONS", uploadsPath, nil).Want(t, 204)
		if options.Header.Get("Tus-Version") != "1.0.0" || options.Header.Get("Tus-Extension") != "creation,expiration,termination" || options.Header.Get("Tus-Max-Size") != strconv.Itoa(sheaf.MaxMedium) {
			t.Errorf("options: %v", options.Header)
		}
	})
}

// D101: a key has at most ten uploads, and their length is reserved. Both hold however many uploads begin
// at once.
func TestUpload_ReservesAndIsBounded(t *testing.T) {
	apitest.EachStore(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		c, other := ws.Client(""), ws.Client("")
		var all sync.WaitGroup
		status := make([]int, 30)
		for i := range status {
			all.Go(func() {
				status[i] = c.POST(uploadsPath, nil, tusHeader, "Upload-Length: 1000").Status
			})
		}
		all.Wait()
		made := 0
		for _, s := range status {
			if s == 201 {
				made++
			}
		}
		if made != sheaf.MaxUploads {
			t.Errorf("%d were begun: %v", made, status)
		}
		c.POST(uploadsPath, nil, tusHeader, "Upload-Length: 1000").WantError(t, 403, "UPLOAD_LIMIT_REACHED", "24 hours", "an hour")
		if used := storageUsed(t, c); used != 10_000 {
			t.Errorf("%d bytes are reserved", used)
		}
		begin(t, other, 1000)
		// Together they reserve a quarter of the quota: the rest is for what is sent at once.
		a.Quota.Store(4*11_500 + 3)
		other.POST(uploadsPath, nil, tusHeader, "Upload-Length: 501").WantError(t, 403, "QUOTA_REACHED", "quarter", "11500")
		path := begin(t, other, 500)
		upload(other, randomBytes(4*11_500+3-11_500), "").Want(t, 201)
		upload(other, randomBytes(1), "").WantError(t, 403, "QUOTA_REACHED")
		piece(other, path, 0, randomBytes(500)).Want(t, 204)
		other.POST(uploadsPath, nil, tusHeader, "Upload-Length: 500").WantError(t, 403, "QUOTA_REACHED", "stores")
	})
}

// D101: what arrived before a break is kept, and the client goes on from there, also when the service has
// not noticed that the first connection is gone.
func TestUpload_WhatArrivedBeforeABreakIsKept(t *testing.T) {
	apitest.EachStore(t, func(t *testing.T, a *apitest.API) {
		arrived := &counting{Store: a.Media.Store}
		a.Media.Store = arrived
		key := a.Workspace(sheaf.Pro).Key()
		c := a.Client(key)
		file := randomBytes(50_000)
		path := begin(t, c, len(file))
		for i, hangs := range []bool{false, true} {
			at, err := strconv.Atoi(offset(t, c, path))
			if err != nil {
				t.Fatal(err)
			}
			conn, err := net.Dial("tcp", a.Server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "PATCH %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%s\r\n%s\r\nUpload-Offset: %d\r\nContent-Length: %d\r\n\r\n", path, key, tusHeader, pieceHeader, at, len(file)-at)
			if _, err := conn.Write(file[at : at+10_000]); err != nil {
				t.Fatal(err)
			}
			sheaftest.Eventually(t, "the piece arrives", func() bool { return arrived.n.Load() == int64(10_000*(i+1)) })
			if !hangs {
				conn.Close()
			}
			// If the connection hangs, a HEAD makes the service store what has arrived. Another node may
			// hear of the HEAD somewhat later.
			sheaftest.Eventually(t, "what arrived is kept", func() bool { return offset(t, c, path) == strconv.Itoa(at+10_000) })
		}
		at, _ := strconv.Atoi(offset(t, c, path))
		piece(c, path, at, file[at:]).Want(t, 204)
		if !bytes.Equal(content(t, c, path), file) {
			t.Error("its bytes are others")
		}
	})
}

// counting counts what arrives.
type counting struct {
	media.Store
	n atomic.Int64
}

func (c *counting) Append(ctx context.Context, upload string, at media.Progress, r io.Reader) (media.Progress, error) {
	return c.Store.Append(ctx, upload, at, io.TeeReader(r, c))
}

func (c *counting) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}

// D101: an upload that receives nothing for 24 hours is removed with all that it held.
func TestUpload_ExpiresAfterADay(t *testing.T) {
	apitest.EachStore(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		a.Clock.Freeze() // but for the steps below
		old, young, silent := begin(t, c, 1000), begin(t, c, 1000), begin(t, c, 1000)
		piece(c, old, 0, randomBytes(500)).Want(t, 204)
		a.Clock.Advance(sheaf.UploadsAnnounced - time.Second)
		piece(c, young, 0, randomBytes(1)).Want(t, 204)
		a.Clock.Advance(time.Second)
		if got := c.Do("HEAD", silent, nil, tusHeader); got.Status != 404 {
			t.Errorf("an hour without a byte: %d", got.Status)
		}
		if err := a.App.Operator().SettleMedia(t.Context()); err != nil {
			t.Fatal(err)
		}
		if used := storageUsed(t, c); used != 2000 {
			t.Errorf("%d bytes are used", used)
		}
		a.Clock.Advance(sheaf.UploadsKept - sheaf.UploadsAnnounced - time.Second)
		piece(c, young, 1, randomBytes(499)).Want(t, 204)
		a.Clock.Advance(time.Second)
		if got := c.Do("HEAD", old, nil, tusHeader); got.Status != 404 {
			t.Errorf("after a day: %d", got.Status)
		}
		if err := a.App.Operator().SettleMedia(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := offset(t, c, young); got != "500" {
			t.Errorf("the young one is at %s", got)
		}
		if used := storageUsed(t, c); used != 1000 {
			t.Errorf("%d bytes are used", used)
		}
		if left := uploadsLeft(t, a.Media); left != 1 {
			t.Errorf("%d uploads have bytes", left)
		}
	})
}

func uploadsLeft(t testing.TB, s media.Store) (n int) {
	t.Helper()
	if err := s.Uploads(t.Context(), func(string) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// stumbling is a store of files whose last step fails a given number of times.
type stumbling struct {
	media.Store
	mu    sync.Mutex // guards joins
	joins int        // that are to fail
}

var errGone = errors.New("the place of files is gone")

func (f *stumbling) Join(ctx context.Context, upload string, at media.Progress, key media.Key) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.joins > 0 {
		f.joins--
		return errGone
	}
	return f.Store.Join(ctx, upload, at, key)
}

// D101: an upload whose last step fails is not reported as complete before there is a medium: the next
// request finishes it.
func TestUpload_IsFinishedByWhoeverAsksNext(t *testing.T) {
	apitest.EachStore(t, func(t *testing.T, a *apitest.API) {
		f := &stumbling{Store: a.Media.Store, joins: 2}
		a.Media.Store = f
		c := a.Workspace(sheaf.Pro).Client("")
		file := randomBytes(1000)
		path := begin(t, c, len(file))
		if got := piece(c, path, 0, file); got.Status < 500 {
			t.Fatalf("the last piece: %d", got.Status)
		}
		if got := c.Do("HEAD", path, nil, tusHeader); got.Status < 500 {
			t.Errorf("while it fails: %d %v", got.Status, got.Header)
		}
		c.GET(strings.Replace(path, "uploads", "media", 1)).WantError(t, 404, "NOT_FOUND")
		if got := offset(t, c, path); got != "1000" {
			t.Errorf("at last it is at %s", got)
		}
		if !bytes.Equal(content(t, c, path), file) {
			t.Error("its bytes are others")
		}
		if used := storageUsed(t, c); used != 1000 {
			t.Errorf("%d bytes are used", used)
		}
	})
}

// D101: pieces of any size end in a bucket, whose parts have five megabytes and more, and no part is left.
func TestUpload_IntoABucket(t *testing.T) {
	a := apitest.SQLite(t)
	a.Media.Store = s3test.Files(t)
	c := a.Workspace(sheaf.Pro).Client("")
	file := randomBytes(17 << 20)
	path := begin(t, c, len(file))
	at := 0
	for _, size := range []int{1 << 20, 8 << 20, 3 << 20, 1, 5<<20 - 1} {
		piece(c, path, at, file[at:at+size]).Want(t, 204)
		at += size
	}
	if !bytes.Equal(content(t, c, path), file) {
		t.Error("its bytes are others")
	}
	if n := uploadsLeft(t, a.Media); n != 0 {
		t.Errorf("%d uploads are left", n)
	}
}

// D101: a body of more than is missing, or more than ten megabytes, is refused; of the former nothing is kept.
func TestUpload_BodiesThatAreTooLarge(t *testing.T) {
	a := apitest.SQLite(t)
	c := a.Workspace(sheaf.Pro).Client("")
	path := begin(t, c, 11<<20)
	piece(c, path, 0, make([]byte, 10<<20+1)).WantError(t, 413, "PAYLOAD_TOO_LARGE", "chunkSize")
	if got := offset(t, c, path); got != "0" {
		t.Errorf("of a body that was announced too large, %s bytes are kept", got)
	}
	piece(c, path, 0, io.LimitReader(zeros{}, 10<<20+1)).WantError(t, 413, "PAYLOAD_TOO_LARGE", "chunkSize")
	if got := offset(t, c, path); got != strconv.Itoa(10<<20) {
		t.Errorf("of a body that was too large, %s bytes are kept", got)
	}
	short := begin(t, c, 5)
	piece(c, short, 0, []byte("12")).Want(t, 204)
	for _, body := range []any{[]byte("3456"), io.LimitReader(zeros{}, 4)} {
		piece(c, short, 2, body).WantError(t, 413, "PAYLOAD_TOO_LARGE", "rest of the file")
		if got := offset(t, c, short); got != "2" {
			t.Errorf("of a file that is longer than was announced, %s bytes are kept", got)
		}
	}
	piece(c, short, 2, []byte("345")).Want(t, 204)
	if got := content(t, c, short); string(got) != "12345" {
		t.Errorf("the medium is %q", got)
	}
}

// D101: many clients send different pieces of one upload from the same offset, while others ask for its offset
// and one tries to end it. What is left is one medium that matches its row, or an upload that can continue, or
// nothing. Only the room for that is taken.
func TestUpload_ManyGoOnWithItAtOnce(t *testing.T) {
	apitest.EachStore(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		path := begin(t, c, 50_000)
		var all sync.WaitGroup
		for i := range 12 {
			file := bytes.Repeat([]byte{byte(i)}, 50_000)
			all.Go(func() {
				for _, part := range [][2]int{{0, 25_000}, {25_000, 50_000}, {0, 50_000}, {49_999, 50_000}} {
					// The connection of one that is interrupted may end before its answer arrives.
					got := piece(c, path, part[0], file[part[0]:part[1]])
					if got.Err == nil && !slices.Contains([]int{204, 400, 404, 409}, got.Status) {
						t.Errorf("a piece at %d: %d %s", part[0], got.Status, got.Body)
					}
				}
			})
			all.Go(func() { c.Do("HEAD", path, nil, tusHeader) })
		}
		all.Go(func() { c.DELETE(path, tusHeader) })
		all.Wait()
		media := c.GET(mediaPath).Want(t, 200).Items(t)
		want := int64(0)
		switch c.Do("HEAD", path, nil, tusHeader).Status {
		case 200: // it is whole now, or waits for more
			if want = 50_000; len(media) == 1 && media[0]["sha256"] != sum(content(t, c, path)) {
				t.Errorf("the medium is %v, and its bytes are others", media[0])
			}
		case 404:
			if len(media) > 0 {
				t.Errorf("it was ended, and there is %v", media)
			}
		}
		if used := storageUsed(t, c); len(media) > 1 || used != want {
			t.Errorf("%d media and %d bytes, want %d", len(media), used, want)
		}
		if v := a.Doctor(); len(v) > 0 {
			t.Error(v)
		}
	})
}

// D101, D105: the quota holds exactly while 64 clients begin uploads in pieces and send whole files at once.
// The reservation of an upload ends when the upload is ended, or when nothing has arrived for a day. A finished
// upload counts once.
func TestUpload_QuotaIsExactUnderConcurrency(t *testing.T) {
	apitest.EachStore(t, func(t *testing.T, a *apitest.API) {
		const places, size = 12, 1000
		ws := a.Workspace(sheaf.Business)
		a.Quota.Store(places * size)
		var keys []*apitest.Client
		for range 8 {
			keys = append(keys, ws.Client(""))
		}
		var taken atomic.Int64 // places
		whole := func(c *apitest.Client) {
			if r := upload(c, randomBytes(size), ""); r.Status != 201 {
				r.WantError(t, 403, "QUOTA_REACHED")
				return
			}
			taken.Add(1)
		}
		paths := make([]string, 64) // of the uploads that were begun
		together(64, func(i int) {
			c := keys[i%len(keys)]
			if i%4 == 0 {
				whole(c)
				return
			}
			r := c.POST(uploadsPath, nil, tusHeader, "Upload-Length: "+strconv.Itoa(size))
			if r.Status != 201 {
				r.WantError(t, 403, "QUOTA_REACHED")
				return
			}
			taken.Add(1)
			paths[i] = uploadsPath + r.Header.Get("Location")[strings.LastIndexByte(r.Header.Get("Location"), '/'):]
		})
		if used := storageUsed(t, keys[0]); taken.Load() != places || used != places*size {
			t.Errorf("%d of 64 have one of %d places, and %d bytes are used", taken.Load(), places, used)
		}
		begun := slices.DeleteFunc(paths, func(path string) bool { return path == "" })
		if len(begun) > places/sheaf.UploadsShare {
			t.Errorf("%d unfinished uploads reserve more than a quarter", len(begun))
		}
		together(len(begun)+24, func(i int) {
			c := keys[i%len(keys)]
			switch {
			case i >= len(begun):
				whole(c)
			case i%3 == 0:
				c.DELETE(begun[i], tusHeader).Want(t, 204)
				taken.Add(-1)
			case i%3 == 1:
				piece(c, begun[i], 0, randomBytes(size)).Want(t, 204)
			}
		})
		if used := storageUsed(t, keys[0]); used != taken.Load()*size || used > places*size {
			t.Errorf("%d places are taken, and %d bytes are used", taken.Load(), used)
		}
		a.Clock.Advance(sheaf.UploadsKept)
		if err := a.App.Operator().SettleMedia(t.Context()); err != nil {
			t.Fatal(err)
		}
		kept := keys[0].GET(mediaPath+"?limit=1").Want(t, 200).JSON["total"].(float64)
		if used := storageUsed(t, keys[0]); used != int64(kept)*size {
			t.Errorf("%v media are left after a day, and %d bytes are used", kept, used)
		}
		for range places - int(kept) {
			upload(keys[0], randomBytes(size), "").Want(t, 201)
		}
		upload(keys[0], []byte("x"), "").WantError(t, 403, "QUOTA_REACHED")
		if v := a.Doctor(); len(v) > 0 {
			t.Error(v)
		}
	})
}

// D101: four connections send the same piece at once. A newer request interrupts an older one, so that a client
// whose connection hangs can go on: the older one gets 400 or a closed connection, and what arrived of it is
// kept. A request that then names the wrong offset gets 409. So it may happen that none of the four requests is
// accepted completely. A connection that stays open serves the next requests.
func TestUpload_OnePieceAtOnceLeavesConnectionsUsable(t *testing.T) {
	apitest.EachStore(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		c, key := ws.Client(""), ws.Key()
		body := randomBytes(200_000)
		ask := func(conn net.Conn, in *bufio.Reader, method, path, headers string, body []byte) (int, error) {
			fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n%s\r\n", method, path, key, len(body), headers)
			if _, err := conn.Write(body); err != nil {
				return 0, err
			}
			answer, err := http.ReadResponse(in, nil)
			if err != nil {
				return 0, err
			}
			defer answer.Body.Close()
			said, err := io.ReadAll(answer.Body)
			if err != nil {
				return 0, err
			}
			if !slices.Contains([]int{200, 204, 409}, answer.StatusCode) && !(method == "PATCH" && answer.StatusCode == 400) {
				t.Errorf("%s: %d %s", method, answer.StatusCode, said)
			}
			if answer.Close {
				return answer.StatusCode, io.EOF
			}
			return answer.StatusCode, nil
		}
		for range 10 {
			path := begin(t, c, len(body))
			var all sync.WaitGroup
			var took atomic.Int64
			for range 4 {
				all.Go(func() {
					conn, err := net.Dial("tcp", strings.TrimPrefix(a.Server.URL, "http://"))
					if err != nil {
						t.Error(err)
						return
					}
					defer conn.Close()
					in := bufio.NewReader(conn)
					status, err := ask(conn, in, "PATCH", path, tusHeader+"\r\n"+pieceHeader+"\r\nUpload-Offset: 0\r\n", body)
					if status == 204 {
						took.Add(1)
					}
					for i := 0; err == nil && i < 3; i++ {
						_, err = ask(conn, in, "GET", "/api/v1/me", "", nil)
					}
				})
			}
			all.Wait()
			if took.Load() > 1 {
				t.Errorf("%d pieces were taken", took.Load())
			}
			// What arrived is kept: the upload continues from there, and the medium has exactly these bytes.
			if took.Load() == 0 {
				at, err := strconv.Atoi(offset(t, c, path))
				if err != nil {
					t.Fatal(err)
				}
				piece(c, path, at, body[at:]).Want(t, 204)
			}
			if !bytes.Equal(content(t, c, path), body) {
				t.Error("the medium has other bytes")
			}
		}
	})
}
