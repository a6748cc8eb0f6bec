// Package publish serves the pages of shares: what people without an account read at /s/<token>.
// The pages are rendered here, work without any script, and may load only what this service serves.
//
// Everyone who has the address of a share sees what it shows, after giving its password if it has
// one. Sessions and keys play no role: this edge knows neither, and calls only those methods of app
// that take a share. Everything that is not shown is the same 404 page, whatever the reason. Only the
// pages of a release have another one, for all documents that the release does not have.
//
//	request ── rate limit of the address ── route ── share ── password ── page
//	              429                       404      404      401         cached by version
//
// The token of a share is a secret: it is put into no log line, metric or error.
package publish

import (
	"context"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/render"
)

// Config has the settings and dependencies of the pages.
type Config struct {
	App *app.App
	Log *slog.Logger
	Now func() time.Time
	// PublicURL is the address at which people reach the service. nil: that of each request.
	PublicURL *url.URL
	// Render renders the documents' texts. nil: a renderer that shows no pictures from other hosts.
	Render *render.Renderer
	// ImageHosts are the hosts whose pictures Render shows.
	ImageHosts []string
	// Admit counts a request under a name for its address. If the request is one too many, it
	// returns how long to wait, and otherwise 0. nil: there is no limit.
	Admit func(ctx context.Context, name string, now time.Time) time.Duration
}

// Publisher serves the pages. It is safe for concurrent use.
type Publisher struct {
	Config
	base   string // path of PublicURL, before every address of ours
	pages  *template.Template
	styles styles
	routes *front.Routes[route]
	origin *http.CrossOriginProtection // refuses passwords that another site sends
	cache  *cache
	views  *views
	policy string // Content-Security-Policy of the pages
}

// Paths are the patterns of all addresses that are served here, for the caller that mounts the
// Publisher.
var Paths = []string{"/s/", "/share-assets/"}

// New returns the pages for the rules.
func New(c Config) *Publisher {
	p := &Publisher{Config: c, styles: readStyles(), origin: http.NewCrossOriginProtection(), cache: newCache(cacheBytes), views: newViews(),
		policy: policy(c.ImageHosts)}
	if p.Render == nil {
		p.Render = render.New(render.Options{})
	}
	if u := c.PublicURL; u != nil {
		p.base = strings.TrimRight(u.EscapedPath(), "/")
		if err := p.origin.AddTrustedOrigin(u.Scheme + "://" + u.Host); err != nil {
			panic("publish: " + err.Error()) // the setting was checked before
		}
	}
	p.pages = readPages()
	p.routes = front.NewRoutes(p.allRoutes(), func(r *route) (string, string) { return r.method, r.path })
	return p
}

// policy returns a policy that lets a page load styles and pictures of this program, pictures of
// those hosts, and nothing else: no script, whatever a text contains.
func policy(imageHosts []string) string {
	images := "'self'"
	for _, host := range imageHosts {
		images += " https://" + host
	}
	return "default-src 'none'; style-src 'self'; img-src " + images + "; media-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
}

// Run writes the views of shares until ctx ends, and once more then.
func (p *Publisher) Run(ctx context.Context) error { return p.views.run(ctx, p.App, p.Log) }

// Serve answers a request for one of the paths.
func (p *Publisher) Serve(x *front.Exchange) {
	p.protect(x)
	v := &visit{Exchange: x, r: x.Request, publisher: p}
	if err := v.serve(); err != nil {
		v.fail(err)
	}
}

// protect sets the headers that limit what the answer may do, and keeps crawlers away, whatever the
// answer is.
func (p *Publisher) protect(x *front.Exchange) {
	x.ProtectPage(p.policy, p.PublicURL)
	x.Header().Set("X-Robots-Tag", "noindex")
}

// Refuse answers a request for which the server has no room.
func (p *Publisher) Refuse(x *front.Exchange, why *front.Refusal) {
	p.protect(x)
	(&visit{Exchange: x, r: x.Request, publisher: p}).fail(crowded(why))
}

// Panicked answers a request that panicked. The answer is written out here, since the usual way to
// answer may be what failed.
func (p *Publisher) Panicked(x *front.Exchange) {
	p.protect(x)
	x.Header().Set("Content-Type", "text/html; charset=utf-8")
	x.WriteHeader(http.StatusInternalServerError)
	_, _ = x.Write([]byte("<!doctype html><title>Something went wrong</title><p>" + x.Unexpected()))
}
