// Package console is the web console: pages for people, rendered on the server, with htmx and a few small
// scripts. It calls the same methods of app as the API and has no rules of its own. It knows neither the
// store nor another edge; what edges share is in front. A key never opens it, and a cookie never opens the
// API.
//
// To add a page:
//
//  1. Put its route into routes.go, with who may open it: needs(scope) for a
//     member of the workspace in the path, owners, signedIn, anyone. The matrix
//     in matrix_test.go fails until it is written there too.
//  2. Write the handler, func (c *Console) name(v *visit) error, in the noun's
//     file. It asks c.app with v.caller and ends in v.show(status, "template",
//     data), v.done(path) after a change, or an error: handle.go makes the page
//     of it. A form that is refused is shown again by v.again.
//  3. Write pages/template.html, which defines "title" and "main" and gets a
//     page; what the handler gave is in .Data. A page that opens in the dialog
//     (a link with data-dialog) is the same page: "main" alone is sent then.
//  4. Addresses are made by {{.At "keys"}} within the workspace, and {{.Base}}
//     before any other; times by {{time .CreatedAt}}; icons by {{icon "key"}}.
//  5. No style attribute and no inline script: the Content-Security-Policy
//     stops both. Colours of records are attributes of an SVG.
//
// Whatever is to follow changes has class "live" and an id: the page is read again when something
// happens in the workspace, and these parts are replaced. data-live-part="events deliveries" names
// the kinds it follows; see live.go. A details element that a reader opened stays open when it has
// an id.
package console

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
	"sheaf.dev/internal/sheaf"
)

// Config is what the console needs.
type Config struct {
	App *app.App
	Log *slog.Logger
	Now func() time.Time
	// PublicURL is the address of the service for people. If it is nil, that of the request is used.
	PublicURL *url.URL
	// Address is the beginning of links that one person gives to another: the public address, or else the
	// one that the program listens on. It never comes from a request, because the sender of the request
	// could then lead the other person elsewhere.
	Address string
	// Command is the name of the program in a shell, for hints. If it is empty, that is sheaf.
	Command string
	// Admit counts a change under a name of the person. If the change exceeds the plan's rate limit, it
	// returns how long to wait, otherwise 0. If Admit is nil, every change passes.
	Admit func(ctx context.Context, name string, plan sheaf.Plan, now time.Time) time.Duration
	// AdmitReading is Admit for reading that renders, compares or searches, whatever the plan is.
	AdmitReading func(ctx context.Context, name string, now time.Time) time.Duration
	// Render renders the documents' texts as HTML. If it is nil, New uses one that shows pictures of no
	// other host.
	Render *render.Renderer
	// ImageHosts are the hosts from which Render shows pictures.
	ImageHosts []string
}

// Console serves the pages. It is safe for concurrent use.
type Console struct {
	Config
	app    *app.App
	base   string // before every address of ours: the path of PublicURL
	files  *files
	pages  map[string]*template.Template // by the name of the file, without .html
	routes *front.Routes[route]
	origin *http.CrossOriginProtection // refuses what another site sends
	live   *live                       // the open pages that follow changes
	policy string                      // what a page may load
}

// New returns the console over the rules.
func New(config Config) *Console {
	c := &Console{Config: config, app: config.App, files: readFiles(), live: newLive(), origin: http.NewCrossOriginProtection(),
		policy: policy(config.ImageHosts)}
	if c.Render == nil {
		c.Render = render.New(render.Options{})
	}
	if u := config.PublicURL; u != nil {
		c.base = strings.TrimRight(u.EscapedPath(), "/")
		if err := c.origin.AddTrustedOrigin(u.Scheme + "://" + u.Host); err != nil {
			panic("console: " + err.Error()) // the setting was checked
		}
	}
	c.pages = c.readPages()
	c.routes = front.NewRoutes(c.allRoutes(), func(r *route) (string, string) { return r.method, r.path })
	return c
}

// Paths are the patterns of all paths that the console serves.
var Paths = []string{"/{$}", "/favicon.ico", "/sign-in", "/sign-out", "/sign-out-everywhere", "/account",
	"/assets/", "/setup/", "/invite/", "/account/", "/w/"}

// policy returns the Content-Security-Policy: a page may load what this program serves, and pictures of the
// image hosts.
func policy(imageHosts []string) string {
	images := "'self' data:"
	for _, host := range imageHosts {
		images += " https://" + host
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src " + images + "; connect-src 'self'; " +
		"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
}

// Serve answers a request for one of the console's paths.
func (c *Console) Serve(x *front.Exchange) {
	c.protect(x)
	v := &visit{Exchange: x, r: x.Request, console: c, began: c.Now()}
	if err := v.serve(); err != nil {
		v.fail(err)
	}
}

// protect sets the security headers of every answer.
func (c *Console) protect(x *front.Exchange) {
	h := x.Header()
	h.Set("Content-Security-Policy", c.policy)
	h.Set("Referrer-Policy", "no-referrer") // the address of a one-time link is a secret
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	h.Set("Cache-Control", "no-store")
	if c.secure(x) {
		// Without subdomains, because other services may run there.
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}
