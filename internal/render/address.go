package render

import (
	"net/url"
	"strings"

	"github.com/yuin/goldmark/util"
)

// An address is the destination of a link or picture, if it is of a kind that may be written.
type address struct {
	kind     addressKind
	href     string // as written, not yet escaped for HTML
	host     string // host of a web address, in lower case
	secure   bool   // the web address uses https
	id       string // id of a document or a medium
	fragment string // fragment of a link to a document, escaped for the browser
}

type addressKind int

const (
	noAddress       addressKind = iota // only the text of the link is shown
	webAddress                         // http, https
	mailAddress                        // mailto
	fragmentAddress                    // a place on the same page
	documentAddress
	mediaAddress
)

// maxAddress is the length of the longest address that is written. Browsers take no more, and a
// definition that is used a thousand times is written a thousand times.
const maxAddress = 4096

// readAddress returns the address that `source` stands for. It resolves escapes and entities first,
// so that no spelling gets around the list below. That list is complete: anything else is no
// address.
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

// isControl reports whether a browser would drop the character from an address, or a reader could
// not see it.
func isControl(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\ufeff'
}

// webOf reads a web address, which must have a host. An address with a user name or password is
// refused.
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

// isID reports whether a text has the form of a Sheaf identifier:
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

// fragment returns the address of a heading on the same page. It is made like the heading's id, so
// that a link written like the heading leads there too.
func fragment(place string) string {
	if unescaped, err := url.PathUnescape(place); err == nil {
		place = unescaped
	}
	if place == "" {
		return "#"
	}
	return "#" + (&url.URL{Fragment: headingPrefix + slug(place)}).EscapedFragment()
}
