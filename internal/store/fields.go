package store

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"sheaf.dev/internal/sheaf"
)

// A release stores the description, external id, url and metadata of its documents as it stores their
// texts: once for each different value, by hash. They may be long, so they are stored before the
// transaction that makes the release. Column fields_hash of documents has the hash, so that this
// transaction, and a comparison, need not read them.

// fieldsOf returns these fields as one text; "" if the document has none of them. It begins with NUL,
// which no document's text contains, so that it never has the hash of one.
func fieldsOf(d *sheaf.Document) string {
	if d.Description == nil && d.ExternalID == nil && d.URL == nil && d.Metadata == "" {
		return ""
	}
	var metadata *string
	if d.Metadata != "" {
		m := string(d.Metadata)
		metadata = &m
	}
	b := []byte{0}
	for _, field := range []*string{d.Description, d.ExternalID, d.URL, metadata} {
		if field == nil {
			b = append(b, 0)
			continue
		}
		b = append(b, 1)
		b = binary.AppendUvarint(b, uint64(len(*field)))
		b = append(b, *field...)
	}
	return string(b)
}

// fieldsHash returns the hash of the text of fieldsOf to store: nil (NULL) if it is empty.
func fieldsHash(d *sheaf.Document) any {
	text := fieldsOf(d)
	if text == "" {
		return nil
	}
	hash := sha256.Sum256([]byte(text))
	return hash[:]
}

var errFields = errors.New("the fields of a released document cannot be read")

// setFields sets the fields that the text has. It is the inverse of fieldsOf.
func setFields(d *sheaf.Document, text string) error {
	if text == "" {
		return nil
	}
	if text[0] != 0 {
		return errFields
	}
	rest := text[1:]
	var metadata *string
	for _, field := range []**string{&d.Description, &d.ExternalID, &d.URL, &metadata} {
		if rest == "" {
			return errFields
		}
		has := rest[0] == 1
		if rest = rest[1:]; !has {
			continue
		}
		n, width := binary.Uvarint([]byte(rest))
		if width <= 0 || n > uint64(len(rest)-width) {
			return errFields
		}
		value := rest[width : width+int(n)]
		*field = &value
		rest = rest[width+int(n):]
	}
	if metadata != nil {
		d.Metadata = sheaf.Metadata(*metadata)
	}
	if rest != "" {
		return errFields
	}
	return nil
}

// scanFields reads the fields from columns of ScanText.
func scanFields(d *sheaf.Document, r *row) error {
	text, err := ScanText(r)
	if err != nil {
		return err
	}
	return setFields(d, text)
}

// SameFields reports whether a stored hash is that of the document's fields.
func SameFields(d *sheaf.Document, stored []byte) bool {
	hash, _ := fieldsHash(d).([]byte)
	return string(hash) == string(stored)
}
