package store

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// The forms in which the body of a text is stored. The numbers are in the rows and must not change.
const (
	plainForm = 0 // uncompressed
	zstdForm  = 1 // one Zstandard frame
)

// packFrom is the smallest length in bytes at which a text is compressed.
const packFrom = 256

// packer and unpacker are safe for concurrent use, with at most one coder per processor. A frame
// states its uncompressed length, so unpacking never allocates more than was stored.
var packer, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
var unpacker, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true))

// pack returns the smallest form of a text and its bytes.
func pack(content string) (form int64, body []byte) {
	if len(content) >= packFrom {
		if packed := packer.EncodeAll([]byte(content), nil); len(packed) < len(content) {
			return zstdForm, packed
		}
	}
	return plainForm, []byte(content)
}

// unpack returns the text of a body; bytes is its uncompressed length.
func unpack(form int64, body []byte, bytes int64) (string, error) {
	switch form {
	case plainForm:
		return string(body), nil
	case zstdForm:
		text, err := unpacker.DecodeAll(body, make([]byte, 0, bytes))
		return string(text), err
	}
	return "", fmt.Errorf("its form %d is unknown to this program", form)
}
