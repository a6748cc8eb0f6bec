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
	minRedact = 4 // shorter strings occur by chance; masking them would reveal more than it hides
)

// answers holds buffers for answer bodies. The extra byte shows whether the body is longer than the
// limit.
var answers = sync.Pool{New: func() any { return new([maxAnswerBody + 1]byte) }}

// readAnswer reads the body up to maxAnswerBody and reports whether it ended by then. It returns what
// it read even with an error. The body of a 101 is the raw connection and is not read. No body is
// closed, because closing would read it to its end.
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

// answerText returns text that may be stored and shown. It masks after cleaning, which could join the
// parts of a secret, and before cutting, which could leave a part of one. If reading stopped in the
// middle of the answer, even one last character that begins a secret is masked, because the rest of
// the secret may follow.
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

// clean replaces invalid UTF-8 and removes NUL, which PostgreSQL cannot store.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
}

// cut shortens text to at most n bytes, at a character boundary.
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

// redacted replaces every occurrence of every secret by the mask, overlapping ones too. It also masks
// the start of a secret at the very end of the text, if at least `beginning` bytes match.
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

// appendSpans appends the places where s occurs. Overlapping occurrences become one span, so a text
// that only repeats s costs no memory.
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

// unescaped decodes JSON escapes in text. at maps each byte of plain, and its end, to its position in
// text; it is nil if text has no backslash. Endpoints that echo a request as JSON escape secrets
// differently: "/" as \/ (PHP), "+" as \u002B (.NET), "=" as \u003d (Gson). An escape cut off at the
// end of text is left out.
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

// unescape decodes the first byte or escape of text and returns its length in text: 0 for an
// incomplete escape. A backslash that begins no escape stands for itself.
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
