package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/config"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/doctor"
)

// maxPart bounds each file of a bundle.
const maxPart = 8 << 20

// supportCommand is sheaf support-bundle.
type supportCommand struct {
	config.Serve
	cli.Output
	WithoutDoctor bool   `help:"Leave out the check of the stored data, which reads all of it."`
	File          string `arg:"" help:"The file to write, such as sheaf-support.tar.gz. It must not exist."`
}

// Run writes the bundle. It contains whatever could be collected: a part that fails has its error in its place, because
// people make a bundle when something is broken.
func (c *supportCommand) Run(ctx context.Context, p *program) error {
	settings, problems := c.Load(p.Env)
	b := &bundle{at: p.Now(), redact: p.redactor(settings)}
	err := writeFileFrom(c.File, func(out io.Writer) error {
		b.begin(out)
		b.add("README.txt", bundleReadme)
		b.add("settings.txt", settingsTable(settings)+failure(problems)+p.unknownSettings())
		b.add("versions.txt", programVersions())
		b.add("store.txt", p.storeReport(ctx, settings))
		if !c.WithoutDoctor {
			b.add("doctor.txt", p.doctorReport(ctx, settings))
		}
		p.askServers(ctx, settings, b)
		return b.end()
	})
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists: choose another name", c.File)
	}
	if err != nil {
		return fmt.Errorf("the bundle cannot be written to %s: %w", c.File, err)
	}
	return c.Show(&p.Program, sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Text("file", c.File)
		o.Int("servers", int64(b.servers))
	}), func() string {
		said := fmt.Sprintf("%s is written\nIt has no secrets and no texts, but it has addresses, paths and ids: look through it before you send it.\n", c.File)
		if b.servers == 0 {
			said += "No running server was found in " + settings.Data + ", so its log and its goroutines are not in it: add the last lines of its log yourself.\n"
		}
		return said
	})
}

const bundleReadme = `What sheaf support-bundle collected for a report of a fault.

settings.txt    every setting that this command found, and where; secrets are redacted
versions.txt    this program and the machine
store.txt       the engine and the schema of the database
doctor.txt      what sheaf doctor found
server-*/       of each running server with this data folder: its settings, its version, its goroutines, and the newest
                lines of its log, at most 256 KB

Secrets are left out. Addresses of clients, paths, and ids are not.
`

// redactor returns the function that removes secrets from texts.
func (p *program) redactor(s *config.Settings) func(string) string {
	var more []string
	for _, name := range []string{"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID"} {
		value, _ := p.Env(name)
		own, _ := p.Env("BACKUP_" + name)
		more = append(more, value, own)
	}
	if key, _, err := localKey(s); err == nil {
		more = append(more, base64.StdEncoding.EncodeToString(key), base64.RawURLEncoding.EncodeToString(key))
	}
	return s.Redactor(more...)
}

// unknownSettings returns a line for each environment variable that looks like a setting and is none.
func (p *program) unknownSettings() (lines string) {
	for _, u := range config.Unknown(p.Names()) {
		lines += "warning: " + u.String() + "\n"
	}
	return lines
}

// failure returns the error as a line, or nothing.
func failure(err error) string {
	if err == nil {
		return ""
	}
	return "error: " + err.Error() + "\n"
}

// storeReport says which database there is.
func (p *program) storeReport(ctx context.Context, s *config.Settings) string {
	engine := "SQLite"
	if s.DatabaseURL != "" {
		engine = "PostgreSQL"
	}
	text := "engine " + engine + "\n"
	if s.DatabaseURL == "" {
		entries, err := os.ReadDir(s.Data)
		text += failure(err)
		for _, e := range entries {
			if info, err := e.Info(); err == nil {
				text += fmt.Sprintf("file %s %d bytes %s\n", e.Name(), info.Size(), info.Mode())
			}
		}
	}
	err := p.withStore(ctx, s, func(st *store.Store) error {
		schema, err := st.Schema(ctx)
		text += fmt.Sprintf("schema %d\n", schema.Version)
		return err
	})
	return text + failure(err)
}

