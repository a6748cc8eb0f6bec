package media_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"runtime"
	"strings"
	"testing"

	"sheaf.dev/internal/media"
)

func encoded(t testing.TB, encode func(io.Writer, image.Image) error, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b, image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.Black, color.White})); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func pngOf(t testing.TB, w, h int) []byte { return encoded(t, png.Encode, w, h) }

func jpegOf(t testing.TB, w, h int) []byte {
	return encoded(t, func(to io.Writer, m image.Image) error { return jpeg.Encode(to, m, nil) }, w, h)
}

func gifOf(t testing.TB, w, h int) []byte {
	return encoded(t, func(to io.Writer, m image.Image) error { return gif.Encode(to, m, nil) }, w, h)
}

// webpOf returns the smallest lossless picture: one colour.
func webpOf(w, h int) []byte {
	bits := uint32(w-1) | uint32(h-1)<<14
	data := append([]byte{0x2f}, binary.LittleEndian.AppendUint32(nil, bits)...)
	data = append(data, 0x07, 0x10, 0x11, 0x11, 0x88, 0x88, 0x08)
	chunk := append(binary.LittleEndian.AppendUint32([]byte("VP8L"), uint32(len(data))), data...)
	return append(append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(chunk)+4)), "WEBP"...), chunk...)
}

func box(kind string, body ...[]byte) []byte {
	all := bytes.Join(body, nil)
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(8+len(all))), kind...), all...)
}

func fullBox(kind string, version byte, body ...[]byte) []byte {
	return box(kind, append([][]byte{{version, 0, 0, 0}}, body...)...)
}

