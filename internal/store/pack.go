package store

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// The forms in which the body of a text is stored. A number stays what it is: it is in the rows.
const (
	plainForm = 0 // as it is
	zstdForm  = 1 // a frame of Zstandard
)

// packFrom is from how many bytes on a text is worth packing.
const packFrom = 256

// packer and unpacker are safe for concurrent use. An encoder at once is enough for each processor,
// and a frame says how long it is unpacked, so that nothing grows beyond what was stored.
var packer, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
var unpacker, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true))

// pack returns the form and the bytes in which a text takes the least room.
func pack(content string) (form int64, body []byte) {
	if len(content) >= packFrom {
		if packed := packer.EncodeAll([]byte(content), nil); len(packed) < len(content) {
			return zstdForm, packed
		}
	}
	return plainForm, []byte(content)
}

// unpack returns the text of a body, which has that many bytes.
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
