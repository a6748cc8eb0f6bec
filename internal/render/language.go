package render

import (
	"strings"
	"sync"
)

// A language has what its lexer needs.
type language struct {
	name          string // as used in the class; never text of a user
	lex           func(*lexer)
	lineComments  []string
	blockComments [][2]string
	quotes        []quote // longer ones first
	words         map[string]string
	sigils        string // signs that begin a name
	fold          bool   // case is ignored
	dashes        bool   // a name may contain dashes
	calls         bool   // a name before a parenthesis is a function
	quotedNames   bool   // a string before a colon is a name
	beginnings    []beginning
	otherLines    string
}

// A quote is how a string begins and ends.
type quote struct {
	open, close string
	// escape: a backslash escapes the next character. lines: the string may span several lines.
	escape, lines bool
}

// A beginning gives the class of a line that begins with text.
type beginning struct{ text, class string }

var (
	double    = quote{`"`, `"`, true, false}
	single    = quote{`'`, `'`, true, false}
	backtick  = quote{"`", "`", true, true}
	rawTick   = quote{"`", "`", false, true}
	triple    = quote{`"""`, `"""`, true, true}
	tripleOne = quote{`'''`, `'''`, true, true}
	long      = quote{`"`, `"`, true, true}
	longOne   = quote{`'`, `'`, false, true}
	slashes   = []string{"//"}
	hash      = []string{"#"}
	starred   = [][2]string{{"/*", "*/"}}
	angled    = [][2]string{{"<!--", "-->"}}
)

// dictionary maps words to classes, from lists of words.
func dictionary(keywords, types, constants, builtins string) map[string]string {
	words := map[string]string{}
	for _, list := range []struct{ words, class string }{
		{builtins, classBuiltin}, {constants, classConstant}, {types, classType}, {keywords, classKeyword},
	} {
		for _, word := range strings.Fields(list.words) {
			words[word] = list.class
		}
	}
	return words
}

// languages has every language that is highlighted, by each of its names. It is built at the first
// use.
var languages struct {
	once   sync.Once
	byName map[string]*language
}

func loadLanguages() {
	languages.byName = map[string]*language{}
	for names, l := range catalogue() {
		if l.lex == nil {
			l.lex = lexCode
		}
		for i, name := range strings.Fields(names) {
			if i == 0 {
				l.name = name
			}
			languages.byName[name] = l
		}
	}
}

// languageNamed finds a language by the text after a fence, or returns nil. "Go", "golang" and
// "go{hl_lines=1}" are Go.
func languageNamed(info string) *language {
	if i := strings.IndexAny(info, " ,{:"); i >= 0 {
		info = info[:i]
	}
	if len(info) > 20 {
		return nil
	}
	languages.once.Do(loadLanguages)
	return languages.byName[strings.ToLower(info)]
}

