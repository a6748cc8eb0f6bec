package render

import (
	"net/url"
	"strings"

	"github.com/yuin/goldmark/util"
)

// An address is where a link leads, or a picture is, if it is of a kind that may be written.
type address struct {
	kind     addressKind
	href     string // as it is written, not yet escaped for HTML
	host     string // of a web address, in lower case
	secure   bool   // a web address by https
	id       string // of a document or a medium
	fragment string // of a document, as the reader's browser wants it
}

type addressKind int

const (
	noAddress       addressKind = iota // what leads there is shown as its text
	webAddress                         // http, https
	mailAddress                        // mailto
	fragmentAddress                    // a place on the same page
	documentAddress
	mediaAddress
)

// maxAddress is the longest address that is written. Browsers take no more, and a definition that
// is used a thousand times is written a thousand times.
const maxAddress = 4096

// readAddress says what an address of the text is. Escapes and entities are taken out first, so
// that no spelling hides what it is from the list below, which is the whole list: whatever is not
// on it is no address.
func (m *meter) readAddress(source []byte) address {
	m.spend(4*len(source)+inlineSteps, 2*len(source))
	if len(source) > maxAddress {
		return address{}
	}
	s := string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(source))))
	if len(s) > maxAddress || strings.ContainsFunc(s, isControl) {
		return address{}
	}
	if strings.HasPrefix(s, "#") {
		return address{kind: fragmentAddress, href: fragment(s[1:])}
	}
	scheme, rest, _ := strings.Cut(s, ":")
	switch strings.ToLower(scheme) {
	case "http", "https":
		return webOf(s)
	case "mailto":
		return mailOf(s)
	case "document":
		id, place, _ := strings.Cut(rest, "#")
		return ownOf(documentAddress, id, place)
	case "media":
		return ownOf(mediaAddress, rest, "")
	}
	return address{}
}

// isControl tells whether a browser would drop a character from an address, or nobody can see it.
func isControl(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\ufeff'
}

// webOf reads a web address that has a host. A password in it is nobody's business.
func webOf(s string) address {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || u.Opaque != "" {
		return address{}
	}
	u.Host = strings.ToLower(u.Host)
	return address{kind: webAddress, href: u.String(), host: u.Host, secure: u.Scheme == "https"}
}

func mailOf(s string) address {
	u, err := url.Parse(s)
	if err != nil || !strings.Contains(u.Opaque, "@") || strings.ContainsAny(u.Opaque, "<>\"' \\") {
		return address{}
	}
	return address{kind: mailAddress, href: u.String()}
}

// ownOf reads the address of a document or a medium.
func ownOf(kind addressKind, id, place string) address {
	if !isID(id) {
		return address{}
	}
	a := address{kind: kind, id: strings.ToLower(id)}
	if place != "" {
		a.fragment = fragment(place)
	}
	return a
}

// isID tells whether a text has the form of an identifier of Sheaf:
// 01a1ddaf-e222-75b0-8b0f-db9056ab7cea.
func isID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, c := range []byte(s) {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (c == '-') || !dash && !util.IsHexDecimal(c) {
			return false
		}
	}
	return true
}

// fragment returns the address of a heading of the same page. It is made as the heading's id is, so
// that a link that is written like the heading leads there as well.
func fragment(place string) string {
	if unescaped, err := url.PathUnescape(place); err == nil {
		place = unescaped
	}
	if place == "" {
		return "#"
	}
	return "#" + (&url.URL{Fragment: headingPrefix + slug(place)}).EscapedFragment()
}
