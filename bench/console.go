package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Who opens the console, and how much is in the workspace.
const (
	reader         = "reader@example.com"
	readerPassword = "a password of the bench"
	manyFolders    = 1000
	inFolder       = 5 // projects of each folder; as many again are at the root level
)

// console measures in a real browser what the console costs it at 10,000 projects and 1,000 folders.
func (b *bench) console() error {
	c, end, err := b.grown("console", seedConsole)
	if err != nil {
		return err
	}
	page, stop, err := openConsole(c)
	if err != nil {
		return errors.Join(err, end())
	}
	defer stop()
	size := b.begin(row{Work: "console, first page", Group: "growth", Unit: "KB", Note: "compressed, with scripts, styles and icons; 10,000 projects, 1,000 folders"})
	nodes := b.begin(row{Work: "console, nodes", Group: "growth", Unit: "nodes", Note: "elements and texts of the first page"})
	work := b.begin(row{Work: "console, a live change", Group: "growth", Unit: "ms", Note: "work in the browser, from the sign to what is painted"})
	for range max(b.rounds, 5) {
		if err := page.measure(c, size.figure("sheaf"), nodes.figure("sheaf"), work.figure("sheaf")); err != nil {
			return errors.Join(err, end())
		}
	}
	key := b.begin(row{Work: "console, a key in the editor", Group: "growth", Unit: "ms", Note: "in a text of 200 KB, from the key to what is laid out"})
	var weight float64
	for range max(b.rounds, 5) {
		if weight, err = page.edit(c, key.figure("sheaf")); err != nil {
			return errors.Join(err, end())
		}
	}
	key.Note += fmt.Sprintf("; the page weighs %.0f KB compressed", weight)
	key.atMost(16, key.figure("sheaf").Median, "< 16 ms")
	key.atMost(350, weight, "page ≤ 350 KB")
	size.atMost(150, size.figure("sheaf").Median, "≤ 150 KB")
	nodes.atMost(3000, nodes.figure("sheaf").Median, "≤ 3,000 nodes")
	work.atMost(50, work.figure("sheaf").Median, "≤ 50 ms")
	for _, r := range []*row{size, nodes, work, key} {
		b.keep(r)
	}
	return end()
}