func u16(n int) []byte { return binary.BigEndian.AppendUint16(nil, uint16(n)) }
func u32(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

// avifOf returns a picture with a thumbnail of another size before the primary picture, which is
// item 2.
func avifOf(w, h int, turn byte) []byte {
	properties := box("ipco", fullBox("ispe", 0, u32(16), u32(16)), fullBox("ispe", 0, u32(w), u32(h)), box("irot", []byte{turn}))
	associations := fullBox("ipma", 0, u32(2), u16(1), []byte{1, 1}, u16(2), []byte{2, 2, 0x80 | 3})
	meta := fullBox("meta", 0, fullBox("hdlr", 0, make([]byte, 20)), fullBox("pitm", 0, u16(2)), box("iprp", properties, associations))
	return bytes.Join([][]byte{box("ftyp", []byte("avif"), u32(0), []byte("avifmif1")), meta, box("mdat", make([]byte, 100))}, nil)
}

func webmOf(doctype string) []byte {
	element := func(id []byte, body []byte) []byte { return append(append(id, 0x80|byte(len(body))), body...) }
	header := bytes.Join([][]byte{element([]byte{0x42, 0x86}, []byte{1}), element([]byte{0x42, 0x82}, []byte(doctype))}, nil)
	return append(element([]byte{0x1a, 0x45, 0xdf, 0xa3}, header), "\x18\x53\x80\x67"...)
}

func oggOf(codec string) []byte {
	return []byte("OggS\x00\x02" + strings.Repeat("\x00", 20) + "\x01\x1e" + codec + strings.Repeat("\x00", 30))
}

// mp3Of returns frames of 128 kbit/s at 44.1 kHz, 417 bytes each.
func mp3Of(frames int) []byte {
	return bytes.Repeat(append([]byte{0xff, 0xfb, 0x90, 0x00}, make([]byte, 413)...), frames)
}

// Some types are shown inline; everything else is not.
func TestSniff_WhatTheBytesAre(t *testing.T) {
	t.Parallel()
	ftyp := func(major string, compatible ...string) []byte {
		return box("ftyp", []byte(major), u32(0), []byte(strings.Join(compatible, "")))
	}
	cases := []struct {
		name string
		head []byte
		want string // empty: not inline
	}{
		{"PNG", pngOf(t, 3, 2), "image/png"},
		{"JPEG", jpegOf(t, 3, 2), "image/jpeg"},
		{"GIF", gifOf(t, 3, 2), "image/gif"},
		{"GIF87a", []byte("GIF87a\x01\x00\x01\x00\x00\x00\x00;"), "image/gif"},
		{"WebP", webpOf(3, 2), "image/webp"},
		{"AVIF", avifOf(3, 2, 0), "image/avif"},
		{"AVIF that calls itself mif1", ftyp("mif1", "mif1", "avif", "miaf"), "image/avif"},
		{"MP4", ftyp("isom", "isom", "iso2", "avc1", "mp41"), "video/mp4"},
		{"MP4 of an unknown major brand", ftyp("XXXX", "mp42"), "video/mp4"},
		{"M4A", ftyp("M4A ", "M4A ", "isom"), "audio/mp4"},
		{"WebM", webmOf("webm"), "video/webm"},
		{"MP3 with a tag", append([]byte("ID3\x04\x00\x00\x00\x00\x00\x00"), mp3Of(1)...), "audio/mpeg"},
		{"MP3 without", mp3Of(2), "audio/mpeg"},
		{"Ogg Vorbis", oggOf("\x01vorbis"), "audio/ogg"},
		{"Ogg Opus", oggOf("OpusHead"), "audio/ogg"},
		{"Ogg Theora", oggOf("\x80theora"), "video/ogg"},

		{"nothing", nil, ""},
		{"text", []byte("Once upon a time"), ""},
		{"HTML", []byte("<!doctype html><script>alert(1)</script>"), ""},
		{"SVG", []byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`), ""},
		{"SVG with an XML head", []byte(`<?xml version="1.0"?><svg/>`), ""},
		{"PDF", []byte("%PDF-1.7\n"), ""},
		{"ZIP", []byte("PK\x03\x04\x14\x00"), ""},
		{"an executable", []byte("\x7fELF\x02\x01\x01"), ""},
		{"JavaScript", []byte("alert(1)//"), ""},
		{"QuickTime", ftyp("qt  ", "qt  ", "isom"), ""},
		{"HEIC", ftyp("heic", "mif1", "heic"), ""},
		{"Matroska", webmOf("matroska"), ""},
		{"Ogg with a codec that nobody knows", oggOf("whatever"), ""},
		{"a page of Ogg that is not the first", bytes.Replace(oggOf("OpusHead"), []byte("OggS\x00\x02"), []byte("OggS\x00\x00"), 1), ""},
		{"one frame of MP3 and something else", append(mp3Of(1), make([]byte, 100)...), ""},
		{"UTF-16", []byte("\xff\xfe<\x00s\x00v\x00g\x00"), ""},
		{"RIFF of sounds", []byte("RIFF\x00\x00\x00\x00WAVEfmt "), ""},
		{"RIFF of WebP with an unknown form", []byte("RIFF\x00\x00\x00\x00WEBPXXXX"), ""},

		// A file of two types at once is served as the one that it begins with, and never as the
		// other.
		{"HTML before a PNG", append([]byte("<script>alert(1)</script>"), pngOf(t, 3, 2)...), ""},
		{"a PNG with HTML behind it", append(pngOf(t, 3, 2), "<script>alert(1)</script>"...), "image/png"},
		{"a GIF that is JavaScript too", []byte("GIF89a/*\x01\x00\x00\x00\x00;*/=alert(1)//"), "image/gif"},
		{"a JPEG that is a ZIP too", append(jpegOf(t, 3, 2), "PK\x05\x06"...), "image/jpeg"},
		{"a space before a PNG", append([]byte(" "), pngOf(t, 3, 2)...), ""},
	}
	for _, c := range cases {
		want, inline := c.want, true
		if want == "" {
			want, inline = media.Binary, false
		}
		if got, shown := media.Sniff(c.head[:min(len(c.head), media.HeadSize)]); got != want || shown != inline {
			t.Errorf("%s: %s, inline %t, want %s", c.name, got, shown, want)
		}
	}
}

// A truncated head is Binary, or has the type of the whole one, but never another type.
func TestSniff_TruncatedHeads(t *testing.T) {
	t.Parallel()
	for _, whole := range [][]byte{pngOf(t, 3, 2), jpegOf(t, 3, 2), gifOf(t, 3, 2), webpOf(3, 2), avifOf(3, 2, 0), webmOf("webm"), oggOf("OpusHead"), mp3Of(3)} {
		want, _ := media.Sniff(whole)
		for n := range min(len(whole), 500) {
			if got, inline := media.Sniff(whole[:n]); got != want && (got != media.Binary || inline) {
				t.Errorf("%d bytes of %s are %s", n, want, got)
			}
		}
		if got, inline := media.Sniff(whole[:3]); inline || got != media.Binary {
			t.Errorf("three bytes of %s are %s", want, got)
		}
	}
}

func TestMeasure_PicturesByTheirHeaders(t *testing.T) {
	t.Parallel()
	profile := append([]byte{0xff, 0xe2, 0xff, 0xff}, make([]byte, 0xffff-2)...)
	withProfiles := bytes.Join([][]byte{{0xff, 0xd8}, bytes.Repeat(profile, 20), jpegOf(t, 31, 17)[2:]}, nil)
	for name, b := range map[string][]byte{
		"PNG": pngOf(t, 31, 17), "JPEG": jpegOf(t, 31, 17), "GIF": gifOf(t, 31, 17), "WebP": webpOf(31, 17),
		"AVIF": avifOf(31, 17, 0), "AVIF that is turned": avifOf(17, 31, 1), "AVIF upside down": avifOf(31, 17, 2),
		"JPEG with a large profile": withProfiles,
	} {
		if w, h, ok := media.Measure(bytes.NewReader(b)); w != 31 || h != 17 || !ok {
			t.Errorf("%s: %d × %d, %t", name, w, h, ok)
		}
		for _, n := range []int{0, 1, 10, 20, len(b) / 8} {
			if w, h, ok := media.Measure(bytes.NewReader(b[:min(n, len(b))])); ok && (w != 31 || h != 17) {
				t.Errorf("%d bytes of %s: %d × %d", n, name, w, h)
			}
		}
	}
	for name, b := range map[string][]byte{"nothing": nil, "text": []byte("text"), "MP4": box("ftyp", []byte("isom"), u32(0)), "MP3": mp3Of(3)} {
		if _, _, ok := media.Measure(bytes.NewReader(b)); ok {
			t.Errorf("%s has a size", name)
		}
	}
}

// hugePNG returns the header of a picture whose pixels would take forty gigabytes.
func hugePNG() []byte {
	header := append([]byte("IHDR"), bytes.Join([][]byte{u32(100_000), u32(100_000), {8, 6, 0, 0, 0}}, nil)...)
	b := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), header...)
	return append(b, u32(int(crc32.ChecksumIEEE(header)))...)
}

// A picture of 100,000 × 100,000 pixels, and headers that announce more than there is, cost
// kilobytes.
func TestMeasure_HugePicturesCostNothing(t *testing.T) {
	announced := bytes.Join([][]byte{box("ftyp", []byte("avif"), u32(0)), u32(1<<31 - 1), []byte("meta"), make([]byte, 100)}, nil)
	for _, b := range [][]byte{hugePNG(), avifOf(100_000, 100_000, 0), announced} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		w, h, ok := media.Measure(bytes.NewReader(b))
		runtime.ReadMemStats(&after)
		if ok && (w != 100_000 || h != 100_000) {
			t.Errorf("%d × %d", w, h)
		}
		if spent := after.TotalAlloc - before.TotalAlloc; spent > 1<<20 {
			t.Errorf("%d bytes of memory", spent)
		}
	}
	if _, _, ok := media.Measure(bytes.NewReader(hugePNG())); !ok {
		t.Error("the huge PNG has no size")
	}
}

// endless counts the bytes read from it.
type endless struct {
	head []byte
	read int64
}

func (e *endless) Read(p []byte) (int, error) {
	clear(p)
	n := len(p)
	if len(e.head) > 0 {
		n = copy(p, e.head)
		e.head = e.head[n:]
	}
	e.read += int64(n)
	return n, nil
}

// Of a file without an end, only as much is read as a header may need.
func TestMeasure_ReadsABoundedPart(t *testing.T) {
	t.Parallel()
	for _, head := range [][]byte{{0xff, 0xd8, 0xff, 0xe0}, pngOf(t, 3, 2)[:16], bytes.Join([][]byte{box("ftyp", []byte("avif"), u32(0)), u32(1), []byte("free"), u32(1), u32(0)}, nil)} {
		e := &endless{head: head}
		if _, _, ok := media.Measure(e); ok {
			t.Error("nothing has a size")
		}
		if e.read > 9<<20 {
			t.Errorf("%d bytes were read", e.read)
		}
	}
}

// For any bytes, the type is the same each time, and measuring is bounded.
func FuzzSniff(f *testing.F) {
	for _, b := range [][]byte{pngOf(f, 3, 2), jpegOf(f, 3, 2), gifOf(f, 3, 2), webpOf(3, 2), avifOf(3, 2, 1), webmOf("webm"), oggOf("OpusHead"), mp3Of(2), hugePNG(), []byte("<svg/>")} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		head := b[:min(len(b), media.HeadSize)]
		kind, inline := media.Sniff(head)
		if inline != (kind != media.Binary) || inline && !strings.HasPrefix(kind, "image/") && !strings.HasPrefix(kind, "video/") && !strings.HasPrefix(kind, "audio/") {
			t.Errorf("%s, inline %t", kind, inline)
		}
		if first := bytes.TrimLeft(head, " \t\r\n\x00"); inline && (bytes.HasPrefix(first, []byte("<")) || bytes.HasPrefix(first, []byte("%PDF"))) && head[0] != 0 {
			t.Errorf("%q is shown as %s", first[:min(len(first), 20)], kind)
		}
		if w, h, ok := media.Measure(bytes.NewReader(b)); ok && (w <= 0 || h <= 0 || !strings.HasPrefix(kind, "image/")) {
			t.Errorf("%s of %d × %d", kind, w, h)
		}
	})
}
