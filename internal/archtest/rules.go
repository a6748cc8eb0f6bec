package archtest

// A rule says which other parts of the module a part may import. A part is a folder with all below
// it, except folders that have a rule of their own. Within a part imports are free.
type rule struct {
	part    string
	may     []string // other parts, by the names of their rules
	stdOnly bool     // and nothing from outside the module, the standard library apart
	// names are all that it may name of another part; a part that is not in it is free.
	names    map[string][]string
	anything bool   // of the module, but for what is for tests
	why      string // shown if the rule is broken
}

// The reasons that several parts share.
const (
	leaf = "it is a leaf, known by those above it and knowing none of them"
	edge = "an edge talks to the layers below it, never to another edge"
	kit  = "it is for tests alone"
)

// rules has a line for every part of the module. A new package gets its line here first: that is
// the moment to ask where it belongs.
var rules = []rule{
	{part: "cmd", anything: true, why: "it wires everything"},
	{part: "internal/archive", why: "it is the form of a file: the rules decide on what is in it", may: []string{"internal/app", "internal/sheaf", "internal/strict"}},
	{part: "internal/backup", why: "it is the form of a file: the store reads and writes what is in it", may: []string{"internal/store", "internal/media", "internal/sheaf", "internal/failpoint"}},
	{part: "internal/offsite", why: "it keeps files of package backup in a bucket, and knows nothing of what is in them", may: []string{"internal/backup", "internal/store", "internal/media", "internal/sheaf"}},
	{part: "internal/cli", why: "its commands talk to a server as any other program does, through the client",
		may: []string{"client", "internal/sheaf", "internal/config", "internal/deliver", "internal/markdown", "internal/merge"}},

	{part: "internal/httpapi", why: edge, may: []string{"internal/door", "internal/front", "internal/app", "internal/sheaf", "internal/strict",
		"internal/obs", "internal/icon", "internal/render", "internal/failpoint"}},
	{part: "internal/console", why: edge, may: []string{"internal/front", "internal/app", "internal/sheaf", "internal/icon", "internal/render"}},
	{part: "internal/oauth", why: edge, may: []string{"internal/front", "internal/app", "internal/sheaf", "internal/obs"}},
	{part: "internal/mcp", why: edge, may: []string{"internal/door", "internal/front", "internal/app", "internal/sheaf", "internal/strict", "internal/obs"}},
	{part: "internal/publish", why: edge, may: []string{"internal/front", "internal/app", "internal/sheaf", "internal/brandstyle", "internal/icon", "internal/render"}},
	{part: "internal/deliver", why: edge, may: []string{"internal/store", "internal/sheaf", "internal/guard", "internal/seal", "internal/tally", "internal/obs", "internal/failpoint"}},
	{part: "internal/mail", why: edge, may: []string{"internal/store", "internal/sheaf", "internal/seal"}},
	{part: "internal/sweep", why: edge, may: []string{"internal/store", "internal/sheaf", "internal/obs"}},

	{part: "internal/door", why: "it decides who sends a request to an edge, and knows none of them",
		may: []string{"internal/front", "internal/app", "internal/sheaf", "internal/strict", "internal/ratewindow", "internal/tally"}},
	{part: "internal/front", why: "it has what every HTTP edge needs, and knows none of them", may: []string{"internal/fair", "internal/obs", "internal/sheaf"},
		names: map[string][]string{"internal/sheaf": {"Kind", "Invalid", "Unauthorized", "Forbidden", "NotFound", "MethodNotAllowed", "Conflict", "PreconditionFailed",
			"TooLarge", "UnsupportedType", "RangeNotSatisfiable", "RateLimited", "Unavailable"}}}, // each kind has a status

	{part: "internal/app", why: "the rules stand on the store and know no edge",
		may: []string{"internal/search", "internal/store", "internal/media", "internal/merge", "internal/disk", "internal/sheaf", "internal/fair", "internal/guard", "internal/oidc", "internal/seal", "internal/failpoint"}},
	{part: "internal/search", why: "it finds what the store keeps, and knows no rule: who may see a hit, app says",
		may: []string{"internal/store", "internal/store/engine", "internal/sheaf"}},
	{part: "internal/store", why: "the store keeps what the vocabulary describes and knows no rule",
		may: []string{"internal/store/engine", "internal/sheaf", "internal/seal", "internal/failpoint"}},
	{part: "internal/store/doctor", why: "it asks the stored data, noun by noun, and changes nothing",
		may: []string{"internal/store", "internal/store/engine", "internal/media", "internal/sheaf", "internal/seal"}},
	{part: "internal/store/engine", why: "it runs transactions, and knows no noun",
		may:   []string{"internal/store/engine/checksum", "internal/sheaf", "internal/failpoint"},
		names: map[string][]string{"internal/sheaf": {"Error", "Kind", "KindOf", "Unavailable", "UnavailableError", "CodeUnavailable"}}},
	{part: "internal/store/engine/checksum", why: "it is alone with the driver's memory"},
	{part: "internal/sheaf", why: "it is the vocabulary that everybody shares", stdOnly: true},

	{part: "internal/config", why: leaf},
	{part: "internal/disk", why: leaf},
	{part: "internal/failpoint", why: leaf},
	{part: "internal/fair", why: leaf, stdOnly: true},
	{part: "internal/guard", why: leaf},
	{part: "internal/icon", why: leaf},
	{part: "internal/media", why: leaf, may: []string{"internal/failpoint"}},
	{part: "internal/merge", why: leaf},
	{part: "internal/obs", why: leaf},
	{part: "internal/oidc", why: leaf},
	{part: "internal/ratewindow", why: leaf},
	{part: "internal/redislimit", why: "it is the window of ratewindow over several nodes", may: []string{"internal/ratewindow"}},
	{part: "internal/render", why: leaf, may: []string{"internal/fair"}},
	{part: "internal/seal", why: leaf},
	{part: "internal/strict", why: "it knows shapes, and of the vocabulary only how a field is left out", may: []string{"internal/sheaf"}},

	{part: "internal/markdown", why: "it reads and writes files, and of the vocabulary knows the bounds", may: []string{"internal/sheaf"}},
	{part: "internal/brandstyle", why: "it writes the style sheet of a branding", may: []string{"internal/sheaf"}},
	{part: "internal/tally", why: "it counts what the vocabulary names", may: []string{"internal/sheaf"}},

	{part: "deploy", why: "it has files, which tests run as they are", stdOnly: true},

	{part: "client", why: "it is public: a user's program builds with it alone"},
	{part: "webhook", why: "it is public: a receiver's program builds with it alone"},

	{part: "internal/archtest", why: kit},
	{part: "internal/sheaftest", anything: true, why: kit},
	{part: "internal/store/storetest", why: kit, may: []string{"internal/backup", "internal/store", "internal/sheaf", "internal/sheaftest"}},
	{part: "scripts", why: kit, may: []string{"internal/sheaftest"}},
	{part: "test", why: kit, may: []string{"client", "webhook", "internal/sheaftest"}},
}

