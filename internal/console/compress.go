package console

import (
	"bytes"
	"compress/gzip"
	"sync"
)

const (
	// pageLevel is the gzip level. A higher one takes more time than its shorter page saves.
	pageLevel = 4
	// minCompressed is the least size to compress: a smaller page fits into one packet anyway.
	minCompressed = 1 << 10
)

// compressors pools the compressors, because each holds most of a megabyte.
var compressors = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, pageLevel)
	if err != nil {
		panic("console: " + err.Error()) // pageLevel is valid
	}
	return z
}}

// compressed returns the gzip of plain.
func compressed(plain []byte) []byte {
	var b bytes.Buffer
	z := compressors.Get().(*gzip.Writer)
	defer compressors.Put(z)
	z.Reset(&b)
	_, _ = z.Write(plain) // a buffer returns no error
	_ = z.Close()
	return b.Bytes()
}
