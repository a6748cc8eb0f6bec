// Package console is the web console: pages for a person, rendered here, with
// no script. It calls the same rules as the API, and knows neither the store
// nor another edge. A key never opens it, and its pages never answer under
// /api/.
package console

import (
	"bytes"
	"embed"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"

	"sheaf.dev/internal/app"
)

//go:embed pages
var pages embed.FS

//go:embed assets
var assets embed.FS

// Config is what the console needs.
type Config struct {
	App *app.App
	Log *slog.Logger
}

// Console serves the pages. It is safe for concurrent use.
type Console struct {
	app     *app.App
	log     *slog.Logger
	pages   map[string]*template.Template
	handler http.Handler
}

// New returns the console over the rules.
func New(c Config) *Console {
	s := &Console{app: c.App, log: c.Log, pages: map[string]*template.Template{}}
	for _, name := range []string{"home", "setup", "setup-done", "setup-closed", "sorry"} {
		s.pages[name] = template.Must(template.ParseFS(pages, "pages/layout.html", "pages/"+name+".html"))
	}
	s.handler = http.NewCrossOriginProtection().Handler(s.routes())
	return s
}

// routes is the whole surface.
func (s *Console) routes() *http.ServeMux {
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		panic("console: " + err.Error()) // the folder is embedded
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.home)
	mux.HandleFunc("GET /setup/{token}", s.setup)
	mux.HandleFunc("POST /setup/{token}", s.completeSetup)
	mux.Handle("GET /assets/", http.StripPrefix("/assets/", http.FileServerFS(files)))
	return mux
}

// Handles reports whether the console answers for that path. Others are for
// whoever mounts it.
func (s *Console) Handles(path string) bool {
	return path == "/" || strings.HasPrefix(path, "/setup/") || strings.HasPrefix(path, "/assets/")
}

// ServeHTTP answers a request for one of the console's paths.
func (s *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer") // a set-up link's address is a secret
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	s.handler.ServeHTTP(w, r)
}

// page is what every template gets.
type page struct {
	Root  string // from the page's address to the console's: works behind a prefix too
	Fault string // what was wrong with the form
	Email string
	// Pending is true while nobody has a password.
	Pending bool
}

// show writes a page. It is rendered whole before the status is sent.
func (s *Console) show(w http.ResponseWriter, status int, name string, p page) {
	var b bytes.Buffer
	if err := s.pages[name].ExecuteTemplate(&b, "layout", p); err != nil {
		s.log.Error("page was not rendered", "page", name, "error", err)
		http.Error(w, "Something went wrong on our side.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(b.Bytes())
}

// fail logs an error that no rule made, and shows that something went wrong.
func (s *Console) fail(w http.ResponseWriter, p page, err error) {
	s.log.Error("page failed", "error", err)
	s.show(w, http.StatusInternalServerError, "sorry", p)
}

func (s *Console) home(w http.ResponseWriter, r *http.Request) {
	p := page{Root: "./"}
	var err error
	if p.Pending, err = s.app.SetupPending(r.Context()); err != nil {
		s.fail(w, p, err)
		return
	}
	s.show(w, http.StatusOK, "home", p)
}
