package guard

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// The longest name and label that DNS can carry.
const (
	maxNameLength  = 253
	maxLabelLength = 63
)

// asciiHost returns host as the HTTP client will look it up: mapped to ASCII as IDNA says (which
// turns fullwidth and circled digits into digits, and ideographic full stops into dots) and in
// lower case.
func asciiHost(host string) (string, error) {
	name := host
	if strings.ContainsFunc(host, func(r rune) bool { return r > 0x7f }) {
		var err error
		if name, err = idna.Lookup.ToASCII(host); err != nil {
			return "", errors.New("url has a host that is not a valid international name: write its xn-- form")
		}
	}
	name = strings.ToLower(name)
	if !validName(name) {
		return "", errors.New("url has a host that is not a valid name: use letters, digits, hyphens and single dots")
	}
	return name, nil
}

// validName reports whether name, in lower case, could be in DNS. Strictly, a host name has no
// underscore, but names with one exist and resolve.
func validName(name string) bool {
	name = strings.TrimSuffix(name, ".")
	if len(name) > maxNameLength {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > maxLabelLength || strings.ContainsFunc(label, notNameRune) {
			return false
		}
	}
	return true
}

func notNameRune(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
}

// isLocalhost knows the names that RFC 6761 keeps for the machine itself.
func isLocalhost(name string) bool {
	name = strings.TrimSuffix(name, ".")
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// endsInNumber is the URL standard's test for hosts that must be IPv4 addresses: the last label is
// digits, or 0x and hexadecimal digits.
func endsInNumber(name string) bool {
	name = strings.TrimSuffix(name, ".")
	last := name[strings.LastIndexByte(name, '.')+1:]
	if last != "" && strings.Trim(last, "0123456789") == "" {
		return true
	}
	digits, hex := strings.CutPrefix(last, "0x")
	return hex && strings.Trim(digits, "0123456789abcdef") == ""
}

// parseIPv4 is the URL standard's IPv4 parser, as browsers and the C library read addresses: one to
// four numbers, decimal, octal or hexadecimal. The last one fills all remaining bytes.
func parseIPv4(name string) (netip.Addr, bool) {
	parts := strings.Split(strings.TrimSuffix(name, "."), ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, part := range parts {
		n, ok := parseNumber(part)
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (4 - i)
		}
		if !ok || n >= 1<<bits {
			return netip.Addr{}, false
		}
		value = value<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

// parseNumber parses one part of an IPv4 address as browsers do: 0x starts a hexadecimal number, 0 an octal one.
func parseNumber(s string) (uint64, bool) {
	base := 10
	if digits, ok := strings.CutPrefix(s, "0x"); ok {
		if digits == "" {
			return 0, true
		}
		s, base = digits, 16
	} else if len(s) > 1 && s[0] == '0' {
		s, base = s[1:], 8
	}
	n, err := strconv.ParseUint(s, base, 64)
	return n, err == nil
}