// doctorReport returns what the doctor finds, one line each.
func (p *program) doctorReport(ctx context.Context, s *config.Settings) string {
	var out strings.Builder
	violations := 0
	report := func(f doctor.Finding) {
		what := "information"
		if !f.Information {
			what = "violation"
			violations++
		}
		if out.Len() < maxPart {
			fmt.Fprintf(&out, "%s: %s\n", what, &f)
		}
	}
	err := p.withStore(ctx, s, func(st *store.Store) (err error) {
		if err := st.Ready(ctx); err != nil {
			return err
		}
		x := doctor.Examination{Now: p.Now(), Retention: s.Retention}
		if x.Media.Store, err = p.media(s.StoreSettings); err != nil {
			return err
		}
		if x.Box, err = p.boxOf(ctx, st, s, report); err != nil {
			return err
		}
		return doctor.Examine(ctx, st, x, report)
	})
	fmt.Fprintf(&out, "violations found: %d\n", violations)
	return out.String() + failure(err)
}

// askServers adds what the running servers with this data folder tell.
func (p *program) askServers(ctx context.Context, s *config.Settings, b *bundle) {
	sockets, _ := filepath.Glob(filepath.Join(s.Data, socketPrefix+"*"+socketSuffix))
	for _, path := range sockets {
		name := "server-" + strings.TrimSuffix(filepath.Base(path), socketSuffix) + "/"
		for _, part := range supportParts {
			text, err := askSocket(ctx, path, part)
			if errors.Is(err, errNoServer) {
				break // a killed server has left its socket
			}
			if part == supportParts[0] {
				b.servers++
			}
			b.add(name+part+".txt", text+failure(err))
		}
	}
}

var errNoServer = errors.New("no server answers on the socket")

// askWait bounds a question to a running server, which may hang.
const askWait = 30 * time.Second

// askSocket returns a page of the server at the socket.
func askSocket(ctx context.Context, path, page string) (string, error) {
	address, release, err := socketAddress(path)
	if err != nil {
		return "", err
	}
	defer release()
	connected := false
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", address)
		connected = err == nil
		return conn, err
	}}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://server/"+page, nil)
	if err != nil {
		return "", err
	}
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		if !connected {
			return "", errNoServer
		}
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxPart))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("the server answered %s", answer.Status)
	}
	return string(text), err
}

// bundle is the file being written.
type bundle struct {
	at      time.Time
	redact  func(string) string
	servers int // that answered

	z   *gzip.Writer
	tar *tar.Writer
	err error // the first
}

func (b *bundle) begin(out io.Writer) {
	b.z = gzip.NewWriter(out)
	b.tar = tar.NewWriter(b.z)
}

// add adds a file without secrets.
func (b *bundle) add(name, text string) {
	if len(text) > maxPart {
		text = text[:maxPart]
	}
	text = b.redact(text)
	if b.err == nil {
		b.err = b.tar.WriteHeader(&tar.Header{Name: "sheaf-support/" + name, Mode: 0o600, Size: int64(len(text)), ModTime: b.at, Format: tar.FormatPAX})
	}
	if b.err == nil {
		_, b.err = io.WriteString(b.tar, text)
	}
}

func (b *bundle) end() error { return errors.Join(b.err, b.tar.Close(), b.z.Close()) }

// withStore runs fn on the store, if there is one. It changes nothing.
func (p *program) withStore(ctx context.Context, s *config.Settings, fn func(*store.Store) error) error {
	if s.DatabaseURL == "" {
		if _, err := os.Stat(filepath.Join(s.Data, store.FileName)); err != nil {
			return fmt.Errorf("there is no database: %w", err)
		}
	}
	st, err := openStore(ctx, storeOptions(s.StoreSettings))
	if err != nil {
		return err
	}
	defer st.Close()
	return fn(st)
}
