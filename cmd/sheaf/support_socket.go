package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"

	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/config"
	"sheaf.dev/internal/obs"
)

// A server answers sheaf support-bundle on a Unix socket in its data folder, which only its own user can open:
//
//	sheaf support-bundle ──/settings, /log, /goroutines──▶ data/support.sock ──▶ sheaf serve
//
// With PostgreSQL several nodes may share the folder, so the name of the socket has the port of the node.
const (
	socketPrefix = "support"
	socketSuffix = ".sock"
	// maxSocketPath is the longest path that every system accepts for a Unix socket.
	maxSocketPath = 100
)

// socketAddress returns an address for the socket at the path, which may be longer than the system accepts. The
// address works until release is called.
func socketAddress(path string) (address string, release func(), err error) {
	if len(path) <= maxSocketPath || runtime.GOOS != "linux" {
		return path, func() {}, nil
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), filepath.Base(path)), func() { folder.Close() }, nil
}

// supportWorker returns the worker that answers sheaf support-bundle. If the socket cannot be made, it logs that,
// and the server runs without it.
func supportWorker(c *config.Settings, redact func(string) string, lines *obs.Lines, log *slog.Logger, port int) func(context.Context) error {
	name := socketPrefix + socketSuffix
	if c.DatabaseURL != "" {
		name = fmt.Sprintf("%s-%d%s", socketPrefix, port, socketSuffix)
	}
	return func(ctx context.Context) error {
		l, release, err := listenSocket(filepath.Join(c.Data, name))
		if err != nil {
			if c.DatabaseURL == "" || !errors.Is(err, os.ErrNotExist) { // a node of PostgreSQL may have no data folder
				log.Warn("sheaf support-bundle cannot ask this server: the socket was not made", "error", err)
			}
			return nil
		}
		defer release()
		s := newHTTP(supportPages(c, redact, lines), log)
		defer context.AfterFunc(ctx, func() { s.Close() })()
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}
}

// listenSocket makes the socket. It replaces one that a killed server has left: the folder, or the port, is ours.
func listenSocket(path string) (net.Listener, func(), error) {
	address, release, err := socketAddress(path)
	if err != nil {
		return nil, nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		release()
		return nil, nil, err
	}
	var plain net.ListenConfig
	l, err := plain.Listen(context.Background(), "unix", address)
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return l, release, nil
}

// supportPages answers with what a report of a fault needs to know of this process.
func supportPages(c *config.Settings, redact func(string) string, lines *obs.Lines) http.Handler {
	mux := http.NewServeMux()
	page := func(name string, text func() string) {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = io.WriteString(w, redact(text()))
		})
	}
	page("settings", func() string { return settingsTable(c) })
	page("versions", func() string { return programVersions() })
	page("log", func() string { return string(lines.Tail()) })
	page("goroutines", func() string {
		var out strings.Builder
		_ = pprof.Lookup("goroutine").WriteTo(&out, 1) // counts and stacks, without the values of arguments
		return out.String()
	})
	return mux
}

// supportParts are the pages of a server that a bundle contains.
var supportParts = []string{"settings", "versions", "log", "goroutines"}

// settingsTable returns the settings as sheaf config prints them.
func settingsTable(c *config.Settings) string {
	return cli.Table("SETTING\tVALUE\tFROM", func(row func(...any)) {
		for _, s := range c.Describe() {
			row(s.Name, s.Value, s.Source)
		}
	})
}

// programVersions returns the versions of this program and of the machine below it.
func programVersions() string {
	var out strings.Builder
	fmt.Fprintf(&out, "sheaf %s\ncommit %s\ngo %s\nsystem %s/%s\nprocessors %d\ngoroutines %d\n", version, builtFrom(), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.NumGoroutine())
	if kernel, err := os.ReadFile("/proc/version"); err == nil {
		fmt.Fprintf(&out, "kernel %s", kernel)
	}
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		for line := range strings.Lines(string(status)) {
			if strings.HasPrefix(line, "VmRSS") || strings.HasPrefix(line, "VmHWM") {
				out.WriteString(line)
			}
		}
	}
	return out.String()
}
