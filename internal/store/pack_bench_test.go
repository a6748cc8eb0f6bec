package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// documentation is real Markdown: the pages of this repository.
func documentation(tb testing.TB) (texts []string, total int) {
	tb.Helper()
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/*/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			tb.Fatal(err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				tb.Fatal(err)
			}
			texts, total = append(texts, string(b)), total+len(b)
		}
	}
	if total == 0 {
		tb.Fatal("there are no pages")
	}
	return texts, total
}

// BenchmarkPack reports the compressed size of a byte of Markdown, page by page as texts are
// stored, and the time, for several levels. Unpacking is measured for the level in use.
func BenchmarkPack(b *testing.B) {
	texts, total := documentation(b)
	for _, level := range []zstd.EncoderLevel{zstd.SpeedFastest, zstd.SpeedDefault, zstd.SpeedBetterCompression} {
		b.Run(level.String(), func(b *testing.B) {
			encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
			if err != nil {
				b.Fatal(err)
			}
			defer encoder.Close()
			packed := 0
			b.SetBytes(int64(total))
			for b.Loop() {
				packed = 0
				for _, text := range texts {
					packed += len(encoder.EncodeAll([]byte(text), nil))
				}
			}
			b.ReportMetric(float64(packed)/float64(total), "bytes/byte")
		})
	}
	b.Run("unpack", func(b *testing.B) {
		type packed struct {
			form, bytes int64
			body        []byte
		}
		var all []packed
		for _, text := range texts {
			form, body := pack(text)
			all = append(all, packed{form, int64(len(text)), body})
		}
		b.SetBytes(int64(total))
		for b.Loop() {
			for _, p := range all {
				if _, err := unpack(p.form, p.body, p.bytes); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
