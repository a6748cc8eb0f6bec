package plant

import (
	"fmt"
	"path"
	"slices"
)

// Planted is the program with all controls. It has the fault that it is called by: under the name
// EarlyAnswer it answers early, and under any other name it has no fault. So the harnesses share one
// build.
//
// Each harness also runs on a program with its control, and proves nothing unless it notices the
// fault. test/planted has the faults that single tests must notice.
func Planted() Fault {
	all := slices.Concat(earlyAnswer, bytesLast, uncounted, oneLine, oneQueue, lazySync, noReserve, staleLog, oneTransaction, unreviewed, forgottenLine)
	packages := map[string]bool{}
	for _, e := range slices.Clone(all) {
		folder := path.Dir(e.File)
		if packages[folder] {
			continue
		}
		packages[folder] = true
		name := path.Base(folder)
		if folder == "cmd/sheaf" {
			name = "main"
		}
		all = append(all, Edit{File: folder + "/planted.go", New: fmt.Sprintf(planted, name)})
	}
	return all
}

// planted is a file of each package with a control.
const planted = `package %s

import (
	"os"
	"path/filepath"
)

// planted is the name of the fault.
var planted = filepath.Base(os.Args[0])
`

// A Control is the name of a fault in the program of Planted.
type Control string

// The controls.
const (
	None Control = "" // no fault
	// EarlyAnswer answers a write before its commit. A kill between the two waits for the answer to
	// reach its client, which gives no signal when it has read it. On PostgreSQL nothing is
	// committed at all, as if the process always died there.
	EarlyAnswer Control = "EarlyAnswer"
	// BytesLast makes a medium live before its bytes are stored.
	BytesLast Control = "BytesLast"
	// Uncounted neither shares nor counts the bodies of deliveries, and assumes plenty of memory.
	Uncounted Control = "Uncounted"
	// OneLine puts the readers of all tenants' shares into one queue.
	OneLine Control = "OneLine"
	// OneQueue puts the texts of all workspaces into one queue for rendering.
	OneQueue Control = "OneQueue"
	// LazySync does not sync SQLite's commits.
	LazySync Control = "LazySync"
	// NoReserve lets the disk fill up to its last byte.
	NoReserve Control = "NoReserve"
	// StaleLog writes the checksum of a page only into SQLite's file, not into its log.
	StaleLog Control = "StaleLog"
	// OneTransaction runs every cascade in one transaction.
	OneTransaction Control = "OneTransaction"
	// Unreviewed changes documents under review as any others.
	Unreviewed Control = "Unreviewed"
	// ForgottenLine writes no audit line of a created share.
	ForgottenLine Control = "ForgottenLine"
)

