package render

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// angleLinks reads addresses in angle brackets: <https://example.com>, <mailto:a@example.com>,
// <a@example.com>. We do not use goldmark's own parser, because its regular expressions take a
// microsecond per byte.
type angleLinks struct{}

// Trigger implements [parser.InlineParser].
func (angleLinks) Trigger() []byte { return []byte{'<'} }

// Parse implements [parser.InlineParser].
func (angleLinks) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	m := meterOf(pc)
	line, segment := block.PeekLine()
	end := 1
	for end < len(line) && line[end] > ' ' && line[end] != '<' && line[end] != '>' {
		end++
	}
	m.spend(inlineSteps+end, 0)
	if end >= len(line) || line[end] != '>' {
		return nil
	}
	kind, ok := kindOfAddress(line[1:end])
	if !ok {
		return nil
	}
	block.Advance(end + 1)
	node := newAutoLink(kind, segment.Start+1, segment.Start+end)
	m.inline(node)
	return node
}

// kindOfAddress reports whether an address is a web or an e-mail address. ok is false if it is
// neither.
func kindOfAddress(address []byte) (ast.AutoLinkType, bool) {
	for _, scheme := range []string{"http://", "https://", "mailto:"} {
		if len(address) > len(scheme) && bytes.EqualFold(address[:len(scheme)], []byte(scheme)) {
			return ast.AutoLinkURL, true
		}
	}
	return ast.AutoLinkEmail, mailLength(address) == len(address)
}

func newAutoLink(kind ast.AutoLinkType, start, stop int) *ast.AutoLink {
	return ast.NewAutoLink(kind, ast.NewTextSegment(text.NewSegment(start, stop)))
}

// bareLinks reads addresses in the text without brackets: https://example.com, www.example.com,
// a@example.com.
type bareLinks struct{}

// Trigger implements [parser.InlineParser]. The space stands for any white space and for the start
// of a line.
func (bareLinks) Trigger() []byte { return []byte{' ', '*', '_', '~', '('} }

// Parse implements [parser.InlineParser].
func (bareLinks) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	m := meterOf(pc)
	m.spend(inlineSteps, 0)
	if pc.IsInLinkLabel() {
		return nil
	}
	line, segment := block.PeekLine()
	before := 0
	if c := line[0]; util.IsSpace(c) || bytes.IndexByte([]byte("*_~("), c) >= 0 {
		before = 1
	}
	kind, protocol, length := m.bareAddress(line[before:])
	if length == 0 {
		return nil
	}
	if before > 0 {
		ast.MergeOrAppendTextSegment(parent, segment.WithStop(segment.Start+before))
	}
	block.Advance(before + length)
	node := newAutoLink(kind, segment.Start+before, segment.Start+before+length)
	node.Protocol = protocol
	m.inline(node)
	return node
}

// bareAddress returns the length of the address at the start of a line, or 0.
func (m *meter) bareAddress(line []byte) (kind ast.AutoLinkType, protocol []byte, length int) {
	for _, prefix := range []string{"https://", "http://", "www."} {
		if !bytes.HasPrefix(line, []byte(prefix)) {
			continue
		}
		length := webLength(line, len(prefix))
		m.spend(length, 0)
		if !hasHost(line[:length], prefix) {
			return 0, nil, 0
		}
		if prefix == "www." {
			protocol = []byte("http")
		}
		return ast.AutoLinkURL, protocol, length
	}
	// The name of a mailbox has at most this length.
	length = mailLength(line)
	m.spend(min(len(line), maxMail), 0)
	return ast.AutoLinkEmail, nil, length
}

// webLength returns the length of a web address: up to the next space or angle bracket, without the
// punctuation at the end of a sentence, and without a parenthesis that was opened before the
// address.
func webLength(line []byte, from int) int {
	end, depth := from, 0
	for end < len(line) && line[end] > ' ' && line[end] != '<' && line[end] != '>' {
		switch line[end] {
		case '(':
			depth++
		case ')':
			depth--
		}
		end++
	}
	for end > from {
		switch line[end-1] {
		case ')':
			if depth >= 0 {
				return end
			}
			depth++
		case '?', '!', '.', ',', ':', ';', '*', '_', '~', '\'', '"', ']', '|':
		default:
			return end
		}
		end--
	}
	return end
}

// hasHost reports whether the host of a web address looks like one: a name with a dot, or
// localhost.
func hasHost(address []byte, prefix string) bool {
	host := address[len(prefix):]
	if i := bytes.IndexAny(host, "/?#:"); i >= 0 {
		host = host[:i]
	}
	if prefix == "www." || string(host) != "localhost" {
		if i := bytes.IndexByte(host, '.'); i < 1 && prefix != "www." || i == len(host)-1 && i >= 0 || len(host) == 0 {
			return false
		}
	}
	for _, c := range host {
		if c < 0x80 && !util.IsAlphaNumeric(c) && c != '-' && c != '.' && c != '_' {
			return false
		}
	}
	return true
}

// maxMail is the largest length of an e-mail address.
const maxMail = 320

// mailLength returns the length of the e-mail address at the start of a line, or 0 if there is
// none.
func mailLength(line []byte) int {
	line = line[:min(len(line), maxMail)]
	at := 0
	for at < len(line) && isMailbox(line[at]) {
		at++
	}
	if at == 0 || at == len(line) || line[at] != '@' {
		return 0
	}
	end := at + 1
	for end < len(line) && (util.IsAlphaNumeric(line[end]) || line[end] == '-' || line[end] == '.') {
		end++
	}
	for end > at && (line[end-1] == '.' || line[end-1] == '-') {
		end--
	}
	if host := line[at+1 : max(end, at+1)]; bytes.IndexByte(host, '.') < 1 || bytes.Contains(host, []byte("..")) {
		return 0
	}
	return end
}

func isMailbox(c byte) bool {
	return util.IsAlphaNumeric(c) || c == '.' || c == '_' || c == '+' || c == '-' || c == '%'
}
