package console

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"sync"

	"sheaf.dev/internal/front"
)

const (
	// pageLevel is how hard a page is compressed: what a higher level saves of it, its making costs.
	pageLevel = 4
	// minPacked is the least that is worth compressing: it fits into one packet as it is.
	minPacked = 1 << 10
)

// packers are the compressors that nobody uses at the moment; each holds most of a megabyte.
var packers = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, pageLevel)
	if err != nil {
		panic("console: " + err.Error()) // the level is one that there is
	}
	return z
}}

// packed is the page compressed.
func packed(plain []byte) []byte {
	var b bytes.Buffer
	z := packers.Get().(*gzip.Writer)
	defer packers.Put(z)
	z.Reset(&b)
	_, _ = z.Write(plain) // a buffer takes everything
	_ = z.Close()
	return b.Bytes()
}

// packs reports whether the page goes out compressed: to a browser that takes it so, unless another
// site made it ask, or it answers a form. The length of a compressed page reveals whether a word that
// came with the request occurs in it a second time. So who can make a browser ask, and sees how much
// it is sent, could spell out what the page says; and what is shown once answers a form.
func (v *visit) packs(n int) bool {
	site := v.r.Header.Get("Sec-Fetch-Site")
	own := site == "" || site == "same-origin" || site == "none"
	return own && v.IsRead() && n >= minPacked && front.AcceptsGzip(v.r.Header)
}

// send writes a whole page, compressed where it may be. It is Unavailable when too many large ones wait
// for their readers.
func (v *visit) send(status int, page []byte) error {
	v.Header().Add("Vary", "Accept-Encoding, Sec-Fetch-Site")
	if v.packs(len(page)) {
		page = packed(page)
		v.Header().Set("Content-Encoding", "gzip")
	}
	if err := v.hold(status, cap(page)); err != nil {
		v.Header().Del("Content-Encoding")
		return err
	}
	v.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.WriteHeader(status)
	if v.r.Method != http.MethodHead {
		v.Write(page)
	}
	return nil
}
