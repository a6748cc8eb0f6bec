package media

import (
	"bytes"
	"encoding/binary"
)

// HeadSize is the number of bytes from the start that Sniff needs, if there are that many.
const HeadSize = 4 << 10

// Binary is the type of everything that is not shown inline.
const Binary = "application/octet-stream"

// Sniff returns the type of the bytes that begin with `head`. It judges by the bytes alone, not by
// what a client claims. If they are a picture, video or sound that browsers show without running
// anything in it, inline is true. Otherwise the type is Binary, which may only be downloaded. A
// file that could be read as two types has the type of its first bytes, and must be served only as
// that (nosniff).
//
// Documents that can run something, such as SVG, HTML and PDF, are Binary.
func Sniff(head []byte) (contentType string, inline bool) {
	for _, sort := range sorts {
		if t := sort(head); t != "" {
			return t, true
		}
	}
	return Binary, false
}

// sorts has a function for each format. It returns the type, or "".
var sorts = []func(head []byte) string{sniffPNG, sniffJPEG, sniffGIF, sniffWebP, sniffBoxes, sniffWebM, sniffOgg, sniffMP3}

const (
	typePNG  = "image/png"
	typeJPEG = "image/jpeg"
	typeGIF  = "image/gif"
	typeWebP = "image/webp"
	typeAVIF = "image/avif"
)

// sniffPNG requires the signature and the header, which must follow it.
func sniffPNG(head []byte) string {
	if bytes.HasPrefix(head, []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR")) {
		return typePNG
	}
	return ""
}

// sniffJPEG requires the start of the image and a valid marker after it.
func sniffJPEG(head []byte) string {
	if len(head) >= 4 && bytes.HasPrefix(head, []byte("\xff\xd8\xff")) && head[3] >= 0xc0 && head[3] != 0xff {
		return typeJPEG
	}
	return ""
}

// sniffGIF requires the signature and the whole screen descriptor.
func sniffGIF(head []byte) string {
	if len(head) >= 13 && (bytes.HasPrefix(head, []byte("GIF87a")) || bytes.HasPrefix(head, []byte("GIF89a"))) {
		return typeGIF
	}
	return ""
}

// sniffWebP requires the container and the start of one of its three forms.
func sniffWebP(head []byte) string {
	if len(head) < 16 || string(head[:4]) != "RIFF" || string(head[8:12]) != "WEBP" {
		return ""
	}
	switch string(head[12:16]) {
	case "VP8 ", "VP8L", "VP8X":
		return typeWebP
	}
	return ""
}

// brands maps the brands of ISO box files to types.
var brands = map[string]string{
	"avif": typeAVIF, "avis": typeAVIF,
	"M4A ": "audio/mp4", "M4B ": "audio/mp4",
	"isom": "video/mp4", "iso2": "video/mp4", "iso3": "video/mp4", "iso4": "video/mp4", "iso5": "video/mp4", "iso6": "video/mp4",
	"mp41": "video/mp4", "mp42": "video/mp4", "avc1": "video/mp4", "dash": "video/mp4", "M4V ": "video/mp4", "M4VP": "video/mp4",
}

// sniffBoxes requires a file type box at the start. The major brand counts. If that is the general
// picture format (mif1, msf1) or unknown, the compatible brands count.
func sniffBoxes(head []byte) string {
	if len(head) < 16 || string(head[4:8]) != "ftyp" {
		return ""
	}
	size := int64(binary.BigEndian.Uint32(head))
	if size < 16 || size > int64(len(head)) || size%4 != 0 {
		return ""
	}
	if t := brands[string(head[8:12])]; t != "" {
		return t
	}
	if major := string(head[8:12]); major == "qt  " || major == "heic" || major == "heix" {
		return ""
	}
	for at := int64(16); at+4 <= size; at += 4 {
		if t := brands[string(head[at:at+4])]; t != "" {
			return t
		}
	}
	return ""
}