// forTests lists the parts that a file of the program must not import, whatever its own rule says.
var forTests = []string{"internal/archtest", "internal/sheaftest", "internal/store/storetest", "scripts", "test"}

// drivers lists the modules that talk to a database, and driverUsers the parts that may.
var (
	drivers = []string{"database/sql", "github.com/jackc/pgx", "github.com/pressly/goose", "modernc.org/sqlite",
		"zombiezen.com/go/sqlite"}
	driverUsers = []string{"internal/store/engine", "internal/store/engine/checksum", "internal/sheaftest"}
)

// withoutHTTP lists the parts that must not import net/http: a caller of theirs need not be a request.
var withoutHTTP = []string{"internal/sheaf", "internal/app", "internal/store", "internal/store/engine", "internal/store/doctor", "internal/search"}

// unsafeUser is the part that may import unsafe.
const unsafeUser = "internal/store/engine/checksum"

// An exemption lets one file, or the files of one part, use the real clock or math/rand.
type exemption struct{ path, why string }

var clockExempt = []exemption{
	{"cmd", "it hands the clock to everybody else"},
	{"scripts", "no part of the program"},
	{"internal/sheaftest", "it waits for real processes and makes certificates that real TLS judges"},
	{"internal/deliver/send.go", "an attempt happens in the real time of sockets and deadlines"},
	{"internal/deliver/attempt_conn.go", "it measures the phases of an attempt, in the real time of sockets"},
	{"internal/deliver/attempt_exchange.go", "likewise"},
	{"internal/deliver/attempt_host.go", "connections are kept for a while, in the real time of sockets"},
	{"internal/media/conn.go", "a silent connection is given up after a while, in the real time of sockets"},
	{"internal/media/verify.go", "a file's stamp is the kernel's, in real time; how old it is decides what is hashed once more, and nothing that is stored"},
	{"internal/store/engine/postgres.go", "how long one waits for a silent server decides who is refused, and nothing that is stored"},
	{"internal/store/engine/postgres_silence.go", "likewise"},
	{"internal/store/engine/slots.go", "how long a place is held decides who waits, and nothing that is stored"},
	{"internal/store/engine/sqlite_group.go", "it measures how long the writer's commits take"},
	{"internal/store/engine/sqlite_writer.go", "a group ends after a while, so that its first member is answered"},
	{"webhook/options.go", "the default of a receiver, which is not our program; it can give another clock"},
}

var randExempt = []exemption{
	{"cmd", "it hands the randomness to everybody else"},
	{"internal/sheaftest", "test data from a fixed seed"},
	{"internal/store/engine/postgres.go", "how long a rerun waits decides nothing that is stored"},
	{"internal/store/storetest", "test data from a fixed seed"},
	{"test", "faults from a fixed seed"},
}
