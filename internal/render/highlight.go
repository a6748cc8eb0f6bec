package render

import (
	"bytes"
	"strings"
)

// The classes of highlighted code are those of Chroma and Pygments, so that their style sheets fit.
// The lexer is our own and simple: it reads the code once, from start to end, and never goes back.
// Lexers made of regular expressions go back, and the author of the code decides how far (decision
// 28).
const (
	classComment  = "c"
	classString   = "s"
	classNumber   = "m"
	classKeyword  = "k"
	classType     = "kt"
	classConstant = "kc"
	classBuiltin  = "nb"
	classFunction = "nf"
	classVariable = "nv"
	classTag      = "nt"
	className     = "na"
	classNote     = "nd" // an annotation, a decorator, a directive
	classEntity   = "ni"
	classOperator = "o"
	classHeading  = "gh"
	classInserted = "gi"
	classDeleted  = "gd"
	classChunk    = "gu"
	classPrompt   = "gp"
	classOutput   = "go"
	classStrong   = "gs"
	classPlain    = ""
)

// A lexer reads code and emits its parts with their classes.
type lexer struct {
	*language
	code []byte
	pos  int
	emit func(class string, part []byte)
}

// highlight writes code as elements with classes.
func (w *writer) highlight(lang *language, code []byte) {
	var class string
	var pending []byte // adjacent parts of one class become one element
	flush := func() {
		if class == classPlain {
			w.raw(pending)
		} else if len(pending) > 0 {
			w.tags(`<span class="`, class, `">`)
			w.raw(pending)
			w.tags("</span>")
		}
	}
	l := &lexer{language: lang, code: code, emit: func(next string, part []byte) {
		w.meter.spend(2*len(part)+inlineSteps, 0)
		if next == class && len(pending) > 0 {
			pending = pending[:len(pending)+len(part)] // they are adjacent in the code
			return
		}
		flush()
		class, pending = next, part[:len(part):cap(part)]
	}}
	lang.lex(l)
	flush()
}

// take emits the next n bytes.
func (l *lexer) take(class string, n int) {
	if n <= 0 {
		return
	}
	n = min(n, len(l.code)-l.pos)
	l.emit(class, l.code[l.pos:l.pos+n])
	l.pos += n
}

// rest returns what has not been emitted yet.
func (l *lexer) rest() []byte { return l.code[l.pos:] }

func (l *lexer) done() bool { return l.pos >= len(l.code) }

// lineLength returns the number of bytes to the end of the line, including the line break.
func (l *lexer) lineLength() int {
	if i := bytes.IndexByte(l.rest(), '\n'); i >= 0 {
		return i + 1
	}
	return len(l.rest())
}

// lexCode reads a programming language: comments, strings, numbers, words, and the rest.
func lexCode(l *lexer) {
	for !l.done() {
		if !l.comment() && !l.quoted() && !l.number() && !l.word() {
			l.other()
		}
	}
}

// lineStart reports whether only spaces precede the position on its line.
func (l *lexer) lineStart() bool {
	before := l.code[:l.pos]
	before = before[bytes.LastIndexByte(before, '\n')+1:]
	return len(bytes.TrimLeft(before, " \t")) == 0
}

func (l *lexer) comment() bool {
	rest := l.rest()
	for _, pair := range l.blockComments {
		if hasPrefix(rest, pair[0]) {
			end := bytes.Index(rest[len(pair[0]):], []byte(pair[1]))
			if end < 0 {
				l.take(classComment, len(rest))
			} else {
				l.take(classComment, len(pair[0])+end+len(pair[1]))
			}
			return true
		}
	}
	for _, start := range l.lineComments {
		if hasPrefix(rest, start) && (start != "#" || l.pos == 0 || isBlank(l.code[l.pos-1]) || l.code[l.pos-1] == ';') {
			l.take(classComment, l.lineLength())
			return true
		}
	}
	return false
}

