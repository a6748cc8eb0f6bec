package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sheaf.dev/internal/store"
)

// publishRows measures files, and pages that are shared.
func (b *bench) publishRows() {
	b.try("media", b.media)
	b.try("share", b.share)
}

// fileClients is how many upload and download at a time, each in a workspace of its own.
const fileClients = 16

// media measures uploads and downloads of files of 1 MB beside what the disk and http.ServeFile can do, and the memory that
// an upload of 2 GiB takes.
func (b *bench) media() error {
	c, end, err := b.grown("media", func(o store.Options) ([]owner, error) { return seed(o, size{owners: fileClients}) })
	if err != nil {
		return err
	}
	c.name = "sheaf"
	err = errors.Join(b.uploads(c), b.downloads(c))
	if err == nil && (!b.quick || len(b.only) > 0) {
		err = b.largeUpload(c)
	}
	return errors.Join(err, end())
}

// file returns 1 MB, different each time: a number is at its end.
func file() []byte {
	content := make([]byte, megabyte)
	_, _ = mathrand.NewChaCha8([32]byte{1}).Read(content)
	copy(content[len(content)-len(digits)-len(counter):], string(digits)+counter)
	return content
}

// uploads lets every client upload files, each in one request.
func (b *bench) uploads(c *contender) error {
	r := b.begin(row{Work: "upload 1 MB", Group: "media", Conns: fileClients, Unit: "/s"})
	var requests [][]byte
	for _, o := range c.owners {
		head := fmt.Sprintf("POST /api/v1/media?filename=a HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n",
			o.Token, megabyte)
		requests = append(requests, append([]byte(head), file()...))
	}
	work := workload{Requests: requests, Time: time.Millisecond, SkipPass: true}
	if err := b.warm(c, work, fileClients); err != nil {
		return err
	}
	work.Time = b.time
	for range b.rounds {
		if err := b.bareFiles(r); err != nil {
			return err
		}
		if err := b.load(r, c, work); err != nil {
			return err
		}
	}
	b.keep(r)
	r.atLeast(0.5, "sheaf", "limit", "≥ %.2f of the limit")
	return nil
}

// bareFiles is the limit of uploads: the same number of clients write the same files, flush each file and
// its name, and do nothing else.
func (b *bench) bareFiles(r *row) error {
	dir, err := os.MkdirTemp(b.dir, "files-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var made atomic.Int64
	errs := make([]error, fileClients)
	var group sync.WaitGroup
	began, cpu := time.Now(), ownCPU()
	for i := range fileClients {
		group.Go(func() {
			content := file()
			for n := 0; errs[i] == nil && time.Since(began) < b.time; n++ {
				count(content, i*10_000_000+n)
				errs[i] = writeFile(filepath.Join(dir, fmt.Sprintf("%d-%d", i, n)), content)
				made.Add(1)
			}
		})
	}
	group.Wait()
	n := float64(made.Load())
	v := n / time.Since(began).Seconds()
	r.figure("limit").add(sample{value: v, cpu: float64((ownCPU() - cpu).Microseconds()) / n})
	b.logf("%-28s %3d  %-18s %9s %s\n", r.Work, r.Conns, "limit", short(v), r.Unit)
	return errors.Join(errs...)
}

// writeFile writes a file that outlasts a power cut.
func writeFile(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// downloads lets every client read a file of its own again and again, beside http.ServeFile on the same files.
func (b *bench) downloads(c *contender) error {
	content := file()
	sum := sha256.Sum256(content)
	hash := hex.EncodeToString(sum[:])
	var ours, bare [][]byte
	for _, o := range c.owners {
		var made struct{ ID string }
		if err := c.process.send(o, http.MethodPost, "/api/v1/media?filename=a", nil, content, &made); err != nil {
			return err
		}
		ours = append(ours, raw(http.MethodGet, "/api/v1/media/"+made.ID+"/content", o, ""))
		bare = append(bare, raw(http.MethodGet, "/"+string(o.Workspace)+"/"+hash[:2]+"/"+hash, o, ""))
	}
	limit, err := b.serveFiles(filepath.Join(c.options.Folder, "media", "content"))
	if err != nil {
		return err
	}
	r := b.begin(row{Work: "download 1 MB", Group: "media", Conns: fileClients, Unit: "/s"})
	err = b.alternate(r, []*contender{limit, c}, func(who *contender) workload {
		if who == limit {
			return workload{Requests: bare}
		}
		return workload{Requests: ours}
	})
	if err != nil {
		return err
	}
	r.atLeast(0.8, "sheaf", "limit", "≥ %.2f of http.ServeFile")
	return limit.process.stop()
}

// serveFiles starts the limit of downloads.
func (b *bench) serveFiles(dir string) (*contender, error) {
	addr, stats := freeAddr(), freeAddr()
	p, err := b.start("files", b.self, nil, "files", addr, stats, dir)
	if err != nil {
		return nil, err
	}
	p.addr, p.stats = addr, stats
	_, err = p.ready("/ready")
	return &contender{name: "limit", process: p}, err
}

// filesCommand answers with the files of a folder, by their paths.
func filesCommand(addr, stats, dir string) error {
	go http.ListenAndServe(stats, http.HandlerFunc(writeStats))
	return http.ListenAndServe(addr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ready" {
			return
		}
		http.ServeFile(w, r, filepath.Join(dir, filepath.FromSlash(r.URL.Path)))
	}))
}

