// Package failpoint marks the moments at which the crash tests kill the program. In a program that
// is built as users build it, nothing of it is left: the tag failpoint puts it in.
package failpoint

// The points, in the order in which a write and its delivery pass them. Each is passed by both
// engines.
const (
	Begun        = "begun"         // a transaction has begun
	BeforeCommit = "before-commit" // everything is written and nothing is durable
	AfterCommit  = "after-commit"  // it is durable and nobody knows
	BeforeAnswer = "before-answer" // the answer is made and not sent
	Claimed      = "claimed"       // deliveries are claimed and not sent
	Posted       = "posted"        // an attempt was made and is not recorded
	Cutting      = "cutting"       // a lease is written and the cursor is not moved
	Recording    = "recording"     // outcomes are written and their leases are not closed
	MovingCursor = "moving-cursor" // what waits is held, or what failed is fresh, and the cursor is not moved
	InMigration  = "in-migration"  // some migrations are applied and others are not
	InBackup     = "in-backup"     // some tables are in the backup and others are not

	BetweenChunks = "between-chunks" // some chunks of a cascade are durable and others have not begun
)

// EnvKill names the point and the number of the pass that kills the process, such as "posted:3". It
// matters only with the tag.
const EnvKill = "FAILPOINT_KILL"