// quoted reads a string. If the string may not span lines, it ends at the end of its line, closed
// or not.
func (l *lexer) quoted() bool {
	rest := l.rest()
	for _, q := range l.quotes {
		if !hasPrefix(rest, q.open) {
			continue
		}
		i := len(q.open)
		for i < len(rest) {
			switch {
			case q.escape && rest[i] == '\\':
				i++
			case hasPrefix(rest[i:], q.close):
				l.take(l.stringClass(rest[i+len(q.close):]), i+len(q.close))
				return true
			case rest[i] == '\n' && !q.lines:
				l.take(classString, i)
				return true
			}
			i++
		}
		l.take(classString, len(rest))
		return true
	}
	return false
}

// stringClass returns the class of a string. In a language with quoted field names, it tells these
// from other strings.
func (l *lexer) stringClass(after []byte) string {
	if l.quotedNames && hasPrefix(bytes.TrimLeft(after[:min(len(after), 16)], " \t"), ":") {
		return classTag
	}
	return classString
}

func (l *lexer) number() bool {
	rest := l.rest()
	if !isDigit(rest[0]) && (rest[0] != '.' || len(rest) < 2 || !isDigit(rest[1])) {
		return false
	}
	i := 1
	for i < len(rest) && (isWord(rest[i]) || rest[i] == '.' || (rest[i] == '-' || rest[i] == '+') && strings.IndexByte("eE", rest[i-1]) >= 0 &&
		!hasPrefix(rest, "0x")) {
		i++
	}
	l.take(classNumber, i)
	return true
}

// word reads a name and looks it up.
func (l *lexer) word() bool {
	rest := l.rest()
	i := 0
	if l.sigils != "" && strings.IndexByte(l.sigils, rest[0]) >= 0 {
		return l.sigil()
	}
	for i < len(rest) && (isWord(rest[i]) || i > 0 && l.dashes && rest[i] == '-') {
		i++
	}
	if i == 0 {
		return false
	}
	l.take(l.wordClass(string(rest[:i]), rest[i:]), i)
	return true
}

func (l *lexer) wordClass(word string, after []byte) string {
	if l.fold {
		word = strings.ToLower(word)
	}
	if class, ok := l.words[word]; ok {
		return class
	}
	if l.calls && hasPrefix(after, "(") {
		return classFunction
	}
	return classPlain
}

// sigil reads a name after a sign: $variable, ${variable}, @decorator, #[attribute], :symbol.
func (l *lexer) sigil() bool {
	rest := l.rest()
	class := classVariable
	if rest[0] == '@' {
		class = classNote
	}
	i := 1
	switch {
	case hasPrefix(rest, "${"):
		if end := bytes.IndexByte(rest[:min(len(rest), 200)], '}'); end > 0 {
			l.take(class, end+1)
			return true
		}
	case rest[0] == '$' && len(rest) > 1 && strings.IndexByte("?!#*@$-", rest[1]) >= 0:
		l.take(class, 2)
		return true
	}
	for i < len(rest) && (isWord(rest[i]) || rest[i] == '.' && rest[0] == '@') {
		i++
	}
	if i == 1 {
		class = classOperator
	}
	l.take(class, i)
	return true
}

// other emits one character: an operator, a bracket, a space.
func (l *lexer) other() {
	rest := l.rest()
	if strings.IndexByte("+-*/%=<>!&|^~?:", rest[0]) >= 0 {
		l.take(classOperator, 1)
		return
	}
	i := 1
	for i < len(rest) && rest[i] >= 0x80 { // never split a character
		i++
	}
	l.take(classPlain, i)
}

// lexMarkup reads HTML and XML.
func lexMarkup(l *lexer) {
	for !l.done() {
		rest := l.rest()
		switch {
		case hasPrefix(rest, "<!--"):
			l.comment()
		case hasPrefix(rest, "<!"), hasPrefix(rest, "<?"):
			l.until(classNote, '>')
		case rest[0] == '<' && len(rest) > 1 && (isWord(rest[1]) || rest[1] == '/'):
			l.tag()
		case rest[0] == '&':
			l.entity()
		default:
			l.upTo(classPlain, "<&")
		}
	}
}

// until emits everything up to and including the byte `end`.
func (l *lexer) until(class string, end byte) {
	if i := bytes.IndexByte(l.rest(), end); i >= 0 {
		l.take(class, i+1)
		return
	}
	l.take(class, len(l.rest()))
}

