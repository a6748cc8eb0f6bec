package client

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxFrame bounds one event of a stream: the largest payload is 256 KiB.
const maxFrame = 8 << 20

var errFrame = errors.New("the stream sent an event larger than 8 MiB")

// frame is one block of a stream of server-sent events; without data it is a sign of life. The type
// and the id of an event are in its data.
type frame struct{ data []byte }

// frames reads the blocks of a stream.
type frames struct{ in *bufio.Reader }

func newFrames(r io.Reader) frames { return frames{bufio.NewReaderSize(r, 64<<10)} }

// next returns the next whole block; one that the end of the stream cuts off does not count.
func (f frames) next() (frame, error) {
	var data [][]byte
	for size := 0; ; {
		line, err := f.line(maxFrame - size)
		if err != nil {
			return frame{}, err
		}
		if len(line) == 0 {
			return frame{bytes.Join(data, []byte{'\n'})}, nil
		}
		size += len(line)
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, bytes.TrimPrefix(value, []byte{' '}))
		}
	}
}

// line returns a line without its end.
func (f frames) line(limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := f.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > limit:
			return nil, errFrame
		case err == nil:
			return bytes.TrimSuffix(line[:len(line)-1], []byte{'\r'}), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}
