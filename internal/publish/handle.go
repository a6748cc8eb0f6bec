package publish

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
)

// visit is one request of a reader.
type visit struct {
	*front.Exchange
	r         *http.Request // the request of the exchange
	publisher *Publisher
	share     sheaf.Shared    // set once it is found
	switched  sheaf.ReleaseID // the release to which the reader has switched; empty: none
	path      string          // of the request, with that release
}

// route is one page of a share.
type route struct {
	method, path string
	do           func(*visit) error
	counts       bool   // a request for it counts as a view of the share
	twin         *route // for an address that ends in .md; nil: it has none
}

// allRoutes returns all routes. A password is posted to the page that asked for it.
func (p *Publisher) allRoutes() []route {
	out := []route{{method: http.MethodGet, path: "/share-assets/{file}", do: (*visit).style}}
	for _, page := range []route{
		{path: "/s/{token}", do: (*visit).front, counts: true},
		{path: "/s/{token}/raw", do: (*visit).rawFront},
		{path: "/s/{token}/search", do: (*visit).search},
		{path: "/s/{token}/logo", do: (*visit).logo},
		{path: "/s/{token}/index.md", do: (*visit).twinFront},
		{path: "/s/{token}/llms.txt", do: (*visit).llms},
		{path: "/s/{token}/sitemap.xml", do: (*visit).sitemap},
		{path: "/s/{token}/{document}", do: (*visit).document, counts: true, twin: &route{do: (*visit).twin}},
		{path: "/s/{token}/{document}/raw", do: (*visit).raw},
		{path: "/s/{token}/{document}/media/{medium}", do: (*visit).medium},
	} {
		page.method = http.MethodGet
		out = append(out, page, route{method: http.MethodPost, path: page.path, do: (*visit).unlock})
	}
	return out
}

// serve makes the checks that come before the page, in the order given in the package comment, and
// shows the page.
func (v *visit) serve() error {
	v.switchRelease()
	route, allow := v.publisher.routes.Find(v.Exchange)
	if route != nil && v.r.PathValue("file") != "" {
		return route.do(v)
	}
	if err := v.admit(); err != nil {
		return err
	}
	switch {
	case allow != "":
		v.Header().Set("Allow", allow)
		return &sheaf.Error{Kind: sheaf.MethodNotAllowed, Text: "This page can only be read."}
	case route == nil:
		return errNothing
	}
	var err error
	if v.share, err = v.publisher.App.OpenShare(v.r.Context(), v.r.PathValue("token")); err != nil {
		return err
	}
	if v.switched != "" && (v.share.ResourceType != sheaf.ShareOfProject || !v.share.ShowReleases) {
		return errNothing
	}
	v.share.Switched = v.switched
	v.share.URL += v.releasePath()
	if err := v.AdmitWorkspace(string(v.share.Workspace)); err != nil {
		return crowded(err)
	}
	if v.r.Method == http.MethodPost {
		return route.do(v)
	}
	if !v.unlocked() {
		return v.askForPassword()
	}
	if route.twin != nil && strings.HasSuffix(v.r.PathValue("document"), twinEnd) {
		route = route.twin
	}
	return v.show(route)
}

// switchRelease finds the release to which the reader has switched: its pages are at
// /s/<token>/releases/<id>, with the same paths below it as the share.
func (v *visit) switchRelease() {
	v.path = v.r.URL.EscapedPath()
	parts := strings.SplitN(v.r.URL.Path, "/", 6) // "", "s", the token, "releases", the id, the rest
	if len(parts) < 5 || parts[3] != "releases" {
		return
	}
	id, ok := sheaf.ParseUUID(parts[4])
	if !ok || id != parts[4] || v.r.URL.RawPath != "" {
		return
	}
	v.switched = sheaf.ReleaseID(id)
	r := *v.r
	u := *v.r.URL
	u.Path = strings.Join(slices.Concat(parts[:3], parts[5:]), "/")
	r.URL = &u
	v.r, v.Request = &r, &r
}

// errNothing is the error for everything that is not shared.
var errNothing = sheaf.Missing("page")

// admit returns RateLimited if the address made too many requests in the last minute.
func (v *visit) admit() error {
	if v.publisher.Admit == nil {
		return nil
	}
	wait := v.publisher.Admit(v.r.Context(), "share "+v.Address(), v.publisher.Now())
	if wait == 0 {
		return nil
	}
	return &sheaf.Error{Kind: sheaf.RateLimited, Code: sheaf.CodeRateLimited, RetryAfter: wait,
		Text: "Your address has requested too many pages in a minute. Try again in " + wait.String() + "."}
}

// show shows a page, from the cache or a new one.
func (v *visit) show(r *route) error {
	if v.indexed() {
		v.Header().Del("X-Robots-Tag")
	}
	if r.counts && v.r.Method == http.MethodGet && v.r.Header.Get("Sec-Purpose") == "" {
		v.publisher.views.note(v.share, v.publisher.Now())
	}
	if made := v.publisher.cache.find(v.cacheKey()); made != nil {
		return v.send(made)
	}
	return r.do(v)
}

// answer is a finished page, or another text.
type answer struct {
	body  []byte
	kind  string // Content-Type
	etag  string
	brand pageBrand // branding of a page
	of    string    // address of the page that shows the same to people; empty: it is no twin
}

// keep sends a page and caches it. It stays the same until something in the workspace changes.
func (v *visit) keep(body []byte, kind string, l pageBrand) error {
	return v.keepAnswer(&answer{body: body, kind: kind, brand: l})
}

// keepAnswer is keep for any answer. It sets the entity tag.
func (v *visit) keepAnswer(a *answer) error {
	a.etag = tagOf(a.body)
	v.publisher.cache.keep(v.cacheKey(), a)
	return v.send(a)
}

// send answers with a page, or with 304 if the reader has it. Browsers must ask each time, because
// a share may end at any moment. Pages behind a password are not cached by browsers.
func (v *visit) send(a *answer) error {
	h := v.Header()
	h.Set("Content-Security-Policy", a.brand.policy(v.publisher.policy))
	if a.of != "" {
		h.Set("Link", "<"+a.of+`>; rel="canonical"`)
	}
	if v.share.PasswordHash == "" {
		h.Set("Cache-Control", "private, no-cache")
		h.Set("ETag", a.etag)
		if front.HasTag(v.r.Header, a.etag) {
			v.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	if err := v.HoldAnswer(len(a.body)); err != nil {
		return crowded(err)
	}
	h.Set("Content-Type", a.kind)
	v.WriteHeader(http.StatusOK)
	if v.r.Method != http.MethodHead {
		_, _ = v.Write(a.body) // a reader who left needs no answer
	}
	return nil
}

// crowded turns a refusal for programs into one for people.
func crowded(err error) error {
	var refusal *front.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	return &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: refusal.RetryAfter,
		Text: "Too many people are reading at the moment. Try again in a few seconds."}
}

// fail shows an error. Errors that the reader cannot do anything about are logged, without the
// address, which is a secret.
func (v *visit) fail(err error) {
	var file *front.FileRefusal
	if errors.As(err, &file) {
		err = sheaf.FileRefused(file.Range, file.Text)
	}
	var refusal *sheaf.Error
	// A client that left is not a fault of the store.
	if (!errors.As(err, &refusal) || refusal.Cause != nil) && v.Request.Context().Err() == nil {
		v.publisher.Log.Error("page of a share failed", "request_id", v.ID, "error", err)
	}
	if refusal == nil || refusal.Cause != nil && refusal.Person == "" {
		status := http.StatusInternalServerError
		if refusal != nil {
			status = front.Status(refusal.Kind)
		}
		v.errorPage(status, "Something went wrong", "The page could not be shown. Try again in a moment.")
		return
	}
	if refusal.RetryAfter > 0 {
		v.RetryAfter(max(refusal.RetryAfter, time.Second))
	}
	switch refusal.Kind {
	case sheaf.NotFound:
		v.errorPage(http.StatusNotFound, "Nothing is shared here", "The address may be mistyped, or the page is no longer shared.")
	case sheaf.RateLimited, sheaf.Unavailable:
		if refusal.Person != "" {
			v.errorPage(front.Status(refusal.Kind), "This page cannot be shown", refusal.Person)
			return
		}
		v.errorPage(front.Status(refusal.Kind), "Just a moment", refusal.Text)
	default:
		v.errorPage(front.Status(refusal.Kind), "That did not work", refusal.Text)
	}
}

// errorPage shows an error page. It reveals nothing about the share.
func (v *visit) errorPage(status int, title, text string) {
	v.barePage(status, "sorry", title, sorry{Title: title, Text: text})
}

// barePage shows a page without header and footer.
func (v *visit) barePage(status int, name, title string, data any) {
	body, err := v.page(name, layout{Title: title, Bare: true}, data)
	if err != nil {
		v.publisher.Log.Error("page was not rendered", "error", err)
		status, body = http.StatusInternalServerError, []byte("<!doctype html><title>Something went wrong</title><p>Something went wrong.")
	}
	v.Header().Set("Content-Type", htmlType)
	v.WriteHeader(status)
	if v.r.Method != http.MethodHead {
		_, _ = v.Write(body)
	}
}

type sorry struct{ Title, Text string }
