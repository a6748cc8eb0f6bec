// Package failpoint marks the moments at which the crash tests kill the program. In a program that
// is built as users build it, nothing of it is left: the tag failpoint puts it in.
package failpoint

// The points, in the order in which a write and its delivery pass them. Each is passed by both
// engines.
const (
	Begun        = "begun"         // a transaction has begun
	Statement    = "statement"     // a statement of a transaction that may write is about to run
	Accepting    = "accepting"     // a proposal is about to be accepted in the transaction, and nothing is written
	BeforeCommit = "before-commit" // everything is written and nothing is durable
	AfterCommit  = "after-commit"  // it is durable and nobody knows
	BeforeAnswer = "before-answer" // the answer is made and not sent
	Claimed      = "claimed"       // deliveries are claimed and not sent
	Posted       = "posted"        // an attempt was made and is not recorded
	Cutting      = "cutting"       // a lease is written and the cursor is not moved
	Recording    = "recording"     // outcomes are written and their leases are not closed
	MovingCursor = "moving-cursor" // waiting rows are held, or failed rows are fresh again, and the cursor is not moved yet
	InMigration  = "in-migration"  // some migrations are applied and others are not
	InBackup     = "in-backup"     // some tables or media are in the backup and others are not

	BetweenChunks = "between-chunks" // some chunks of a cascade are durable and others have not begun

	Leaving = "leaving" // some rows of a workspace are removed and others are not

	// Those of media, in the order in which an upload and a deletion pass them. Each is passed with a
	// folder of files and with a bucket.
	Announced = "announced" // the row of a medium is durable and none of its bytes are
	Writing   = "writing"   // some bytes of a file are on their way and others are not
	Appended  = "appended"  // a piece of an upload is durable and its row does not say so
	Joining   = "joining"   // all pieces of an upload are durable, and a medium that is pending
	Stored    = "stored"    // the bytes are durable and the medium is not live
	Removing  = "removing"  // a medium is gone and its bytes are not
	Removed   = "removed"   // the bytes are gone and their row is not
)

// EnvKill names the point and the number of the pass that kills the process, such as "posted:3". With
// "accepting:1+20" the process is killed later: at the twentieth pass of any point that follows the
// first pass of "accepting". So a test reaches every moment of a transaction by counting up. With
// "accepting:1+before-answer" it is killed at the first "before-answer" that follows. It matters only
// with the tag.
const EnvKill = "FAILPOINT_KILL"