const (
	largeFile  = 2 << 30
	largePiece = 10 << 20
)

// largeUpload sends 2 GiB in pieces of 10 MB, and measures by how much the server grows beyond what it had when it was idle.
func (b *bench) largeUpload(c *contender) error {
	if err := b.again(c); err != nil {
		return err
	}
	c.name = "sheaf"
	r := b.begin(row{Work: "memory beside a 2 GiB upload", Group: "media", Conns: 1, Unit: "MB", Note: "above idle, at its highest; in pieces of 10 MB"})
	time.Sleep(2 * time.Second) // until it is idle
	idle, _ := c.process.memory()
	if err := c.process.forgetPeak(); err != nil {
		return err
	}
	began := time.Now()
	if err := c.process.uploadLarge(c.owners[0]); err != nil {
		return err
	}
	took := time.Since(began)
	_, most := c.process.memory()
	r.figure("sheaf").add(sample{value: float64(most-idle) / megabyte})
	r.figure("idle").add(sample{value: float64(idle) / megabyte})
	r.Note += fmt.Sprintf("; %.0f MB a second", float64(largeFile)/megabyte/took.Seconds())
	b.keep(r)
	b.logf("%-28s %3d  %-18s %9s %s\n", r.Work, r.Conns, "sheaf", short(r.figure("sheaf").Median), r.Unit)
	r.atMost(64, r.figure("sheaf").Median, "≤ 64 MB above idle")
	return nil
}

// forgetPeak makes the kernel count the highest resident memory of the process from now on.
func (p *process) forgetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.cmd.Process.Pid), []byte("5"), 0)
}

// uploadLarge sends the file as a tus client does, and checks that it is a medium afterwards.
func (p *process) uploadLarge(o owner) error {
	var path string
	header := map[string]string{"Tus-Resumable": "1.0.0", "Upload-Length": fmt.Sprint(largeFile), "Content-Type": "application/offset+octet-stream"}
	answer, err := p.exchange(o, http.MethodPost, "/api/v1/uploads", header, nil)
	if err != nil {
		return err
	}
	_, id, _ := strings.Cut(answer.Header.Get("Location"), "/api/v1/uploads/")
	path = "/api/v1/uploads/" + id
	piece := make([]byte, largePiece)
	for at := 0; at < largeFile; at += len(piece) {
		piece = piece[:min(largePiece, largeFile-at)]
		header["Upload-Offset"] = fmt.Sprint(at)
		if _, err := p.exchange(o, http.MethodPatch, path, header, piece); err != nil {
			return err
		}
	}
	var made struct{ Bytes int64 }
	if err := p.call(o, http.MethodGet, "/api/v1/media/"+id, "", &made); err != nil || made.Bytes != largeFile {
		return fmt.Errorf("the medium has %d bytes: %w", made.Bytes, err)
	}
	return nil
}

// send is call with a body of any type.
func (p *process) send(o owner, method, path string, header map[string]string, body []byte, out any) error {
	return persist(func() error {
		answer, err := p.exchange(o, method, path, header, body)
		if err != nil {
			return err
		}
		return decode(answer.Body, out)
	})
}

// reply is an answer, read.
type reply struct {
	Header http.Header
	Body   []byte
}

// exchange makes one request, which must succeed.
func (p *process) exchange(o owner, method, path string, header map[string]string, body []byte) (reply, error) {
	r, err := http.NewRequest(method, "http://"+p.addr+path, bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	r.Header.Set("Authorization", "Bearer "+o.Token)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	answer, err := caller.Do(r)
	if err != nil {
		return reply{}, stalledIf(true, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode/100 != 2 {
		return reply{}, stalledIf(err != nil || answer.StatusCode == http.StatusServiceUnavailable, fmt.Errorf("%s %s: %s %s %v", method, path, answer.Status, text, err))
	}
	return reply{answer.Header, text}, nil
}
