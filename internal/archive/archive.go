// Package archive is the file that sheaf export writes and sheaf import reads: one workspace, a
// JSON object a line.
//
//	{"kind":"sheaf_export","form":1}
//	{"kind":"folder","id":…}          parents before what is in them
//	{"kind":"project","id":…}
//	{"kind":"document","id":…}        with its present text
//	{"kind":"version","document_id":…} its past versions, newest first, without a gap
//	{"kind":"proposal","id":…}
//	{"kind":"proposal_text","proposal_id":…} its texts
//	{"kind":"comment","proposal_id":…} what people say about it
//	{"kind":"medium","id":…}
//	{"kind":"bytes","base64":…}       its bytes, in as many lines as they need
//	{"kind":"release","id":…}
//	{"kind":"release_document","release_id":…} its documents, parents before what is below them
//	{"kind":"release_medium","release_id":…} its media, with bytes that no earlier line has
//	{"kind":"release_end","release_id":…}
//	{"kind":"branding","id":…}
//	{"kind":"share","id":…}           without its address and its password
//	{"kind":"subscription","id":…}    without its secret
//	{"kind":"end","records":8}        without it the file is torn
//
// docs/import-export.md describes the file for authors of other programs. Only app decides
// whether a record may be added.
package archive

import "sheaf.dev/internal/app"

// form is the number of the form that is written and read. A program refuses any other.
const form = 1

// The kinds of lines.
const (
	kindHead          = "sheaf_export"
	kindFolder        = "folder"
	kindBranding      = "branding"
	kindProject       = "project"
	kindDocument      = "document"
	kindVersion       = "version"
	kindProposal      = "proposal"
	kindText          = "proposal_text"
	kindComment       = "comment"
	kindMedium        = "medium"
	kindBytes         = "bytes"
	kindRelease       = "release"
	kindReleased      = "release_document"
	kindReleaseMedium = "release_medium"
	kindReleaseEnd    = "release_end"
	kindShare         = "share"
	kindSubscription  = "subscription"
	kindEnd           = "end"
)

// Count is the number of records of each noun.
type Count = app.ImportCount
