package deliver

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	mask      = "•••"
	minRedact = 4 // shorter strings occur by chance, and masking them would say more than it hides
)

// answers holds the buffers answers are read into. One byte more than is kept tells whether there
// is more.
var answers = sync.Pool{New: func() any { return new([maxAnswerBody + 1]byte) }}

// readAnswer reads the body up to the limit, and reports whether it has ended within it. What was
// read comes back even with an error. The body of a 101 is the bare connection, and is left unread.
// Nor is any other closed, for that would read it to its end.
func readAnswer(resp *http.Response, redact func() []string) (text string, ended bool, err error) {
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return "", false, nil
	}
	if resp.Body == http.NoBody {
		return "", true, nil
	}
	buf := answers.Get().(*[maxAnswerBody + 1]byte)
	defer answers.Put(buf)
	n := 0
	for n < len(buf) && err == nil {
		var m int
		m, err = resp.Body.Read(buf[n:])
		n += m
	}
	if err == io.EOF {
		ended, err = true, nil
	}
	if n == 0 || redact == nil {
		return answerText(buf[:n], nil), ended, err
	}
	return answerText(buf[:n], redact()), ended, err
}

// answerText makes text that may be kept and shown. Masking comes after cleaning, which could bring
// a secret's parts together, and before cutting, which could leave a part of one. Where reading
// stopped in the middle of the answer, even a last character that begins a secret is masked: the
// rest of it may be what follows.
func answerText(b []byte, redact []string) string {
	if len(b) == 0 {
		return ""
	}
	beginning := minRedact
	if len(b) > maxAnswerBody {
		beginning = 1
	}
	return cut(redacted(clean(string(b)), redact, beginning), maxAnswerBody)
}

// clean makes text that every database stores.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
}

// cut shortens text to at most n bytes, at a character's boundary.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

type span struct{ from, to int }

// redacted replaces every occurrence of every secret, however they overlap, by the mask; also a
// secret's beginning, of so many bytes or more, at the very end of the text, where reading stopped
// or the endpoint did.
func redacted(text string, secrets []string, beginning int) string {
	var spans []span
	plain, at := unescaped(text)
	for _, secret := range secrets {
		secret = clean(secret)
		if len(secret) < minRedact || len(text) < minRedact {
			continue
		}
		spans = appendSpans(spans, text, secret, beginning)
		if at == nil {
			continue
		}
		mine := len(spans)
		spans = appendSpans(spans, plain, secret, beginning)
		for i := mine; i < len(spans); i++ {
			spans[i] = span{at[spans[i].from], at[spans[i].to]}
		}
	}
	if len(spans) == 0 {
		return text
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var out strings.Builder
	done := 0
	for i := 0; i < len(spans); {
		from, to := spans[i].from, spans[i].to
		for i++; i < len(spans) && spans[i].from <= to; i++ {
			to = max(to, spans[i].to)
		}
		out.WriteString(text[done:from])
		out.WriteString(mask)
		done = to
	}
	out.WriteString(text[done:])
	return out.String()
}

// appendSpans adds where s occurs. Occurrences that overlap become one span, so that a text of
// nothing but s costs no memory.
func appendSpans(spans []span, text, s string, beginning int) []span {
	mine := len(spans)
	for at := 0; ; {
		i := strings.Index(text[at:], s)
		if i < 0 {
			break
		}
		from := at + i
		if n := len(spans); n > mine && from <= spans[n-1].to {
			spans[n-1].to = from + len(s)
		} else {
			spans = append(spans, span{from, from + len(s)})
		}
		at = from + 1
	}
	for n := min(len(s)-1, len(text)); n >= beginning; n-- {
		if strings.HasSuffix(text, s[:n]) {
			return append(spans, span{len(text) - n, len(text)})
		}
	}
	return spans
}

// unescaped returns text as a reader of JSON understands it, and for each of its bytes, and its
// end, where in text that stands. An endpoint that echoes a request as JSON writes a secret in many
// ways: "/" as \/ (PHP), "+" as \u002B (.NET), "=" as \u003d (Gson). An escape that the end of the
// text has cut off is left out, and its place is the end's. Without a backslash, at is nil.
func unescaped(text string) (plain string, at []int) {
	if !strings.Contains(text, `\`) {
		return text, nil
	}
	b := make([]byte, 0, len(text))
	at = make([]int, 0, len(text)+1)
	for i := 0; i < len(text); {
		r, n := unescape(text[i:])
		if n == 0 {
			break
		}
		b = append(b, r...)
		for range len(r) {
			at = append(at, i)
		}
		i += n
	}
	return string(b), append(at, len(text))
}

// unescape returns what the beginning of text stands for, one byte or one escape, and how long that
// is: 0 for a part of an escape. A backslash that begins no escape stands for itself.
func unescape(text string) (r string, length int) {
	if text[0] != '\\' {
		return text[:1], 1
	}
	if len(text) == 1 {
		return "", 0
	}
	switch c := text[1]; c {
	case '"', '\\', '/':
		return text[1:2], 2
	case 'u':
		if len(text) < 6 {
			return "", 0
		}
		if code, err := strconv.ParseUint(text[2:6], 16, 16); err == nil {
			return string(rune(code)), 6
		}
	}
	return text[:1], 1
}