// sniffWebM requires an EBML header with the document type webm. Browsers do not show other
// Matroska files.
func sniffWebM(head []byte) string {
	if !bytes.HasPrefix(head, []byte("\x1a\x45\xdf\xa3")) {
		return ""
	}
	size, n := vint(head[4:])
	if n == 0 || size > uint64(len(head)-4-n) {
		return ""
	}
	header := head[4+n : 4+n+int(size)]
	for len(header) > 0 {
		id, used := element(header)
		if used == 0 {
			return ""
		}
		size, n := vint(header[used:])
		if n == 0 || size > uint64(len(header)-used-n) {
			return ""
		}
		value := header[used+n : used+n+int(size)]
		if id == 0x4282 { // DocType
			if string(bytes.TrimRight(value, "\x00")) == "webm" {
				return "video/webm"
			}
			return ""
		}
		header = header[used+n+int(size):]
	}
	return ""
}

// vint reads an EBML size, and returns the number of its bytes, or 0 if it is not valid.
func vint(b []byte) (value uint64, n int) {
	if len(b) == 0 || b[0] == 0 {
		return 0, 0
	}
	for n = 1; b[0]&(0x80>>(n-1)) == 0; n++ {
	}
	if n > len(b) {
		return 0, 0
	}
	value = uint64(b[0]) & (0xff >> n)
	for _, c := range b[1:n] {
		value = value<<8 | uint64(c)
	}
	return value, n
}

// element reads an EBML identifier of at most four bytes.
func element(b []byte) (id uint32, n int) {
	if len(b) == 0 || b[0] < 0x10 {
		return 0, 0
	}
	for n = 1; b[0]&(0x80>>(n-1)) == 0; n++ {
	}
	if n > len(b) {
		return 0, 0
	}
	for _, c := range b[:n] {
		id = id<<8 | uint32(c)
	}
	return id, n
}

// sniffOgg requires the first page of a stream. Its codec decides between video and audio.
func sniffOgg(head []byte) string {
	const pageHeader = 27
	if len(head) < pageHeader || !bytes.HasPrefix(head, []byte("OggS\x00\x02")) {
		return ""
	}
	body := head[min(len(head), pageHeader+int(head[26])):]
	if bytes.HasPrefix(body, []byte("\x80theora")) {
		return "video/ogg"
	}
	for _, codec := range []string{"\x01vorbis", "OpusHead", "\x7fFLAC", "Speex   "} {
		if bytes.HasPrefix(body, []byte(codec)) {
			return "audio/ogg"
		}
	}
	return ""
}

// sniffMP3 requires a tag, or a frame that is followed by another within the head: the first two
// bytes of a frame also begin many other files.
func sniffMP3(head []byte) string {
	if len(head) >= 10 && bytes.HasPrefix(head, []byte("ID3")) && head[3] >= 2 && head[3] <= 4 && (head[6]|head[7]|head[8]|head[9])&0x80 == 0 {
		return "audio/mpeg"
	}
	size := mp3Frame(head)
	if size == 0 || size+4 > len(head) || mp3Frame(head[size:]) == 0 {
		return ""
	}
	return "audio/mpeg"
}

// Bit rates of layer III in thousands, and sample rates of MPEG 1.
var (
	mp3Rates1  = [16]int{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0}
	mp3Rates2  = [16]int{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0}
	mp3Samples = [4]int{44100, 48000, 32000, 0}
)

// mp3Frame returns the size of the layer III frame at the start of b, or 0 if there is none.
func mp3Frame(b []byte) int {
	if len(b) < 4 || b[0] != 0xff || b[1]&0xe6 != 0xe2 { // sync, layer III
		return 0
	}
	version := b[1] >> 3 & 3 // 3: MPEG 1, 2: MPEG 2, 0: MPEG 2.5
	samples, padding := mp3Samples[b[2]>>2&3], int(b[2]>>1&1)
	rate, spread := mp3Rates1[b[2]>>4], 144
	if version != 3 {
		rate, spread = mp3Rates2[b[2]>>4], 72
		samples /= 2
	}
	if version == 0 {
		samples /= 2
	}
	if version == 1 || rate == 0 || samples == 0 {
		return 0
	}
	return spread*rate*1000/samples + padding
}
