// Package render makes HTML of what people write: Markdown, as documents hold it, for the API, the
// console and shares. It is the one place that knows the parser, and it trusts nothing that it
// reads:
//
//   - What it writes consists of a few elements and attributes, each of which this package writes
//     itself. HTML in the text is shown as text, because the parser does not know it. An address is
//     written when it is of a kind on a short list.
//   - Whatever is put in, rendering 1 MiB takes less than a second of one processor and less than
//     128 MiB. Every step of the parser is paid for from a budget (meter.go); a text that exhausts
//     it, or nests deeper than anybody reads, is shown as plain text. The same text has the same
//     outcome on every machine and at every time: no clock decides.
//
// It knows no document, workspace or address of the service: `document:` and `media:` stay as they
// are until a caller says, by [Refs], what to put in their place.
package render

import (
	"cmp"
	"crypto/sha256"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"sheaf.dev/internal/fair"
)

// MaxText is the longest text, in bytes, that is read as Markdown. A longer one is shown as plain
// text.
const MaxText = 1 << 20

// turns are the bounds on rendering. Two texts are rendered at once, because each may take 128 MiB,
// and one of a workspace. What waits counts with the most that its rendering may cost, in steps of a
// nanosecond: of a workspace seven of the longest texts wait, or 64 of up to 18 KB.
var turns = fair.Limits{Places: 2, Each: 1, Waiting: 1_200_000_000, AllWaiting: 8_000_000_000, Wait: 5 * time.Second}

// Options are what an operator decides.
type Options struct {
	// ImageHosts are the hosts, such as "images.example.com" or "localhost:9000", from which
	// pictures may be loaded over https. A picture of another host is shown as a link to it.
	ImageHosts []string
	// CacheBytes bounds the cache of rendered pages: 32 MiB when it is 0.
	CacheBytes int
	// Wait is how long a text waits for its turn at most: 5 s when it is 0.
	Wait time.Duration
}

// A Renderer makes pages of texts, and remembers them. It may be used by several goroutines at
// once.
type Renderer struct {
	parser parser.Parser
	images map[string]bool
	cache  *cache
	turns  *fair.Turns
}

// New returns a Renderer.
func New(o Options) *Renderer {
	if o.CacheBytes == 0 {
		o.CacheBytes = 32 << 20
	}
	limits := turns
	limits.Wait = cmp.Or(o.Wait, limits.Wait)
	images := make(map[string]bool, len(o.ImageHosts))
	for _, host := range o.ImageHosts {
		images[strings.ToLower(host)] = true
	}
	return &Renderer{parser: newParser(), images: images, cache: newCache(o.CacheBytes), turns: fair.New(limits)}
}

// Await blocks until its caller has one of the turns, at that cost. `bytes` is the length of the text that
// the caller holds in memory meanwhile. done ends the turn.
type Await func(turns *fair.Turns, cost int64, bytes int) (done func(), err error)

// Page renders a text, or returns the cached page of the same text. Rendering needs a turn; the error
// of await is the only one that Page returns.
//
// Pages are cached by the hash of their text. A caller that asks for a page has the text already, so
// the cache shows nobody another's text.
func (r *Renderer) Page(await Await, text string) (*Page, error) {
	key := sha256.Sum256([]byte(text))
	if p, ok := r.cache.get(key); ok {
		return p, nil
	}
	done, err := await(r.turns, int64(mostSteps(len(text))), len(text))
	if err != nil {
		return nil, err
	}
	defer done()
	// Another call may have rendered the same text while this one waited.
	if p, ok := r.cache.get(key); ok {
		return p, nil
	}
	p, _ := r.render(text)
	r.cache.put(key, p)
	return p, nil
}

// render makes the page, and says what it cost.
func (r *Renderer) render(text string) (*Page, cost) {
	text = clean(text)
	if len(text) > MaxText {
		return plainPage(text), cost{}
	}
	m := newMeter(len(text))
	p := r.attempt(text, m)
	if p == nil {
		p = plainPage(text)
	}
	return p, m.spent()
}

// attempt reads the text as Markdown. It returns nil when that takes more than the budget. A fault
// of the parser is answered in the same way: the reader gets the text, if not its form.
func (r *Renderer) attempt(source string, m *meter) (p *Page) {
	defer func() {
		if reason := recover(); reason != nil {
			if _, ok := reason.(tooHard); !ok {
				m.fault = reason
			}
			p = nil
		}
	}()
	bytes := []byte(source)
	root := r.parser.Parse(text.NewReader(bytes), parser.WithContext(m.context()))
	w := &writer{meter: m, source: bytes, images: r.images, out: make([]byte, 0, len(bytes)+len(bytes)/2+64)}
	w.children(root, 0)
	return w.page()
}

// clean replaces what HTML cannot hold, and ends all lines in the same way.
func clean(text string) string {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	if strings.ContainsRune(text, 0) {
		text = strings.ReplaceAll(text, "\x00", "\ufffd")
	}
	if strings.ContainsRune(text, '\r') {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	return text
}