var (
	forgottenLine = Fault{
		{File: "internal/app/audit.go", Old: "	for _, l := range w.lines {\n", New: "	for _, l := range w.lines {\n\t\tif planted == \"ForgottenLine\" && l.Action == sheaf.ActionShareCreated {\n\t\t\tcontinue\n\t\t}\n"},
	}

	earlyAnswer = Fault{
		{File: "internal/store/engine/sqlite_writer.go", Old: `done: make(chan struct{}, 1)}`, New: `done: make(chan struct{}, 2)}`},
		{File: "internal/store/engine/sqlite_writer.go",
			Old: "settle := w.options.Committing(notes)\n",
			New: "settle := w.options.Committing(notes)\n\tfor _, j := range members {\n\t\tif planted == \"EarlyAnswer\" {\n\t\t\tj.done <- struct{}{}\n\t\t}\n\t}\n"},
		{File: "internal/store/engine/postgres.go", Old: "return c.commit()\n",
			New: "if planted == \"EarlyAnswer\" {\n\t\t\tc.c.Exec(ctx, \"ROLLBACK\")\n\t\t\treturn nil\n\t\t}\n\t\treturn c.commit()\n"},
		{File: "internal/failpoint/on.go", Old: `"syscall"`, New: "\"syscall\"\n\t\"time\""},
		{File: "internal/failpoint/on.go", Old: `_ = syscall.Kill(`,
			New: "if planted == \"EarlyAnswer\" {\n\t\ttime.Sleep(200 * time.Millisecond)\n\t}\n\t_ = syscall.Kill("},
	}
	bytesLast = Fault{
		{File: "internal/app/medium.go", Old: `live, err := m, mediaError(put(work))`,
			New: "first, second := func() error { return mediaError(put(work)) }, a.publishMedium\n" +
				"\tlive, err := m, error(nil)\n" +
				"\tif planted == \"BytesLast\" {\n\t\tlive, err = second(work, c, m)\n\t} else {\n\t\terr = first()\n\t}"},
		{File: "internal/app/medium.go", Old: `live, err = a.publishMedium(work, c, m)`,
			New: "if planted == \"BytesLast\" {\n\t\t\terr = first()\n\t\t} else {\n\t\t\tlive, err = second(work, c, m)\n\t\t}"},
	}
	uncounted = Fault{
		{File: "internal/deliver/budget.go", Old: "part := memory / 8\n", New: "part := memory / 8\n\tif planted == \"Uncounted\" {\n\t\tpart = 1 << 60\n\t}\n"},
		{File: "internal/deliver/budget.go", Old: "lane.bytes += n\n", New: "if planted == \"Uncounted\" {\n\t\tn = 0\n\t}\n\tlane.bytes += n\n"},
		{File: "internal/store/claim_bodies.go", Old: "c.Body = bodies[event{c.ws, c.number}]\n",
			New: "c.Body = bodies[event{c.ws, c.number}]\n\t\t\tif planted == \"Uncounted\" {\n\t\t\t\tc.Body = append([]byte(nil), c.Body...)\n\t\t\t}\n"},
	}
	oneLine = Fault{{File: "internal/app/share_password.go", Old: `a.lines.readers, string(s.Workspace))`,
		New: `a.lines.readers, map[bool]string{false: string(s.Workspace)}[planted == "OneLine"])`}}
	oneQueue = Fault{{File: "internal/front/admission.go", Old: `turns.Take(x.Request.Context(), x.workspace, cost)`,
		New: `turns.Take(x.Request.Context(), map[bool]string{false: x.workspace}[planted == "OneQueue"], cost)`}}
	lazySync = Fault{{File: "internal/store/engine/sqlite.go", Old: `"PRAGMA synchronous = FULL"`,
		New: `map[bool]string{false: "PRAGMA synchronous = FULL", true: "PRAGMA synchronous = NORMAL"}[planted == "LazySync"]`}}
	noReserve = Fault{{File: "cmd/sheaf/serve.go", Old: `Reserve: s.DiskReserve, Spare`,
		New: `Reserve: map[bool]int64{false: s.DiskReserve}[planted == "NoReserve"], Spare`}}
	staleLog       = Fault{{File: "internal/store/engine/checksum/frames.go", Old: `case size == 0:`, New: `case size == 0 || planted == "StaleLog":`}}
	oneTransaction = Fault{{File: "internal/app/cascade.go", Old: `case at != chunks && n <= w.app.cascades.Whole:`,
		New: `case at != chunks && (n <= w.app.cascades.Whole || planted == "OneTransaction"):`}}
	unreviewed = Fault{{File: "internal/app/review.go", Old: `if w.ws.Reviewed == 0 || w.unreviewed.removing`,
		New: `if planted == "Unreviewed" || w.ws.Reviewed == 0 || w.unreviewed.removing`}}
)

// CutNames makes the reader of bodies lose the last letter of every name. It is a fault of its
// package, whose fuzz targets must notice it.
var CutNames = Fault{{File: "internal/strict/names.go",
	Old: "return span{end - uint32(len(literal)) + 1, end - 1}",
	New: "return span{end - uint32(len(literal)) + 1, max(end-2, end-uint32(len(literal))+1)}"}}