// seedConsole fills a workspace whose owner can sign in.
func seedConsole(o store.Options) ([]owner, error) {
	owners, err := seed(o, size{owners: 1, projects: manyFolders * inFolder})
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	st, err := store.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	ws := owners[0].Workspace
	err = st.Write(ctx, func(tx *store.Tx) error {
		for n := range manyFolders {
			f := sheaf.Folder{ID: sheaf.FolderID(newID(time.Now())), Name: fmt.Sprintf("Folder %d", n), EntityType: sheaf.ProjectFolder, Color: sheaf.DefaultFolderColor,
				Depth: 1, Number: int64(1_000_000 + n), Revision: 1, CreatedAt: time.Now(), UpdatedAt: time.Now()}
			if err := tx.InsertFolder(ws, f); err != nil {
				return err
			}
			if _, err := seedProjects(tx, ws, &f.ID, inFolder, 0); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return owners, signUp(ctx, st, ws)
}

// signUp makes somebody who can sign in an owner of the workspace.
func signUp(ctx context.Context, st *store.Store, ws sheaf.WorkspaceID) error {
	a := app.New(app.Config{Store: st, Now: time.Now, Random: rand.Reader})
	c := app.Caller{Workspace: ws, Role: sheaf.Owner}
	err := st.Read(ctx, func(r *store.Reader) (err error) {
		c.User, err = r.OwnerOf(ws)
		return err
	})
	if err != nil {
		return err
	}
	i, err := a.Invite(ctx, c, reader, sheaf.Owner, nil)
	if err != nil {
		return err
	}
	_, _, err = a.Join(ctx, app.Join{Token: i.Token, Name: "Reader", Password: readerPassword}, "")
	return err
}

// tab is an open page of the console.
type tab struct {
	ctx  context.Context
	home string
}

// browser returns the path of the browser that the console is measured in.
func browser() (string, error) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		return "", fmt.Errorf("the console is measured in Debian's package chromium, which is missing: install it (apt-get install chromium), or name other parts with -only: %w", err)
	}
	return path, nil
}

// openConsole starts a browser and signs in.
func openConsole(c *contender) (*tab, func(), error) {
	path, err := browser()
	if err != nil {
		return nil, nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU)
	allocator, cancelBrowser := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	stop := func() { cancel(); cancelBrowser() }
	t := &tab{ctx: ctx, home: fmt.Sprintf("http://%s/w/%s/projects", c.process.addr, c.owners[0].Workspace)}
	err = chromedp.Do(ctx, chromedp.Navigate("http://"+c.process.addr+"/sign-in"))
	if err == nil {
		_, err = ask[bool](t, fmt.Sprintf(`fetch("/sign-in", {method: "POST", redirect: "manual", body: new URLSearchParams({email: %q, password: %q})}).then(() => true)`, reader, readerPassword))
	}
	if err == nil {
		_, err = chromedp.Call(ctx, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	return t, stop, nil
}

// ask evaluates an expression in the page, and waits for the promise that it returns.
func ask[T any](t *tab, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(t.ctx, time.Minute)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// waitFor returns a promise that is fulfilled when a condition becomes true. It checks every 50 ms.
func waitFor(condition string) string {
	return `new Promise((done) => { const look = () => { if (` + condition + `) done(true); else setTimeout(look, 50) }; look() })`
}

const (
	countNodes = `(() => { let n = 0; const walk = document.createTreeWalker(document, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT); while (walk.nextNode()) n++; return n })()`
	countBytes = `performance.getEntriesByType("navigation").concat(performance.getEntriesByType("resource")).reduce((sum, e) => sum + e.encodedBodySize, 0)`
)

// measure opens the first page as on a first visit, and lets a program change a project that it shows.
func (t *tab) measure(c *contender, size, nodes, work *figure) error {
	if err := chromedp.Do(t.ctx, chromedp.Navigate("about:blank"), chromedp.Navigate(t.home)); err != nil {
		return err
	}
	if _, err := ask[bool](t, waitFor(`document.readyState === "complete" && performance.getEntriesByType("resource").some((e) => e.name.includes("icons.svg"))`)); err != nil {
		return err
	}
	bytes, err := ask[float64](t, countBytes)
	if err != nil {
		return err
	}
	n, err := ask[float64](t, countNodes)
	if err != nil {
		return err
	}
	ms, err := t.change(c)
	if err != nil {
		return err
	}
	size.add(sample{value: bytes / 1024})
	nodes.add(sample{value: n})
	work.add(sample{value: ms})
	return nil
}

// change renames a project that the page shows, and returns how long the browser worked until that was painted.
func (t *tab) change(c *contender) (ms float64, err error) {
	id, err := ask[string](t, `document.querySelector('.card[href*="/projects/"]').href.split("/").pop()`)
	if err != nil {
		return 0, err
	}
	name := "Renamed " + newID(time.Now())
	// An observer reports the change of the page, so that waiting costs no work.
	shown := fmt.Sprintf(`window.shown = new Promise((done) => { const see = new MutationObserver(() => {
		if (document.querySelector('.card[href*="/projects/"] strong').textContent === %q) { see.disconnect(); requestAnimationFrame(() => setTimeout(() => done(true))) } });
		see.observe(document.body, {subtree: true, childList: true, characterData: true}) }); true`, name)
	if _, err := ask[bool](t, shown); err != nil {
		return 0, err
	}
	before, err := t.worked()
	if err != nil {
		return 0, err
	}
	if err := c.process.call(c.owners[0], "PATCH", "/api/v1/projects/"+id, fmt.Sprintf(`{"name":%q}`, name), nil); err != nil {
		return 0, err
	}
	if _, err := ask[bool](t, "window.shown"); err != nil {
		return 0, err
	}
	after, err := t.worked()
	return 1000 * (after - before), err
}

// Figures of what is typed in the editor.
const (
	editedBytes = 200 << 10
	typedKeys   = 50
)

// typeKeys types letters into the middle of the text, each when the page is idle, and returns the time of the
// median one in milliseconds. A key is handled when the editor has changed and its page is laid out.
const typeKeys = `new Promise((done) => {
	const editor = document.querySelector(".cm-content"), times = [];
	editor.focus();
	const next = () => {
		const began = performance.now();
		document.execCommand("insertText", false, "e");
		document.querySelector(".cm-scroller").getBoundingClientRect();
		times.push(performance.now() - began);
		if (times.length < %d) { requestAnimationFrame(() => setTimeout(next, 20)); return; }
		times.sort((a, b) => a - b);
		done(times[times.length >> 1]);
	};
	next();
})`

// edit opens the editor of a new document of editedBytes as on a first visit, and types. It adds the time of a key to the
// figure, and returns the weight of the page in KB, without its
// preview.
func (t *tab) edit(c *contender, key *figure) (weight float64, err error) {
	paragraph := "Some words with **marks**, a [link](https://example.com) and `code`, as people write them.\n\n"
	text := strings.Repeat("## A part\n\n"+strings.Repeat(paragraph, 10), editedBytes/(11+10*len(paragraph))+1)
	body, err := json.Marshal(map[string]string{"title": "A long text", "content": text})
	if err != nil {
		return 0, err
	}
	var made struct{ ID string }
	if err := c.process.call(c.owners[0], "POST", "/api/v1/documents", string(body), &made); err != nil {
		return 0, err
	}
	address := strings.TrimSuffix(t.home, "projects") + "documents/" + made.ID + "/edit"
	if err := chromedp.Do(t.ctx, chromedp.Navigate("about:blank"), chromedp.Navigate(address)); err != nil {
		return 0, err
	}
	// The preview of such a text is a separate page. It must be loaded first, so that loading it is not
	// measured with the keys.
	if _, err := ask[bool](t, waitFor(`document.querySelector(".cm-content") && document.querySelectorAll("[data-preview-pane] h2").length > 10`)); err != nil {
		return 0, err
	}
	weighed := strings.Replace(countBytes, ".reduce(", `.filter((e) => !e.name.endsWith("/preview")).reduce(`, 1)
	if weight, err = ask[float64](t, weighed); err != nil {
		return 0, err
	}
	ms, err := ask[float64](t, fmt.Sprintf(typeKeys, typedKeys))
	key.add(sample{value: ms})
	return weight / 1024, err
}

// worked is how many seconds of a processor the page's thread has taken so far.
func (t *tab) worked() (float64, error) {
	got, err := chromedp.Call(t.ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		return 0, err
	}
	for _, m := range got.Metrics {
		if strings.EqualFold(m.Name, "TaskDuration") {
			return m.Value, nil
		}
	}
	return 0, errors.New("the browser does not tell how long it worked")
}
