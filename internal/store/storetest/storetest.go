// Package storetest is the conformance suite of the store: it tests what both engines promise, on
// a real database of each. It must not depend on an engine; what only one engine does is tested
// in package store.
package storetest

import (
	"testing"

	"sheaf.dev/internal/store"
)

// Run tries the whole suite. open returns a migrated, empty store that is
// closed when its test ends.
func Run(t *testing.T, open func(t *testing.T) *store.Store) {
	shared := open(t)
	for name, try := range inWorkspace {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			try(newFixture(t, shared))
		})
	}
	for name, try := range inDatabase {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			try(newFixture(t, open(t)))
		})
	}
}

// inWorkspace are the tests that stay in a workspace of their own. They run
// beside each other on one store, as the workspaces of a service do.
var inWorkspace = map[string]func(*fixture){
	"Workspace/round trip":                               workspaceRoundTrip,
	"Workspace/unknown is NotFound":                      workspaceUnknown,
	"Workspace/members":                                  members,
	"Workspace/member events are bounded":                memberEvents,
	"User/round trip":                                    userRoundTrip,
	"User/e-mail is unique in any case":                  userEmailUnique,
	"User/without an e-mail there may be many":           userWithoutEmail,
	"Project/round trip":                                 projectRoundTrip,
	"Project/nulls come back as nulls":                   projectNulls,
	"Project/another workspace's is NotFound":            projectForeign,
	"Project/duplicate and dangling":                     projectConstraints,
	"Project/odd texts come back as they were":           projectOddTexts,
	"Project/extreme numbers and times":                  projectExtremes,
	"Folder/round trip":                                  folderRoundTrip,
	"Folder/subtree has parents first":                   folderSubtree,
	"Folder/subfolders are counted":                      folderSubfolders,
	"Folder/constraints":                                 folderConstraints,
	"Folder/unfiled projects":                            folderUnfile,
	"Folder/a tree":                                      folderTree,
	"Branding/round trip":                                brandingRoundTrip,
	"Branding/constraints":                               brandingConstraints,
	"Branding/the default one":                           brandingDefault,
	"Branding/unfiled":                                   brandingUnfile,
	"Branding/lists":                                     brandingLists,
	"Document/round trip":                                documentRoundTrip,
	"Document/deleted softly":                            documentDeleted,
	"Document/deleted together":                          documentDeletedTogether,
	"Document/trash goes within bounds":                  trashWithinBounds,
	"Document/much text goes in parts":                   trashInParts,
	"Document/constraints":                               documentConstraints,
	"Document/newest of a project":                       documentNewest,
	"Document/list of a large project":                   documentsOfLargeProject,
	"Document/unlinked from a project":                   documentUnlink,
	"Text/round trip":                                    textRoundTrip,
	"Text/once for a document":                           textOnce,
	"Version/pages":                                      versionPages,
	"Version/dropped with their texts":                   versionDropped,
	"Medium/round trip":                                  mediumRoundTrip,
	"Medium/lists":                                       mediumLists,
	"Medium/unseen while pending":                        mediumPending,
	"Medium/equal bytes go with the last":                mediumEqualBytes,
	"Medium/a removal is taken over once":                mediumTakenOver,
	"Medium/stays when its document goes":                mediumOfPurgedDocument,
	"Medium/a removal is given up":                       mediumReleased,
	"Upload/round trip":                                  uploadRoundTrip,
	"Upload/goes on from one place once":                 uploadAdvances,
	"Upload/reserves until it ends":                      uploadReserves,
	"Upload/its medium is not taken for abandoned":       uploadKeepsItsMedium,
	"Key/round trip":                                     keyRoundTrip,
	"Key/live ones alone are listed and counted":         keyLive,
	"Key/constraints":                                    keyConstraints,
	"Key/use is written":                                 keyTouch,
	"Key/rotation":                                       keyRotation,
	"Credential/exact after a rotation":                  credentialRotated,
	"Credential/fields":                                  credentialFields,
	"Credential/exact after a revocation":                credentialRevoked,
	"Credential/exact after a change of plan":            credentialPlan,
	"Credential/version after a write":                   credentialVersion,
	"Credential/version not before its data":             credentialVersionOrder,
	"Event/round trip":                                   eventRoundTrip,
	"Event/many at once":                                 eventMany,
	"Event/filters":                                      eventFilters,
	"Event/pages":                                        eventPages,
	"Once/remembered":                                    onceRemembered,
	"Once/another body conflicts":                        onceConflict,
	"Once/expired is replaced":                           onceExpired,
	"List/orders of projects":                            projectOrders,
	"List/orders of documents":                           documentOrders,
	"List/pages of projects":                             projectPages,
	"List/pages of folders":                              folderPages,
	"List/pages of documents":                            documentPages,
	"List/search folds":                                  searchFolds,
	"List/search is literal":                             searchLiteral,
	"List/search in descriptions":                        searchDescriptions,
	"List/filter by folder":                              filterFolder,
	"Claim/first attempts before retries":                claimOrder,
	"Record/one more that was asked for meanwhile":       recordOnceMore,
	"Record/what was rolled back is not reported":        recordAgain,
	"Claim/until the lease ends":                         claimLease,
	"Claim/tells when the next is due":                   claimNext,
	"Claim/within a number of bytes":                     claimBytes,
	"Record/what is not as it was claimed is left alone": recordBad,
	"Lane/recovery counts what it recovers":              recoverCounts,
	"Lane/held deliveries are counted":                   heldCounted,
	"Lane/recovered ones go by event, before newer ones": recoverOrder,
	"Counters/equal the counted rows":                    countersAfterAnything,
	"Write/error rolls back, event included":             rollback,
	"Write/panic fails alone":                            panicAlone,
	"Write/failing ones disturb no others":               failuresAlone,
	"Write/last slot is taken once":                      lastSlot,
	"Write/event numbers have no gap":                    eventNumbers,
	"Write/caller leaves during it":                      callerLeaves,
	"Write/caller had left before it":                    callerHadLeft,
	"Write/listener is told after the commit":            listener,
	"Read/one snapshot":                                  snapshot,
}

// inDatabase are the tests that look beyond one workspace.
var inDatabase = map[string]func(*fixture){
	"Database/workspaces in their order":       workspacesInOrder,
	"Database/passwords and first owner":       firstOwner,
	"Database/setup links":                     setupLinks,
	"Database/settings":                        settings,
	"Database/old events go, oldest first":     oldEvents,
	"Database/old answers go":                  oldAnswers,
	"Database/old member events go":            oldMemberEvents,
	"Database/schema":                          schema,
	"Medium/what no process works on is found": mediumUnsettled,
	"Upload/those that expired are found":      uploadExpired,
	"Claim/lanes that something waits in":      waitingLanes,
	"Poll/what grew, and nothing else":         pollGrown,
	"Poll/rounds pass over all":                pollRounds,
	"Poll/many at once":                        pollMany,
	"Lane/a lease lasts until its last row":    leaseLasts,
	"Minute/adds up, and is removed":           minutes,
}
