// Package render turns Markdown of documents into HTML, for the API, the console and shares. It is
// the only package that knows the parser, and it trusts nothing that it reads:
//
//   - The output consists of a few elements and attributes, all written by this package itself.
//     HTML in the text is shown as text, except a handful of tags without attributes, for which
//     elements of the tree are built (tag.go). Comments are dropped. An address is written only if
//     its kind is on a short list.
//   - For any input, rendering 1 MiB takes less than a second of one processor and less than 128
//     MiB. Every step of the parser is paid for from a budget (meter.go). A text that exceeds it,
//     or nests too deeply, is shown as plain text. The outcome for a text is the same on every
//     machine and at every time: no clock decides.
//
// It knows no documents, workspaces or addresses of the service: `document:` and `media:` are left
// as they are until a caller gives, by [Refs], what replaces them.
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

// MaxText is the length in bytes of the longest text that is rendered as Markdown. A longer one is
// shown as plain text.
const MaxText = 1 << 20

// turns limits rendering. Two texts are rendered at once, because each may take 128 MiB, and one
// per workspace. A waiting text counts with the most that rendering it may cost, in steps of a
// nanosecond. So seven of the longest texts of a workspace may wait, or 64 of up to 18 KB.
var turns = fair.Limits{Places: 2, Each: 1, Waiting: 1_200_000_000, AllWaiting: 8_000_000_000, Wait: 5 * time.Second}

// Options are the operator's settings.
type Options struct {
	// ImageHosts are the hosts, such as "images.example.com" or "localhost:9000", from which
	// pictures may be loaded over https. A picture from another host is shown as a link.
	ImageHosts []string
	// CacheBytes limits the cache of rendered pages. 0 means 32 MiB.
	CacheBytes int
	// Wait is how long a text waits for its turn. 0 means 5 s.
	Wait time.Duration
}

// A Renderer renders texts and caches the pages. It is safe for concurrent use.
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

// Load returns the number of texts that wait for their turn, and of texts that got none.
func (r *Renderer) Load() (waiting int, refused uint64) {
	_, waiting = r.turns.Load()
	return waiting, r.turns.Refused()
}

// Await blocks until the caller has a turn, at that cost. `bytes` is the length of the text that
// the caller holds in memory meanwhile. done ends the turn.
type Await func(turns *fair.Turns, cost int64, bytes int) (done func(), err error)

// Page renders a text, or returns the cached page of the same text. Rendering needs a turn; the
// error of await is the only one that Page returns.
//
// Pages are cached by the hash of their text. A caller that asks for a page has the text already,
// so the cache reveals no text to anyone.
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

// Turn blocks until the caller may do other work for readers that takes `cost` nanoseconds of a processor,
// as rendering a text does. done ends the turn. The caller must not ask for a page meanwhile.
func (r *Renderer) Turn(await Await, cost int64) (done func(), err error) {
	return await(r.turns, cost, 0)
}

// render renders a text and returns its cost.
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

// attempt renders the text as Markdown. It returns nil if that exceeds the budget, or if the parser
// panics: the reader then gets the text without its form.
func (r *Renderer) attempt(source string, m *meter) (p *Page) {
	defer func() {
		if reason := recover(); reason != nil {
			if _, ok := reason.(tooHard); !ok {
				m.fault = reason
			}
			p = nil
		}
	}()
	m.spend(len(source), 0)
	m.lastComment = strings.LastIndex(source, string(commentStop))
	bytes := []byte(source)
	root := r.parser.Parse(text.NewReader(bytes), parser.WithContext(m.context()))
	w := &writer{meter: m, source: bytes, images: r.images, out: make([]byte, 0, len(bytes)+len(bytes)/2+64)}
	w.children(root, 0)
	return w.page()
}

// clean replaces what HTML cannot contain, and makes all line breaks the same.
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
