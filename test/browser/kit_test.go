// Package browser walks through the console as a person does: the real program,
// in a real browser, with the mouse and the keyboard.
//
// A test opens a tab, acts in it with click, fill, choose and drag, and waits
// with see for what a person would wait for. Nothing sleeps. Whatever the
// browser complains about on its console, a blocked style or script too, fails
// the test. With -pictures, shot writes a picture in light and in dark into out,
// for a person.
package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/proctest"
)

// patience is how long a page may take on a busy machine.
const patience = 5 * time.Minute

// service is the program, running on an empty store.
type service struct {
	t         *testing.T
	URL       string
	SetupLink string
	Key       string // with every scope, of the first workspace
	data      string
}

func TestMain(m *testing.M) {
	flag.Parse()
	// Tests wait for pages more than they compute.
	_ = flag.Set("test.parallel", "6")
	go func() { _, _ = chromium() }() // starts while the program is built
	code := m.Run()
	if err := errors.Join(closeBrowser(), everyPageWasSeen(code)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	proctest.Exit(code)
}

// seen are the names of the pictures that were taken.
var seen sync.Map

// everyPageWasSeen returns an error for a page of the console without a
// picture, if all tests ran.
func everyPageWasSeen(code int) (err error) {
	pages, _ := filepath.Glob("../../internal/console/pages/*.html")
	if _, missing := chromium(); code != 0 || missing != nil || flag.Lookup("test.run").Value.String() != "" {
		return nil
	}
	for _, page := range pages {
		name := strings.TrimSuffix(filepath.Base(page), ".html")
		if _, ok := seen.Load(name); !ok && name != "layout" && name != "parts" {
			err = errors.Join(err, fmt.Errorf("no test looks at the page %s: take a shot of that name", name))
		}
	}
	return err
}

// startService runs the program with those flags beside the usual ones.
func startService(t *testing.T, flags ...string) *service {
	t.Helper()
	s := &service{t: t, data: filepath.Join(t.TempDir(), "data")}
	cmd := exec.Command(proctest.Binary(t), append([]string{"serve", "--data", s.data, "--addr", "127.0.0.1:0", "--log-level", "error"}, flags...)...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server's end: %v", err)
		}
	})
	s.readFirstRun(stdout)
	return s
}

// make runs a command of the program on the store.
func (s *service) make(command ...string) {
	s.t.Helper()
	if out, err := exec.Command(proctest.Binary(s.t), append(command, "--data", s.data)...).CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %v: %s", command, err, out)
	}
}

var firstRun = regexp.MustCompile(`Set up the console +((http://[^/]+)/setup/\S+)[\s\S]*API key +(\S+)[\s\S]*curl `)

// readFirstRun waits for what the first start prints, which comes before it
// listens; a request waits for that.
func (s *service) readFirstRun(out io.Reader) {
	s.t.Helper()
	const most = 100 // lines
	printed := make(chan string, most)
	go func() {
		defer close(printed)
		for lines := bufio.NewScanner(out); lines.Scan(); { //unbounded: it ends with the server, and nothing waits for it
			select {
			case printed <- lines.Text():
			default:
			}
		}
	}()
	var text strings.Builder
	limit := time.After(patience)
	for range most {
		select {
		case line := <-printed:
			text.WriteString(line + "\n")
		case <-limit:
			s.t.Fatalf("the server printed only %q", text.String())
		}
		if m := firstRun.FindStringSubmatch(text.String()); m != nil {
			s.SetupLink, s.URL, s.Key = m[1], m[2], m[3]
			return
		}
	}
	s.t.Fatalf("the server printed %q", text.String())
}

// chromium is one browser for all tests of the process.
var chromium = sync.OnceValues(func() (context.Context, error) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		return nil, fmt.Errorf("the browser tests need Debian's package chromium: %w", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("force-prefers-reduced-motion", true))
	allocator, _ := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ := chromedp.NewContext(allocator)
	return ctx, chromedp.Do(ctx) //unbounded: a time limit would close the browser; chromedp gives it 20 seconds to start
})

// closeBrowser ends it, and finds what was left running here.
func closeBrowser() error {
	if ctx, _ := chromium(); ctx != nil {
		if err := chromedp.Cancel(ctx); err != nil {
			return fmt.Errorf("close the browser: %w", err)
		}
	}
	return goleak.Find()
}

// tab is a window with cookies of its own.
type tab struct {
	t             *testing.T
	ctx           context.Context
	url           string // of the service
	width, height int64  // of the window
	// link is what was clicked last, if it leads to another page: a live part may
	// have been replaced under the pointer.
	link string
	// expected is a part of the complaints of the browser that the test causes; empty: there are none. It is set before the first page.
	expected string
}

