package media

import (
	"bufio"
	"encoding/binary"
	"errors"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/webp"
)

// measureBytes is how far Measure reads. A JPEG may have profiles and previews before its size.
const measureBytes = 8 << 20

// Measure returns the width and height of a picture, from its header. It decodes nothing, so a
// picture of any size costs a few kilobytes. ok is false if the bytes are no picture, or have no
// size.
func Measure(r io.Reader) (width, height int, ok bool) {
	b := bufio.NewReaderSize(io.LimitReader(r, measureBytes), HeadSize)
	head, _ := b.Peek(HeadSize) // fewer bytes if there are fewer
	contentType, _ := Sniff(head)
	measure := measures[contentType]
	if measure == nil {
		return 0, 0, false
	}
	c, err := measure(b)
	if err != nil || c.Width <= 0 || c.Height <= 0 {
		return 0, 0, false
	}
	return c.Width, c.Height, true
}

var measures = map[string]func(io.Reader) (image.Config, error){
	typePNG: png.DecodeConfig, typeJPEG: jpeg.DecodeConfig, typeGIF: gif.DecodeConfig, typeWebP: webp.DecodeConfig, typeAVIF: measureAVIF,
}

// errAVIF means that the boxes of a picture are not valid.
var errAVIF = errors.New("avif: the size is not where it should be")

// maxMeta bounds the box with the properties of a picture, which is held in memory.
const maxMeta = 256 << 10

// measureAVIF finds the metadata box, and in it the size of the primary picture.
func measureAVIF(r io.Reader) (c image.Config, err error) {
	for {
		kind, size, err := readBox(r)
		if err != nil {
			return c, err
		}
		if kind != "meta" {
			if _, err := io.CopyN(io.Discard, r, size); err != nil {
				return c, err
			}
			continue
		}
		if size > maxMeta {
			return c, errAVIF
		}
		meta := make([]byte, size)
		if _, err := io.ReadFull(r, meta); err != nil {
			return c, err
		}
		return primarySize(meta)
	}
}

// readBox reads the head of a box, and returns the number of bytes that follow it.
func readBox(r io.Reader) (kind string, size int64, err error) {
	var head [16]byte
	if _, err := io.ReadFull(r, head[:8]); err != nil {
		return "", 0, err
	}
	size, kind = int64(binary.BigEndian.Uint32(head[:])), string(head[4:8])
	used := int64(8)
	if size == 1 { // the size has eight bytes
		if _, err := io.ReadFull(r, head[8:]); err != nil {
			return "", 0, err
		}
		size, used = int64(binary.BigEndian.Uint64(head[8:])), 16
	}
	if size < used {
		return "", 0, errAVIF
	}
	return kind, size - used, nil
}

// boxes returns the boxes in b, one after the other, until one does not fit.
func boxes(b []byte) func(yield func(kind string, body []byte) bool) {
	return func(yield func(string, []byte) bool) {
		for len(b) >= 8 {
			size := int(binary.BigEndian.Uint32(b))
			if size < 8 || size > len(b) || !yield(string(b[4:8]), b[8:size]) {
				return
			}
			b = b[size:]
		}
	}
}

// primarySize reads the size of the primary picture. The box pitm names the picture, ipma lists its
// properties, and ipco contains them: ispe is a size and irot a rotation.
func primarySize(meta []byte) (c image.Config, err error) {
	if len(meta) < 4 {
		return c, errAVIF
	}
	var primary, properties, associations []byte
	for kind, body := range boxes(meta[4:]) {
		switch kind {
		case "pitm":
			primary = body
		case "iprp":
			for kind, body := range boxes(body) {
				switch kind {
				case "ipco":
					properties = body
				case "ipma":
					associations = body
				}
			}
		}
	}
	id, ok := itemID(primary)
	if !ok {
		return c, errAVIF
	}
	return sizeAmong(properties, associated(associations, id))
}

// itemID reads the box pitm: a version, three flags, and an identifier of two or four bytes.
func itemID(b []byte) (uint32, bool) {
	switch {
	case len(b) >= 6 && b[0] == 0:
		return uint32(binary.BigEndian.Uint16(b[4:])), true
	case len(b) >= 8 && b[0] == 1:
		return binary.BigEndian.Uint32(b[4:]), true
	}
	return 0, false
}

// associated reads the box ipma, and returns the numbers of an item's properties, counted from 1.
func associated(b []byte, id uint32) map[int]bool {
	if len(b) < 8 {
		return nil
	}
	version, wide := b[0], b[3]&1 == 1
	count := binary.BigEndian.Uint32(b[4:])
	b = b[8:]
	for ; count > 0; count-- {
		item, n := itemOf(b, version)
		if n == 0 || len(b) < n+1 {
			return nil
		}
		numbers, used := propertyNumbers(b[n+1:], int(b[n]), wide)
		if item == id {
			return numbers
		}
		if used == 0 && b[n] > 0 {
			return nil
		}
		b = b[n+1+used:]
	}
	return nil
}

// itemOf reads an identifier of two bytes or, from version 1 on, four.
func itemOf(b []byte, version byte) (id uint32, n int) {
	switch {
	case version == 0 && len(b) >= 2:
		return uint32(binary.BigEndian.Uint16(b)), 2
	case version > 0 && len(b) >= 4:
		return binary.BigEndian.Uint32(b), 4
	}
	return 0, 0
}

// propertyNumbers reads `count` numbers, each with a bit that says whether it is essential.
func propertyNumbers(b []byte, count int, wide bool) (numbers map[int]bool, used int) {
	each := 1
	if wide {
		each = 2
	}
	if count*each > len(b) {
		return nil, 0
	}
	numbers = map[int]bool{}
	for i := range count {
		if wide {
			numbers[int(binary.BigEndian.Uint16(b[2*i:])&0x7fff)] = true
		} else {
			numbers[int(b[i]&0x7f)] = true
		}
	}
	return numbers, count * each
}

// sizeAmong reads the size from the properties with those numbers.
func sizeAmong(properties []byte, numbers map[int]bool) (c image.Config, err error) {
	number, turned := 0, false
	for kind, body := range boxes(properties) {
		number++
		switch {
		case !numbers[number]:
		case kind == "ispe" && len(body) >= 12:
			c.Width, c.Height = int(binary.BigEndian.Uint32(body[4:])), int(binary.BigEndian.Uint32(body[8:]))
		case kind == "irot" && len(body) >= 1:
			turned = body[0]&1 == 1 // by one or three quarters
		}
	}
	if turned {
		c.Width, c.Height = c.Height, c.Width
	}
	if c.Width <= 0 || c.Height <= 0 {
		return c, errAVIF
	}
	return c, nil
}
