package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sheaf.dev/internal/store"
)

// startSheaf runs the real program as an operator would: its log goes to a file, its data to the disk. The rate limit
// is lifted, and stays in the path.
func (b *bench) startSheaf(name, data string, more ...string) (*process, error) {
	addr, stats := freeAddr(), freeAddr()
	args := []string{"serve", "--addr", addr, "--data", data, "--first-run", "none", "--rate-limit", "business=0",
		"--metrics-addr", stats, "--webhook-allow-cidr", "127.0.0.0/8", "--webhook-ca-file", b.caFile()}
	p, err := b.start(name, b.program, nil, append(args, more...)...)
	if err != nil {
		return nil, err
	}
	p.addr, p.stats = addr, stats
	_, err = p.ready("/readyz")
	return p, err
}

// onPostgres is the name of Sheaf on the other engine.
const onPostgres = "sheaf, PostgreSQL"

// sheaf starts Sheaf on a SQLite file with the standard data, once in a run.
func (b *bench) sheaf() (c *contender, err error) {
	if b.onSQLite == nil {
		data := b.dataDir("sqlite")
		if err := os.Mkdir(data, 0o700); err != nil {
			return nil, err
		}
		b.onSQLite, err = b.standard("sheaf", store.Options{Folder: data}, data)
	}
	return b.onSQLite, err
}

func (b *bench) sheafOnPostgres() (c *contender, err error) {
	if b.onPostgres == nil {
		url, err := b.startPostgres()
		if err != nil {
			return nil, err
		}
		b.onPostgres, err = b.standard(onPostgres, store.Options{DatabaseURL: url}, b.dataDir("node"), "--database-url", url)
		if err != nil {
			return nil, err
		}
	}
	return b.onPostgres, nil
}

// standard fills a database and serves it. Each workspace of the requests has a paused webhook, so that every
// write adds an event and a delivery, which is held and not sent. The workspaces of the deliveries have no
// webhook yet.
func (b *bench) standard(name string, o store.Options, data string, more ...string) (*contender, error) {
	owners, err := seed(o, standard)
	if err != nil {
		return nil, err
	}
	hookOwners, err := seed(o, size{owners: 100})
	if err != nil {
		return nil, err
	}
	p, err := b.startSheaf(name, data, more...)
	if err != nil {
		return nil, err
	}
	c := &contender{name: name, process: p, owners: owners, hookOwners: hookOwners, api: sheafAPI, options: o}
	return c, pauseWebhooks(p, owners)
}

func pauseWebhooks(p *process, owners []owner) error {
	for _, o := range owners {
		var made struct{ Subscription struct{ ID string } }
		body := `{"name":"bench","url":"https://127.0.0.1:9/hook","events":["project.created","project.updated","document.updated"]}`
		if err := p.call(o, "POST", "/api/webhooks/subscriptions", body, &made); err != nil {
			return err
		}
		if err := p.call(o, "PATCH", "/api/webhooks/subscriptions/"+made.Subscription.ID, `{"active":false}`, nil); err != nil {
			return err
		}
	}
	return nil
}

// call makes one request to the API, repeats it while it stalls, and decodes the answer, unless out is nil.
func (p *process) call(o owner, method, path, body string, out any) error {
	return persist(func() error { return p.callOnce(o, method, path, body, out) })
}

// caller waits for longer than any request of the harness takes.
var caller = &http.Client{Timeout: 10 * time.Minute}

func (p *process) callOnce(o owner, method, path, body string, out any) error {
	r, err := http.NewRequest(method, "http://"+p.addr+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+o.Token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := caller.Do(r)
	if err != nil {
		return stalledIf(true, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode == http.StatusServiceUnavailable {
		return stalledIf(true, fmt.Errorf("%s %s: %s %s %v", method, path, answer.Status, text, err))
	}
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s %s %v", method, path, answer.Status, text, err)
	}
	return decode(text, out)
}

// decode reads an answer, unless out is nil.
func decode(text []byte, out any) error {
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

func (b *bench) peerProgram() string { return filepath.Join(b.out, "peer") }

// startPeer starts the peer on data that it made itself; making them takes so long that they are kept.
func (b *bench) startPeer() (*contender, error) {
	kept := filepath.Join(b.out, "peer-0.39.11")
	err := b.seedPeer(kept)
	if err == nil {
		b.peerServer, err = b.servePeer("peer", kept)
	}
	return b.peerServer, err
}

// servePeer starts the peer on a copy of what was kept.
func (b *bench) servePeer(name, kept string) (*contender, error) {
	text, err := os.ReadFile(filepath.Join(kept, "owners.json"))
	if err != nil {
		return nil, err
	}
	var owners []owner
	if err := json.Unmarshal(text, &owners); err != nil {
		return nil, err
	}
	data := filepath.Join(b.dir, name)
	if err := os.CopyFS(data, os.DirFS(kept)); err != nil {
		return nil, err
	}
	addr, stats := freeAddr(), freeAddr()
	p, err := b.start(name+"-server", b.peerProgram(), []string{"PEER_STATS=" + stats}, "serve", "--dir", data, "--dev=false", "--http", addr)
	if err != nil {
		return nil, err
	}
	p.addr, p.stats = addr, stats
	_, err = p.ready("/api/health")
	return &contender{name: "peer", process: p, owners: owners, api: peerAPI}, err
}

func (b *bench) seedPeer(kept string) error {
	if _, err := os.Stat(filepath.Join(kept, "owners.json")); err == nil {
		return nil
	}
	if err := os.RemoveAll(kept); err != nil {
		return err
	}
	b.logf("filling the peer: this is kept\n")
	cmd := exec.Command(b.peerProgram(), "seed", "--dir", kept, "--dev=false",
		fmt.Sprint(standard.owners), fmt.Sprint(standard.projects), fmt.Sprint(standard.documents))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("fill the peer: %w\n%s", err, out)
	}
	return nil
}

// subject returns the user of a token of the peer.
func subject(token string) string {
	parts := strings.Split(token, ".")
	text, _ := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct{ ID string }
	_ = json.Unmarshal(text, &claims)
	return claims.ID
}
