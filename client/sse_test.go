package client

import (
	"bytes"
	"testing"
)

func FuzzFrames(f *testing.F) {
	for _, s := range []string{": hi\n\n", "id: 1\ndata: {}\n\n", "data: a\r\ndata:b\r\n\r\n", "data: cut", "\n\n\n", "data\ndata:\n\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		in := newFrames(bytes.NewReader(b))
		for read := 0; ; read++ {
			frame, err := in.next()
			if err != nil {
				return
			}
			if len(frame.data) > len(b) || read > len(b) {
				t.Fatalf("%q became more than it is", b)
			}
		}
	})
}

func TestFrames_JoinLinesAndDropWhatIsCutOff(t *testing.T) {
	in := newFrames(bytes.NewReader([]byte(": hi\n\nid: 1\r\ndata: a\r\ndata:b\n\ndata: cut\n")))
	for _, want := range []string{"", "a\nb"} {
		if got, err := in.next(); err != nil || string(got.data) != want {
			t.Errorf("got %q, %v, want %q", got.data, err, want)
		}
	}
	if got, err := in.next(); err == nil {
		t.Errorf("a block that is cut off became %q", got.data)
	}
}