// catalogue returns the languages. It is called once. The first name of a language is the one in
// its class.
func catalogue() map[string]*language {
	c := func(words map[string]string) *language {
		return &language{lineComments: slashes, blockComments: starred, quotes: []quote{double, single}, words: words, calls: true}
	}
	with := func(l *language, change func(*language)) *language { change(l); return l }
	script := dictionary(
		"async await break case catch class const continue debugger default delete do else export extends finally for from function get if import in "+
			"instanceof let new of return set static super switch this throw try typeof var void while with yield "+
			"abstract as declare enum implements interface keyof namespace private protected public readonly satisfies type is infer",
		"any bigint boolean never number object string symbol unknown",
		"true false null undefined NaN Infinity",
		"Array Boolean Date Error JSON Map Math Number Object Promise RegExp Set String console document globalThis module process require window fetch")
	shell := dictionary(
		"if then else elif fi for while until do done case esac in function select time return break continue exit local export readonly declare set unset "+
			"shift source trap eval exec", "", "true false",
		"alias awk cat cd chmod chown cp curl cut date docker echo env find git go grep head kill kubectl ls make mkdir mv node npm npx pip printf ps pwd "+
			"python python3 read rm sed sleep sort ssh sudo systemctl tail tar tee test touch tr uniq wc wget which xargs yarn sheaf apt apt-get brew jq psql sqlite3")
	data := dictionary("", "", "true false null yes no on off nil none", "")

	return map[string]*language{
		"go golang": with(c(dictionary(
			"break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var",
			"any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint uint8 uint16 uint32 uint64 uintptr",
			"true false nil iota", "append cap clear close complex copy delete imag len make max min new panic print println real recover")),
			func(l *language) { l.quotes = []quote{double, single, rawTick} }),
		"javascript js jsx mjs cjs": with(c(script), func(l *language) { l.quotes, l.sigils = []quote{double, single, backtick}, "@" }),
		"typescript ts tsx":         with(c(script), func(l *language) { l.quotes, l.sigils = []quote{double, single, backtick}, "@" }),
		"java": with(c(dictionary(
			"abstract assert break case catch class const continue default do else enum extends final finally for goto if implements import instanceof interface "+
				"native new package private protected public record return sealed static strictfp super switch synchronized this throw throws transient try var "+
				"void volatile while yield permits", "boolean byte char double float int long short String Object Integer Long Double Boolean List Map Set Optional",
			"true false null", "System")), func(l *language) { l.quotes, l.sigils = []quote{triple, double, single}, "@" }),
		"kotlin kt kts": with(c(dictionary(
			"abstract annotation as break by catch class companion const constructor continue crossinline data do else enum external final finally for fun get if "+
				"import in infix init inline inner interface internal is lateinit noinline object open operator out override package private protected public "+
				"reified return sealed set super suspend tailrec this throw try typealias val var vararg when where while",
			"Any Array Boolean Byte Char Double Float Int List Long Map Nothing Set Short String Unit", "true false null", "println print listOf mapOf setOf")),
			func(l *language) { l.quotes, l.sigils = []quote{triple, double, single}, "@" }),
		"scala": with(c(dictionary(
			"abstract case catch class def do else enum export extends extension final finally for forSome given if implicit import lazy match new object override "+
				"package private protected return sealed super then this throw trait try type using val var while with yield",
			"Any Boolean Byte Char Double Float Int List Long Map Nothing Option Set Short String Unit", "true false null None Nil", "println Some")),
			func(l *language) { l.quotes, l.sigils = []quote{triple, double, single}, "@" }),
		"swift": with(c(dictionary(
			"actor any as associatedtype async await break case catch class continue convenience default defer deinit do dynamic else enum extension fallthrough "+
				"fileprivate final for func get guard if import in indirect init inout internal is lazy let mutating nonisolated open operator override private "+
				"protocol public repeat required rethrows return self set some static struct subscript super switch throw throws try typealias unowned var weak where while",
			"Any Array Bool Character Dictionary Double Float Int Optional Self Set String UInt Void", "true false nil", "print fatalError")),
			func(l *language) { l.quotes, l.sigils = []quote{triple, double}, "@#" }),
		"c h": with(c(dictionary(
			"auto break case const continue default do else enum extern for goto if inline register restrict return sizeof static struct switch typedef union volatile while "+
				"_Atomic _Generic _Noreturn _Static_assert alignas alignof",
			"bool char double float int long short signed unsigned void size_t ssize_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t FILE",
			"true false NULL nullptr", "printf malloc free memcpy strlen")), func(l *language) { l.sigils = "" }),
		"cpp c++ cc cxx hpp": c(dictionary(
			"alignas alignof and asm auto break case catch class co_await co_return co_yield concept const consteval constexpr constinit const_cast continue decltype "+
				"default delete do dynamic_cast else enum explicit export extern final for friend goto if inline mutable namespace new noexcept not operator or override "+
				"private protected public register reinterpret_cast requires return sizeof static static_assert static_cast struct switch template this thread_local throw "+
				"try typedef typeid typename union using virtual volatile while xor",
			"bool char char8_t char16_t char32_t double float int long short signed unsigned void wchar_t size_t string vector map set",
			"true false nullptr NULL", "std cout cin cerr endl")),
		"csharp c# cs": with(c(dictionary(
			"abstract add alias as async await base break case catch checked class const continue default delegate do else enum event explicit extern finally fixed for "+
				"foreach get global goto if implicit in init interface internal is lock namespace new operator out override params partial private protected public readonly "+
				"record ref remove required return sealed set sizeof stackalloc static struct switch this throw try typeof unchecked unsafe using value var virtual volatile "+
				"when where while with yield", "bool byte char decimal double dynamic float int long nint object sbyte short string uint ulong ushort void",
			"true false null", "Console Task List Dictionary")), func(l *language) { l.quotes, l.sigils = []quote{triple, double, single}, "@" }),
		"rust rs": with(c(dictionary(
			"as async await break const continue crate dyn else enum extern fn for if impl in let loop match mod move mut pub ref return self static struct super trait "+
				"type union unsafe use where while", "bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize String Vec Option Result Box Self",
			"true false None Some Ok Err", "println print format vec panic assert dbg")), func(l *language) { l.quotes = []quote{long} }),
		"zig": c(dictionary(
			"addrspace align allowzero and anyframe anytype asm async await break callconv catch comptime const continue defer else enum errdefer error export extern fn for if "+
				"inline linksection noalias noinline nosuspend opaque or orelse packed pub resume return struct suspend switch test threadlocal try union unreachable usingnamespace "+
				"var volatile while", "bool f16 f32 f64 i8 i16 i32 i64 isize u8 u16 u32 u64 usize void noreturn type anyerror", "true false null undefined", "")),
		"dart": with(c(dictionary(
			"abstract as assert async await break case catch class const continue covariant default deferred do dynamic else enum export extends extension external factory "+
				"final finally for get hide if implements import in interface is late library mixin new on operator part required rethrow return sealed set show static super "+
				"switch sync this throw try typedef var void when while with yield", "bool double int num String List Map Set Object Future Stream", "true false null", "print")),
			func(l *language) { l.quotes, l.sigils = []quote{triple, tripleOne, double, single}, "@" }),
		"php": {lineComments: []string{"//", "#"}, blockComments: starred, quotes: []quote{long, {`'`, `'`, true, true}}, sigils: "$", calls: true, fold: true, words: dictionary(
			"abstract and array as break callable case catch class clone const continue declare default do echo else elseif empty enddeclare endfor endforeach endif endswitch "+
				"endwhile enum extends final finally fn for foreach function global goto if implements include include_once instanceof insteadof interface isset list match "+
				"namespace new or print private protected public readonly require require_once return static switch throw trait try unset use var while xor yield",
			"bool float int mixed never object self string void parent", "true false null", "php")},
		"python py python3": {lineComments: hash, quotes: []quote{triple, tripleOne, double, single}, sigils: "@", calls: true, words: dictionary(
			"and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise "+
				"return try while with yield type", "bool bytes dict float frozenset int list object set str tuple",
			"True False None", "abs all any enumerate filter isinstance len map max min open print range repr reversed round sorted sum super zip self cls")},
		"ruby rb": {lineComments: hash, blockComments: [][2]string{{"=begin", "=end"}}, quotes: []quote{long, {`'`, `'`, true, true}, backtick}, sigils: "@$", calls: true, words: dictionary(
			"alias and begin break case class def defined? do else elsif end ensure extend for if in include module next not or private protected public raise redo require "+
				"require_relative rescue retry return self super then undef unless until when while yield attr_accessor attr_reader attr_writer", "",
			"true false nil", "puts print p lambda proc loop")},
		"elixir ex exs": {lineComments: hash, quotes: []quote{triple, long, single}, sigils: "@", calls: true, words: dictionary(
			"after alias and case catch cond def defmodule defp defstruct defmacro do else end fn for if import in not or quote raise receive require rescue try unless unquote "+
				"use when with", "", "true false nil", "IO Enum Map String List")},
		"perl pl": {lineComments: hash, quotes: []quote{long, longOne}, sigils: "$@", calls: true, words: dictionary(
			"else elsif for foreach if last local my next our package return sub unless until use while and or not", "", "undef", "die print printf push shift split join")},
		"lua": {lineComments: []string{"--"}, blockComments: [][2]string{{"--[[", "]]"}}, quotes: []quote{{"[[", "]]", false, true}, double, single}, calls: true, words: dictionary(
			"and break do else elseif end for function goto if in local not or repeat return then until while", "", "true false nil", "print pairs ipairs require table string math")},
		"r": {lineComments: hash, quotes: []quote{long, {`'`, `'`, true, true}}, calls: true, words: dictionary(
			"break else for function if in next repeat return while library", "", "TRUE FALSE NULL NA NaN Inf", "c print paste data")},
		"haskell hs": {lineComments: []string{"--"}, blockComments: [][2]string{{"{-", "-}"}}, quotes: []quote{double}, words: dictionary(
			"case class data default deriving do else foreign if import in infix infixl infixr instance let module newtype of then type where",
			"Bool Char Double Either Float IO Int Integer Maybe String", "True False Nothing Just", "map filter foldr putStrLn print")},
		"sql mysql postgresql postgres sqlite plpgsql": {lineComments: []string{"--"}, blockComments: starred, quotes: []quote{longOne, {`"`, `"`, false, true}, rawTick}, fold: true, calls: true, words: dictionary(
			"add all alter and any as asc begin between by cascade case check collate column commit conflict constraint create cross current database default deferrable delete "+
				"desc distinct do drop else end escape except exists explain foreign from full function group having if in index inner insert intersect into is join key lateral "+
				"left like limit natural not nothing of offset on or order outer over partition primary procedure recursive references release rename replace restrict returning "+
				"right rollback row rows savepoint select set strict table then to transaction trigger truncate union unique update using vacuum values view when where window with without rowid",
			"bigint binary blob bool boolean bytea char date decimal double float int integer interval json jsonb numeric real serial smallint text time timestamp timestamptz uuid varchar",
			"true false null", "avg coalesce count lower max min now sum upper length")},
		"graphql gql": {lineComments: hash, quotes: []quote{triple, double}, sigils: "$@", words: dictionary(
			"directive enum extend fragment implements input interface mutation on query repeatable scalar schema subscription type union", "Boolean Float ID Int String", "true false null", "")},
		"protobuf proto": c(dictionary(
			"enum extend extensions import map message oneof option optional package public repeated required reserved returns rpc service stream syntax to weak",
			"bool bytes double fixed32 fixed64 float int32 int64 sfixed32 sfixed64 sint32 sint64 string uint32 uint64", "true false", "")),
		"hcl terraform tf": {lineComments: []string{"#", "//"}, blockComments: starred, quotes: []quote{double}, calls: true, words: dictionary(
			"data for_each for if in locals module output provider resource terraform variable moved import", "string number bool list map set object any", "true false null", "var local each self")},
		"nginx": {lineComments: hash, quotes: []quote{double, single}, sigils: "$", words: dictionary(
			"http server location upstream listen server_name root index proxy_pass proxy_set_header return rewrite try_files include events ssl_certificate ssl_certificate_key if map", "", "on off", "")},
		"sh bash shell zsh fish": {lineComments: hash, quotes: []quote{long, longOne, backtick}, sigils: "$", dashes: true, words: shell},
		"powershell ps1 pwsh": {lineComments: hash, blockComments: [][2]string{{"<#", "#>"}}, quotes: []quote{{`"`, `"`, false, true}, longOne}, sigils: "$", dashes: true, fold: true, words: dictionary(
			"begin break catch class continue do else elseif end enum exit filter finally for foreach function if in param process return switch throw trap try until using while", "", "",
			"get-childitem get-content invoke-restmethod invoke-webrequest new-item remove-item select-object set-content write-host write-output")},
		"dockerfile docker containerfile": {lineComments: hash, quotes: []quote{double, single}, sigils: "$", dashes: true, words: dictionary(
			"ADD ARG AS CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL MAINTAINER ONBUILD RUN SHELL STOPSIGNAL USER VOLUME WORKDIR", "", "", "")},
		"makefile make mk": {lineComments: hash, quotes: []quote{double, single}, sigils: "$", dashes: true, words: dictionary("include ifeq ifneq ifdef ifndef else endif define endef export override", "", "", "")},
		"css scss less sass": {lineComments: slashes, blockComments: starred, quotes: []quote{double, single}, sigils: "@$", dashes: true, calls: true, words: dictionary(
			"important", "", "auto inherit initial none unset revert", "background border bottom color content cursor display flex float font font-family font-size font-weight gap grid height left "+
				"line-height margin max-width min-width opacity overflow padding position right text-align top transform transition width z-index")},
		"json json5 jsonc webmanifest": {lineComments: slashes, blockComments: starred, quotes: []quote{double}, quotedNames: true, words: dictionary("", "", "true false null", "")},
		"yaml yml":                     {lex: lexSettings, lineComments: hash, quotes: []quote{long, longOne}, words: data},
		"toml":                         {lex: lexSettings, lineComments: hash, quotes: []quote{triple, tripleOne, double, {`'`, `'`, false, false}}, words: data},
		"ini cfg conf properties env dotenv systemd": {lex: lexSettings, lineComments: []string{"#", ";"}, quotes: []quote{double, single}, words: data},
		"http":                      {lex: lexSettings, quotes: []quote{double}, words: data},
		"html htm xhtml vue svelte": {lex: lexMarkup, blockComments: angled, quotes: []quote{{`"`, `"`, false, true}, longOne}},
		"xml svg rss xsd plist":     {lex: lexMarkup, blockComments: angled, quotes: []quote{{`"`, `"`, false, true}, longOne}},
		"diff patch": {lex: lexLines, beginnings: []beginning{{"+++", classHeading}, {"---", classHeading}, {"diff ", classHeading}, {"index ", classHeading},
			{"@@", classChunk}, {"+", classInserted}, {"-", classDeleted}}},
		"console shell-session session": {lex: lexLines, otherLines: classOutput, beginnings: []beginning{{"$ ", classPrompt}, {"# ", classPrompt}, {"% ", classPrompt}, {"> ", classPrompt}}},
		"markdown md":                   {lex: lexLines, beginnings: []beginning{{"#", classHeading}, {"> ", classComment}, {"```", classString}, {"~~~", classString}, {"---", classChunk}, {"|", classTag}}},
	}
}