// upTo emits at least one byte, and everything before the next of the bytes in `ends`.
func (l *lexer) upTo(class, ends string) {
	rest := l.rest()
	if i := bytes.IndexAny(rest[1:], ends); i >= 0 {
		l.take(class, i+1)
		return
	}
	l.take(class, len(rest))
}

func (l *lexer) entity() {
	rest := l.rest()
	if i := bytes.IndexByte(rest[:min(len(rest), 12)], ';'); i > 1 {
		l.take(classEntity, i+1)
		return
	}
	l.take(classPlain, 1)
}

// tag reads a tag with its attributes.
func (l *lexer) tag() {
	i := 1
	rest := l.rest()
	for i < len(rest) && (isWord(rest[i]) || strings.IndexByte("/-:.", rest[i]) >= 0) {
		i++
	}
	l.take(classTag, i)
	for !l.done() {
		rest = l.rest()
		switch {
		case rest[0] == '>':
			l.take(classTag, 1)
			return
		case rest[0] == '<':
			return
		case hasPrefix(rest, "/>"):
			l.take(classTag, 2)
			return
		case l.quoted():
		case rest[0] == '=':
			l.take(classOperator, 1)
		case isBlank(rest[0]):
			l.take(classPlain, 1)
		default:
			l.upTo(className, " \t\n=/>\"'<")
		}
	}
}

// lexSettings reads lines of names and values: YAML, TOML, INI.
func lexSettings(l *lexer) {
	for !l.done() {
		if l.lineStart() {
			l.settingName()
		}
		for !l.done() {
			if l.code[l.pos] == '\n' {
				l.take(classPlain, 1)
				break
			}
			if !l.comment() && !l.quoted() && !l.number() && !l.settingWord() {
				l.other()
			}
		}
	}
}

// settingName reads the start of a line of settings: a section, or the name before : or =.
func (l *lexer) settingName() {
	line := l.rest()[:l.lineLength()]
	indent := len(line) - len(bytes.TrimLeft(line, " \t-"))
	if hasPrefix(line, "---") {
		l.take(classChunk, len(bytes.TrimRight(line, "\n")))
		return
	}
	l.take(classPlain, indent)
	line = line[indent:]
	if hasPrefix(line, "[") {
		l.take(classHeading, len(bytes.TrimRight(line, "\n")))
		return
	}
	if i := bytes.IndexAny(line, ":=#\""); i > 0 && (line[i] == ':' || line[i] == '=') {
		l.take(classTag, len(bytes.TrimRight(line[:i], " \t")))
	}
}

// settingWord reads a bare value and looks it up as a whole: 1.2.3-beta is not a number, and
// on.example is not a keyword.
func (l *lexer) settingWord() bool {
	rest := l.rest()
	i := 0
	for i < len(rest) && (isWord(rest[i]) || i > 0 && strings.IndexByte("-./:", rest[i]) >= 0 && i+1 < len(rest) && !isBlank(rest[i+1])) {
		i++
	}
	if i == 0 {
		return false
	}
	class := classString
	if c, ok := l.words[strings.ToLower(string(rest[:i]))]; ok {
		class = c
	}
	l.take(class, i)
	return true
}

// lexLines highlights line-prefixed formats: diffs and shell transcripts.
func lexLines(l *lexer) {
	for !l.done() {
		line := l.rest()[:l.lineLength()]
		class := l.lineClass(line)
		if class == classPrompt {
			l.take(classPrompt, bytes.IndexByte(line, ' ')+1)
			l.command()
			continue
		}
		l.take(class, len(line))
	}
}

// lineClass returns the class of the first beginning that matches the line. Longer beginnings are
// listed first.
func (l *lexer) lineClass(line []byte) string {
	for _, b := range l.beginnings {
		if hasPrefix(line, b.text) {
			return b.class
		}
	}
	return l.otherLines
}

// command reads the rest of a line as shell code.
func (l *lexer) command() {
	end := l.pos + l.lineLength()
	shell := &lexer{language: languageNamed("sh"), code: l.code[:end], pos: l.pos, emit: l.emit}
	lexCode(shell)
	l.pos = end
}

func hasPrefix(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || isDigit(c) || c == '_' || c >= 0x80
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }
