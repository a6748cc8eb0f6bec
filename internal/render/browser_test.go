package render

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"sheaf.dev/internal/sheaftest"
)

// chromium opens a tab in a browser that ends with the test.
func chromium(t *testing.T) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		sheaftest.Unable(t, "rendered text is looked at in Debian's package chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(5*time.Minute), // practically forever: a busy machine starts it slowly
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		// Nothing on the pages may leave this machine.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("close the browser: %v", err)
		}
		stop()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// A listener serves pages and records what they do: the requests they make, and calls of alert.
type listener struct {
	*httptest.Server
	mu    sync.Mutex
	pages map[string]string // by path
	heard map[string]string // requested paths, each with the page that requested it
}

func newListener(t *testing.T) *listener {
	t.Helper()
	l := &listener{pages: map[string]string{}, heard: map[string]string{}}
	l.Server = httptest.NewServer(http.HandlerFunc(l.serve))
	t.Cleanup(l.Close)
	return l
}

func (l *listener) serve(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.Header().Set("Cache-Control", "no-store")
	if text, ok := l.pages[r.URL.Path]; ok {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(text))
		return
	}
	if r.URL.Path != "/favicon.ico" {
		l.heard[r.URL.Path] = r.Referer()
	}
	http.NotFound(w, r)
}

// show serves a page at a path. It has no policy: only the renderer stands between the text and the
// reader. Anything that runs calls alert, which the page records.
func (l *listener) show(path, body string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pages[path] = `<!doctype html><meta charset="utf-8"><title>a</title><script>
window.heard = [];
for (const name of ['alert', 'confirm', 'prompt', 'print', 'open', 'msgbox']) window[name] = (...a) => { heard.push(name + '(' + a + ')') };
addEventListener('securitypolicyviolation', (e) => heard.push(e.blockedURI));
</script><div class="prose">` + body + `</div>`
}

// provoke does with a page what a reader might do: it moves over everything, focuses it and clicks
// it. It returns what was recorded, including names of elements that shadow the page's own.
const provoke = `new Promise((done) => {
  for (const e of document.querySelectorAll('.prose, .prose *')) {
    for (const type of ['mouseover', 'mouseenter', 'pointerenter', 'focus', 'blur', 'error', 'load', 'toggle', 'start', 'animationstart', 'transitionend', 'beforetoggle', 'change'])
      e.dispatchEvent(new Event(type, {bubbles: false}));
    if (e.tagName === 'A' && e.href && !/^(https?|mailto|document|media):/.test(e.href)) e.click();
    if (e.tagName === 'BUTTON' || e.tagName === 'FORM') heard.push(e.tagName);
    for (const a of e.attributes) if (a.name.startsWith('on') || /^\s*javascript:/i.test(a.value) && a.name !== 'alt' && a.name !== 'title') heard.push(a.name + '=' + a.value);
  }
  for (const name of ['location', 'cookie', 'getElementById', 'body', 'forms', 'constructor', '__proto__'])
    if (document[name] instanceof HTMLElement && name !== 'body' || window[name] instanceof HTMLElement) heard.push('the name ' + name);
  if (document.body.tagName !== 'BODY' || typeof document.getElementById !== 'function') heard.push('the document');
  setTimeout(() => done(heard.join('; ')), 30);
})`

// D83, D165: no vector runs or loads anything in a real browser, neither as the API shows it nor as the
// console does. A control that would run is noticed.
func TestBrowser_HearsNothing(t *testing.T) {
	l := newListener(t)
	r := newHostileRenderer()
	ctx := chromium(t)
	listen := func(path, body string) string {
		l.show(path, body)
		if err := chromedp.Do(ctx, chromedp.Navigate(l.URL+path)); err != nil {
			t.Fatal(err)
		}
		heard, err := chromedp.Run(ctx, chromedp.Evaluate[string](provoke, chromedp.EvalAwaitPromise))
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		for asked := range l.heard {
			if !strings.HasPrefix(asked, "/media/") { // the reader may see these
				heard += "; asked for " + asked
			}
		}
		clear(l.heard)
		return heard
	}
	for _, control := range []string{
		`<img src=x onerror=alert(1)>`, `<a href="javascript:alert(1)">a</a>`, `<p onmouseover="alert(1)">a</p>`, `<img src="` + l.URL + `/tracker.png">`,
		`<svg onload=alert(1)></svg>`, `<form id="cookie"></form>`,
	} {
		if heard := listen("/control", control); heard == "" {
			t.Errorf("the control is not heard: %s", control)
		}
	}
	// A page shows many vectors, each in a section. One that breaks out of its section, or swallows the
	// next, is noticed by the number of sections. Pages with a complaint are then shown in parts.
	var show func(part []vector)
	show = func(part []vector) {
		var body strings.Builder
		for _, v := range part {
			p := r.page(t, v.text)
			fmt.Fprintf(&body, "<section>%s%s</section>", p.HTML(Refs{}), p.HTML(known))
		}
		heard := listen("/vectors", body.String())
		sections, err := chromedp.Run(ctx, chromedp.Evaluate[int](`document.querySelectorAll('body > .prose > section').length`))
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case heard == "" && sections == len(part):
		case len(part) > 1:
			show(part[:len(part)/2])
			show(part[len(part)/2:])
			t.Errorf("%d vectors on a page: %d sections, heard: %s", len(part), sections, heard)
		default:
			t.Errorf("%s is heard: %s, %d sections\n%s", part[0].name, heard, sections, body.String())
		}
	}
	for part := range slices.Chunk(vectors(t, l.URL), 20) {
		show(part)
	}
}

// In the style sheet, every text colour is readable on its background, in light and in dark. The
// pictures in out are for a person.
func TestCSS_CanBeRead(t *testing.T) {
	file, err := os.ReadFile("testdata/specimen.txt")
	if err != nil {
		t.Fatal(err)
	}
	l := newListener(t)
	p := New(Options{}).page(t, string(file))
	l.show("/specimen", `<style>:root { color-scheme: light dark } body { background: light-dark(#ffffff, #1d1c19); font-family: system-ui; margin: 2rem auto; padding: 0 1rem; max-width: 46rem }`+
		CSS+`</style>`+string(p.HTML(known)))
	ctx := chromium(t)
	for _, scheme := range []string{"light", "dark"} {
		features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
		if err := errors.Join(err, chromedp.Do(ctx, chromedp.EmulateViewport(900, 3000), chromedp.Navigate(l.URL+"/specimen"))); err != nil {
			t.Fatal(err)
		}
		weak, err := chromedp.Run(ctx, chromedp.Evaluate[string](contrasts))
		if err != nil {
			t.Fatal(err)
		}
		if weak != "" {
			t.Errorf("in %s: %s", scheme, weak)
		}
		if err := save(ctx, scheme); err != nil {
			t.Error(err)
		}
	}
	if weak := weakest(t, ctx, l); weak == "" {
		t.Error("the control, grey on grey, is found to be readable")
	}
}

// weakest checks the contrasts of a page without any.
func weakest(t *testing.T, ctx context.Context, l *listener) string {
	t.Helper()
	l.show("/grey", `<style>p { background: #777; color: #888 }</style><p>a</p>`)
	if err := chromedp.Do(ctx, chromedp.Navigate(l.URL+"/grey")); err != nil {
		t.Fatal(err)
	}
	weak, err := chromedp.Run(ctx, chromedp.Evaluate[string](contrasts))
	if err != nil {
		t.Fatal(err)
	}
	return weak
}

// contrasts lists the elements whose text has a contrast below 4.5 : 1, as WCAG 2 computes it.
const contrasts = `(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
  const rgb = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const luminance = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
  const ground = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c; } return [255, 255, 255]; };
  const weak = new Set();
  for (const e of document.querySelectorAll('.prose, .prose *')) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    const [a, b] = [luminance(rgb(getComputedStyle(e).color)), luminance(ground(e))].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) weak.add(e.tagName.toLowerCase() + '.' + e.className + ' ' + ratio.toFixed(2));
  }
  return [...weak].join(', ');
})()`

// save writes a screenshot of the tab.
func save(ctx context.Context, name string) error {
	picture, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{})
	if err != nil {
		return err
	}
	if err := os.MkdirAll("out", 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join("out", "prose-"+name+".png"), picture.Data, 0o644)
}
