package plant

// The controls of the harnesses under test: each harness looks at a program with its fault too, and
// has shown nothing unless it sees it. test/planted has the faults that single tests must notice.
var (
	// EarlyAnswer answers a write before its commit. A kill between the two waits until the answer
	// has reached its client, on the other side of a socket, which tells nobody that it has read.
	// On PostgreSQL nothing is committed at all, as when the process died there every time.
	EarlyAnswer = Fault{
		{File: "internal/store/engine/sqlite_writer.go", Old: `done: make(chan struct{}, 1)}`, New: `done: make(chan struct{}, 2)}`},
		{File: "internal/store/engine/sqlite_writer.go",
			Old: "settle := w.options.Committing(notes)\n",
			New: "settle := w.options.Committing(notes)\n\tfor _, j := range members {\n\t\tj.done <- struct{}{}\n\t}\n"},
		{File: "internal/store/engine/postgres.go", Old: "return c.commit()\n", New: "c.c.Exec(ctx, \"ROLLBACK\")\n\t\treturn nil\n"},
		{File: "internal/failpoint/on.go", Old: `"syscall"`, New: "\"syscall\"\n\t\"time\""},
		{File: "internal/failpoint/on.go", Old: `_ = syscall.Kill(`, New: "time.Sleep(200 * time.Millisecond)\n\t_ = syscall.Kill("},
	}
	// BytesLast makes a medium live before its bytes are stored.
	BytesLast = Fault{
		{File: "internal/app/medium.go", Old: `live, err := m, mediaError(put(work))`, New: `live, err := a.publishMedium(work, c, m)`},
		{File: "internal/app/medium.go", Old: `live, err = a.publishMedium(work, c, m)`, New: `err = mediaError(put(work))`},
	}
	// Uncounted neither shares nor counts the bodies of deliveries, and takes memory to be plenty.
	Uncounted = Fault{
		{File: "internal/deliver/budget.go", Old: `part := memory / 8`, New: `part := int64(1) << 60`},
		{File: "internal/deliver/budget.go", Old: "lane.bytes += n\n", New: "n = 0\n\tlane.bytes += n\n"},
		{File: "internal/store/claim_bodies.go",
			Old: `c.Body = bodies[event{c.ws, c.number}]`, New: `c.Body = append([]byte(nil), bodies[event{c.ws, c.number}]...)`},
	}
	// OneLine lets the readers of all tenants' shares wait under one name.
	OneLine = Fault{{File: "internal/app/share_password.go", Old: `a.lines.readers, string(s.Workspace))`, New: `a.lines.readers, "")`}}
	// OneQueue renders the texts of all workspaces under one name.
	OneQueue = Fault{{File: "internal/front/admission.go", Old: `turns.Take(x.Request.Context(), x.workspace, cost)`, New: `turns.Take(x.Request.Context(), "", cost)`}}
	// LazySync does not sync SQLite's commits.
	LazySync = Fault{{File: "internal/store/engine/sqlite.go", Old: `"PRAGMA synchronous = FULL"`, New: `"PRAGMA synchronous = NORMAL"`}}
	// NoReserve lets the disk fill up to its last byte.
	NoReserve = Fault{{File: "cmd/sheaf/serve.go", Old: `Reserve: s.DiskReserve, Spare`, New: `Reserve: 0, Spare`}}
	// StaleLog gives pages their checksum on the way into SQLite's file alone, not into its log.
	StaleLog = Fault{{File: "internal/store/engine/checksum/frames.go", Old: `case size == 0:`, New: `case size >= 0:`}}
	// OneTransaction makes a cascade one transaction, however large it is.
	OneTransaction = Fault{{File: "internal/app/cascade.go", Old: `case at != chunks && n <= w.app.cascades.Whole:`, New: `case at != chunks:`}}
	// CutNames makes the reader of bodies lose the last letter of every name.
	CutNames = Fault{{File: "internal/strict/names.go",
		Old: "return span{end - uint32(len(literal)) + 1, end - 1}",
		New: "return span{end - uint32(len(literal)) + 1, max(end-2, end-uint32(len(literal))+1)}"}}
)

// Controls returns all of them by name.
func Controls() map[string]Fault {
	return map[string]Fault{"EarlyAnswer": EarlyAnswer, "BytesLast": BytesLast, "Uncounted": Uncounted, "LazySync": LazySync, "NoReserve": NoReserve, "StaleLog": StaleLog,
		"OneTransaction": OneTransaction, "CutNames": CutNames, "OneLine": OneLine, "OneQueue": OneQueue}
}