// newTab opens a window of a person who has never been here.
func newTab(t *testing.T, s *service) *tab {
	t.Helper()
	browser, err := chromium()
	if err != nil {
		if strings.Contains(err.Error(), "need Debian's") {
			sheaftest.Unable(t, err.Error())
		}
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	// The tab lives as long as the context of the first action.
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil { //unbounded: a time limit would close the tab
		t.Fatal(err)
	}
	b := &tab{t: t, ctx: ctx, url: s.URL, width: 1280, height: 800}
	b.desk()
	b.moveTo("Asia/Kolkata")
	// Each tab behaves as if it were in front: otherwise a click in the tab of another test would take the focus from it.
	if _, err := command(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	b.watchConsole()
	return b
}

// watchConsole fails the test for whatever the browser complains about.
func (b *tab) watchConsole() {
	messages := chromedp.Console(b.ctx)
	done := make(chan struct{})
	var complaints []string
	var mu sync.Mutex
	go func() {
		defer close(done)
		for m, err := range messages {
			if err != nil {
				return
			}
			// A refused form is answered with a 4xx, which the browser logs.
			if (m.IsException() || m.Type == "error") && m.Source != "network" {
				mu.Lock()
				complaints = append(complaints, m.String())
				mu.Unlock()
			}
		}
	}()
	b.t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range complaints {
			if b.expected != "" && strings.Contains(c, b.expected) {
				continue
			}
			b.t.Errorf("the browser complains: %s", c)
		}
	})
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatalf("in the browser: %v", err)
	}
}

// open goes to an address of the service, or to a whole one.
func (b *tab) open(address string) {
	b.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.url + address
	}
	b.do(chromedp.Navigate(address))
}

// ask evaluates an expression in the page. A page that is just going away asks
// for another try: ok is false then.
func ask[T any](b *tab, expression string, options ...chromedp.EvaluateOption) (v T, ok bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, options...))
	return v, err == nil
}

// command sends a command of the browser's protocol to the tab.
func command[P, R any](b *tab, name cdp.Command[P, R], parameters P) (R, error) {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	return chromedp.Call(ctx, name, parameters)
}

// until waits for an expression to become true.
func (b *tab) until(what, expression string) {
	b.t.Helper()
	if saw := b.awaited(patience, what, expression); saw != "" {
		b.save("failed-" + strings.ReplaceAll(b.t.Name(), "/", "-"))
		b.t.Fatal(saw)
	}
}

// awaited waits up to `limit` for an expression to become true. If it does not, awaited says what the page is instead.
func (b *tab) awaited(limit time.Duration, what, expression string) (saw string) {
	b.t.Helper()
	// The page looks by itself for a while: each question is a round trip to the
	// browser. A page that goes away answers with an error.
	look := `new Promise((done) => { const end = Date.now() + 1000, look = () => { let yes = false; try { yes = !!(` + expression +
		`) } catch (_) {} if (yes || Date.now() > end) done(yes); else setTimeout(look, 15) }; look() })`
	if sheaftest.Within(limit, func() bool {
		yes, ok := ask[bool](b, look, chromedp.EvalAwaitPromise)
		return ok && yes
	}) {
		return ""
	}
	text, _ := ask[string](b, "location.href + '\\n' + document.body.innerText")
	return fmt.Sprintf("%s did not come; the page is %s", what, text)
}

// find is an expression for the first visible element that a selector names, or
// with a text in place of a selector (it begins with =) the first link, button,
// label or box that reads so. Elements of an open dialog come before all others.
func find(selector string) string {
	candidates := fmt.Sprintf("[...root.querySelectorAll(%s)]", quote(selector))
	if text, ok := strings.CutPrefix(selector, "="); ok {
		candidates = fmt.Sprintf("[...root.querySelectorAll('a, button, label, summary, input[type=checkbox][aria-label]')].filter((e) => "+
			"(e.getAttribute('aria-label') || e.innerText || '').trim() === %s)", quote(text))
	}
	return fmt.Sprintf("(() => { for (const root of [...document.querySelectorAll('dialog[open]')].reverse().concat(document)) {"+
		" const found = %s.find((e) => e.checkVisibility({visibilityProperty: true})); if (found) return found } return null })()", candidates)
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// see waits until an element is there, which a selector or =text names.
func (b *tab) see(selector string) {
	b.t.Helper()
	b.until(selector, find(selector))
}

// read waits until the page shows a text anywhere.
func (b *tab) read(text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("%q", text), fmt.Sprintf("document.body.innerText.includes(%s)", quote(text)))
}

// gone waits until an element is there no longer.
func (b *tab) gone(selector string) {
	b.t.Helper()
	b.until("the end of "+selector, "!"+find(selector))
}
