package planted

import "sheaf.dev/internal/sheaftest/plant"

// bugs lists what is planted. The quick form tries the first one alone: it is cheap, and what notices it is a property,
// whose counterexample must not be left in the tree.
var bugs = []bug{
	{
		name: "ratewindow: an admission frees its place too early",
		Fault: plant.Fault{{
			File: "internal/ratewindow/window.go",
			Old:  `w := &Window{held: int64(length) + 1,`,
			New:  `w := &Window{held: int64(length),`,
		}},
		pkg: "./internal/ratewindow", run: ".",
	},
	{
		name: "guard: an address that only a cloud answers passes",
		Fault: plant.Fault{{
			File: "internal/guard/guard.go",
			Old:  `contains(platform, ip) || g.base.SafeAddr(ip) != nil`,
			New:  `g.base.SafeAddr(ip) != nil`,
		}},
		pkg: "./internal/guard", run: "TestAddress_RefusesEverySpecialOne",
	},
	{
		name: "guard: ports of mail and shells are dialled",
		Fault: plant.Fault{{
			File: "internal/guard/guard.go",
			Old:  `if !portAllowed(dest.Port()) {`,
			New:  `if dest.Port() == 0 {`,
		}},
		pkg: "./internal/guard", run: "TestControl|TestDial_ForbiddenPort",
	},
	{
		name: "guard: judged on the name when it is written, not on the address when it is dialled",
		Fault: plant.Fault{{
			File: "internal/deliver/send.go",
			Old:  `c.dial = dialName(guardedDialer(cfg.Control), cfg.Allowed)`,
			New:  `c.dial = dialName(&net.Dialer{Resolver: dnsOnly(new(net.Dialer).DialContext)}, cfg.Allowed)`,
		}},
		pkg: "./internal/deliver", run: "TestAttempt_GuardIsAskedForTheAddressDialled",
	},
	{
		name: "store: a medium that was deleted during a backup is restored without its bytes",
		Fault: plant.Fault{{
			File: "internal/store/backup.go",
			Old:  `for _, sql := range []string{dropRestoredLogos, dropRestoredBytes, dropRestoredMedia, dropReleasedMedia} {`,
			New:  `for _, sql := range []string{} {`,
		}},
		pkg: "./internal/backup", run: "TestBackup_MediumDeletedMeanwhile",
	},
	{
		name: "backup: a backup takes bytes that are not those that were uploaded",
		Fault: plant.Fault{{
			File: "internal/backup/media.go",
			Old:  `untilDone{ctx, media.Checked(content, b.Size, keyOf(b))}`,
			New:  `untilDone{ctx, content}`,
		}},
		pkg: "./internal/backup", run: "TestBackup_NamesLostMedia",
	},
	{
		name: "app: whether an external id is there is asked outside of the transaction that makes it",
		Fault: plant.Fault{{
			File: "internal/app/project.go",
			Old: `return write(ctx, a, c, scope(sheaf.ProjectsWrite), fault, func(w *work) (out Put[sheaf.Project], err error) {
		before, found, err := w.ProjectWith(w.ws.ID, externalID)`,
			New: `var before sheaf.Project
	var found bool
	if err := a.store.Read(ctx, func(r *store.Reader) (err error) {
		before, found, err = r.ProjectWith(c.Workspace, externalID)
		return err
	}); err != nil {
		return Put[sheaf.Project]{}, err
	}
	return write(ctx, a, c, scope(sheaf.ProjectsWrite), fault, func(w *work) (out Put[sheaf.Project], err error) {`,
		}},
		pkg: "./internal/httpapi", run: "TestPut_TogetherMakesOne",
	},
	{
		name: "app: a deleted document does not hold its external id",
		Fault: plant.Fault{{
			File: "internal/app/document.go",
			Old:  `if err != nil || !found || holder.ID == d.ID {`,
			New:  `if err != nil || !found || holder.ID == d.ID || holder.Deleted != nil {`,
		}},
		pkg: "./internal/httpapi", run: "TestExternalID_TakenNamesItsHolder",
	},
	{
		name: "app: a version is restored without its title",
		Fault: plant.Fault{{
			File: "internal/app/version.go",
			Old:  `d.Title, d.ContentBytes, d.ContentSHA256 = v.Title, v.ContentBytes, v.ContentSHA256`,
			New:  `d.ContentBytes, d.ContentSHA256 = v.ContentBytes, v.ContentSHA256`,
		}},
		pkg: "./internal/httpapi", run: "TestVersions_Restore",
	},
	{
		name: "app: an import takes versions in any order, and those of a document that was there",
		Fault: plant.Fault{{
			File: "internal/app/import_version.go",
			Old:  `if v.Number != kept.Oldest-1 || kept.Present-v.Number >= sheaf.MaxVersions {`,
			New:  `if kept.Present-v.Number >= sheaf.MaxVersions {`,
		}},
		pkg: "./cmd/sheaf", run: "TestImport_KeepsTextsAndVersions|TestImport_ContinuesWithinADocument|TestImport_RefusesVersionsWithoutADocument",
	},
	{
		name: "app: an import counts a text once for each version that has it",
		Fault: plant.Fault{{
			File: "internal/app/import_version.go",
			Old:  `doc.texts[t.SHA256()] = true`,
			New:  `doc.texts[""] = true`,
		}},
		pkg: "./cmd/sheaf", run: "TestImport_KeepsTextsAndVersions",
	},
	{
		name: "store: the trash is emptied without counting versions",
		Fault: plant.Fault{{
			File: "internal/store/retention.go",
			Old:  `versions += gone.Versions`,
			New:  `versions += 0 * gone.Versions`,
		}},
		pkg: "./internal/store", run: "TestStore_SQLite",
	},
	{
		name: "app: a node gives the time of its own clock, also one before the newest",
		Fault: plant.Fault{{
			File: "internal/app/newest.go",
			Old: `		at = w.ws.NewestAt
		if`,
			New: `		if`,
		}},
		pkg: "./internal/app", run: "TestPoller_MissesNothingWhateverTheClocksAre",
	},
	{
		name: "backup: what a backup says of itself is not compared with it",
		Fault: plant.Fault{{
			File: "internal/backup/footer.go",
			Old:  `if !bytes.Equal(b, footer(r.sum.Sum(nil))) {`,
			New:  `if len(b) != footerLength {`,
		}},
		pkg: "./internal/backup", run: "TestRestore_KeepsNothingOfADamagedFile",
	},
	{
		name: "deliver: the body of an answer may take for ever",
		Fault: plant.Fault{{
			File: "internal/deliver/attempt_conn.go",
			Old:  `if c.Conn.SetDeadline(a.deadline) != nil || c.reused && !c.silent() {`,
			New:  `if c.reused && !c.silent() {`,
		}},
		pkg: "./internal/deliver", run: "TestAttempt_DeadlineIsExact",
	},
	{
		name: "deliver: a connection is used again that has ended, or has answered what nobody asked",
		Fault: plant.Fault{{
			File: "internal/deliver/attempt_conn.go",
			Old:  `c.reused && !c.silent()`,
			New:  `c.reused && c.silent == nil`,
		}},
		pkg: "./internal/deliver", run: "TestAttempt_AConnectionThatIsNotSilentIsReplaced",
	},
	{
		name: "deliver: a lease ends before the attempt does",
		Fault: plant.Fault{{
			File: "internal/deliver/deliver.go",
			Old:  `now.Add(d.Timeout+leaseSpare)`,
			New:  `now.Add(d.Timeout/2)`,
		}},
		pkg: "./internal/deliver", run: "TestLease|TestFair|TestSchedule_TimeoutIsAnAttempt",
	},
	{
		name: "store: a late result overwrites what another node does",
		Fault: plant.Fault{{
			File: "internal/store/record.go",
			Old:  `AND (deliveries.token = {token} OR {token} = '' AND deliveries.token IS NULL AND deliveries.due IS NULL AND deliveries.state = 0)`,
			New:  `AND {token} IS NOT NULL`,
		}},
		pkg: "./internal/store", run: "TestStore_SQLite",
	},
	{
		name: "store: retries go before first attempts",
		Fault: plant.Fault{{
			File: "internal/store/claim.go",
			Old:  `first = first[:min(len(first), q.Room-min(len(q.retries), q.Retries))]`,
			New:  `first = first[:max(0, min(len(first), q.Room-1-len(q.retries)))]`,
		}},
		pkg: "./internal/deliver", run: "TestFair_FirstAttemptsGoBeforeRetries",
	},
	{
		name: "store: a cut moves the cursor behind what it read, not behind what it took",
		Fault: plant.Fault{{
			File: "internal/store/claim.go",
			Old:  `at = q.cut[open].number - 1`,
			New:  `at = q.reached`,
		}},
		pkg: "./internal/store", run: "TestStore_SQLite/suite/Claim",
	},
	{
		name: "store: the lease of a node that died in the middle of a cut or a record is ended, and its rows are forgotten",
		Fault: plant.Fault{{
			File: "internal/store/claim_release.go",
			Old:  `err = tx.releaseCut(l, x.lo, x.hi, open, now)`,
			New:  `_, err = open, nil`,
		}},
		pkg: "./internal/deliver", run: "TestLease",
	},
	{
		name: "store: a record closes more of its lease than it wrote",
		Fault: plant.Fault{{
			File: "internal/store/record.go",
			Old:  `if leases[k].open <= n {`,
			New:  `if leases[k].open <= n+1 {`,
		}},
		pkg: "./internal/store", run: "TestStore_SQLite/suite/Lane",
	},
	{
		name: "store: recovery moves the cursor behind the first that it recovers",
		Fault: plant.Fault{{
			File: "internal/store/recover.go",
			Old:  `l.cursor, l.recoveredTo, l.recoveredAt = number-1, &was, &now`,
			New:  `l.cursor, l.recoveredTo, l.recoveredAt = number, &was, &now`,
		}},
		pkg: "./internal/store", run: "TestStore_SQLite/suite/Lane",
	},
	{
		name: "store: recovery counts what it reads in the transaction that everybody waits for",
		Fault: plant.Fault{{
			File: "internal/store/recover.go",
			Old:  `if !before.counted || before.version != l.version {`,
			New:  `if !before.counted || before.version >= 0 {`,
		}},
		pkg: "./internal/store", run: "TestLane_TurningReadsNoneOfIt/SQLite",
	},
	{
		name: "store: a lane begins first attempts beside any number of retries",
		Fault: plant.Fault{{
			File: "internal/store/claim.go",
			Old:  `if err != nil || waiting >= mostRetries {`,
			New:  `if err != nil || waiting > mostRetries {`,
		}},
		pkg: "./internal/store", run: "TestLane_BeginsNothingBesideManyRetries/SQLite",
	},
	{
		name: "deliver: each delivery of a burst to one host has a connection of its own",
		Fault: plant.Fault{{
			File: "internal/deliver/attempt_host.go",
			Old:  `if h.open < enoughConns {`,
			New:  `if h.open >= 0 {`,
		}},
		pkg: "./internal/deliver", run: "TestHost_ABurst",
	},
	{
		name: "deliver: an endpoint that refuses everything is asked as often as it can refuse",
		Fault: plant.Fault{{
			File: "internal/deliver/lanes.go",
			Old:  `if lane.claimable && now.Before(lane.rest) {`,
			New:  `if lane.claimable && now.IsZero() {`,
		}},
		pkg: "./internal/deliver", run: "TestLanes_ThoseThatFailRest",
	},
	{
		name: "sheaf: a success leaves the count of failures",
		Fault: plant.Fault{{
			File: "internal/sheaf/outcome.go",
			Old:  `s.FailureCount, s.LastError = 0, nil`,
			New:  `s.LastError = nil`,
		}},
		pkg: "./internal/deliver", run: "TestPolicy_ASuccessBetween",
	},
	{
		name: "store: what waits is not held when its subscription ends",
		Fault: plant.Fault{{
			File: "internal/store/lane.go",
			Old:  `n, err := tx.changed(holdRetries(tx.dialect()), l.sub)`,
			New:  `n, err := int64(0), error(nil)`,
		}},
		pkg: "./internal/deliver", run: "TestPolicy|TestInactive",
	},
	{
		name: "store: a project is read without its workspace",
		Fault: plant.Fault{{
			File: "internal/store/project.go",
			Old:  "FROM projects\nWHERE ws = $1 AND id = $2`\n\n// Project returns",
			New:  "FROM projects\nWHERE $1 <> 0 AND id = $2`\n\n// Project returns",
		}},
		pkg: "./internal/httpapi", run: "TestRoutes_ForeignIDIsAsAnUnknownOne|TestReferences_Foreign",
	},
	{
		name: "store: a project is deleted without its workspace",
		Fault: plant.Fault{{
			File: "internal/store/project.go",
			Old:  "DELETE FROM projects\nWHERE ws = $1 AND id = $2",
			New:  "DELETE FROM projects\nWHERE $1 <> ''",
		}},
		pkg: "./internal/store", run: "TestStore_SQLite",
	},
	{
		name: "store: a folder's counter stays when a project is deleted",
		Fault: plant.Fault{{
			File: "internal/store/project.go",
			Old:  `return tx.countProjects(ws, p.FolderID, -1)`,
			New:  `return nil`,
		}},
		pkg: "./test/model", run: "TestModel",
	},
	{
		name: "app: folders are left out of what a workspace may have",
		Fault: plant.Fault{{
			File: "internal/app/quota.go",
			Old:  `used += folders`,
			New:  `used += min(folders, 0)`,
		}},
		pkg: "./internal/httpapi", run: "TestQuota",
	},
	{
		name: "app: the event is left out of the transaction of a move",
		Fault: plant.Fault{{
			File: "internal/app/folder.go",
			Old:  `w.emit(sheaf.FolderUpdated, string(f.ID), &sheaf.Updated{Before: &before, After: &f})`,
			New:  ``,
		}},
		pkg: "./internal/httpapi", run: "TestEvents_AppliedToAnEmptyCopy",
	},
	{
		name: "app: a folder's counter stays when a chunk of its projects leaves",
		Fault: plant.Fault{{
			File: "internal/app/folder.go",
			Old:  `err = count(w.ws.ID, id, -n)`,
			New:  `_ = count`,
		}},
		pkg: "./internal/httpapi", run: "TestCascade_EndsBetweenTwoChunks",
	},
	{
		name: "app: a batch goes on after an operation that is refused",
		Fault: plant.Fault{{
			File: "internal/app/batch.go",
			Old: `return nil, sheaf.AtOperation(i, err)
		}
		made = append(made, r)`,
			New: `continue
		}
		made = append(made, r)`,
		}},
		pkg: "./internal/httpapi", run: "TestBatch_OneBadOperationLeavesNothing",
	},
	{
		name: "app: a batch deletes more at once than one transaction may",
		Fault: plant.Fault{{
			File: "internal/app/batch.go",
			Old:  `if n > left.deleted {`,
			New:  `if n < 0 {`,
		}},
		pkg: "./internal/httpapi", run: "TestBatch_Cascades",
	},
	{
		name: "app: a document goes below a document that is below it",
		Fault: plant.Fault{{
			File: "internal/app/document_tree.go",
			Old:  `return a.ID == d.ID }):`,
			New:  `return false }):`,
		}},
		pkg: "./internal/httpapi", run: "TestTree_Parents",
	},
	{
		name: "app: what is below a moved document stays in its project",
		Fault: plant.Fault{{
			File: "internal/app/document_tree.go",
			Old:  `p.carry = !sheaf.SameID(before.ProjectID, d.ProjectID)`,
			New:  `p.carry = false`,
		}},
		pkg: "./internal/httpapi", run: "TestTree_ProjectChanges",
	},
	{
		name: "app: a restore brings back what another deletion took",
		Fault: plant.Fault{{
			File: "internal/app/document_trash.go",
			Old:  `deletion := max(top.Deletion, -top.Deletion)`,
			New:  `deletion := int64(1)`,
		}},
		pkg: "./internal/httpapi", run: "TestTree_DeleteAndRestore",
	},
	{
		name: "store: a write that was refused while it waited is done all the same",
		Fault: plant.Fault{{
			File: "internal/store/engine/sqlite_writer.go",
			Old:  `return j.decided.CompareAndSwap(false, true)`,
			New:  `return !j.decided.Swap(true) || true`,
		}},
		pkg: "./internal/store/engine", run: "TestSQLite_AWriteThatHasNotBegun",
	},
	{
		name: "app: a key that was revoked while its body came still acts",
		Fault: plant.Fault{{
			File: "internal/app/authorize.go",
			Old:  `if err != nil || !k.Live(w.now) || !k.Takes(`,
			New:  `if err != nil || k.ID == "" || !k.Takes(`,
		}},
		pkg: "./internal/httpapi", run: "TestAttack_ARevokedKey",
	},
	{
		name: "app: one subscription more than the plan allows",
		Fault: plant.Fault{{
			File: "internal/app/subscription.go",
			Old:  `if most := ws.Plan.MaxSubscriptions(); ws.Subscriptions >= int64(most) {`,
			New:  `if most := ws.Plan.MaxSubscriptions(); ws.Subscriptions > int64(most) {`,
		}},
		pkg: "./internal/httpapi", run: "TestSubscription_LimitUnderConcurrency|TestSubscriptionLimit",
	},
	{
		name: "store: limits are judged before the lock: the workspace is read and not locked",
		Fault: plant.Fault{{
			File: "internal/store/workspace.go",
			Old:  `tx.dialect().ForUpdate()`,
			New:  `""`,
		}},
		pkg: "./test/race", run: "TestRaces",
	},
	{
		name: "app: a key grants what it does not hold",
		Fault: plant.Fault{{
			File: "internal/app/key.go",
			Old:  "if !c.May(s) {\n\t\t\treturn sheaf.Forbiddenf(\"scopes: this key lacks",
			New:  "if !c.May(sheaf.KeysWrite) {\n\t\t\treturn sheaf.Forbiddenf(\"scopes: this key lacks",
		}},
		pkg: "./internal/httpapi", run: "TestKey_GrantsOnlyWhatItHolds",
	},
	{
		name: "app: a fourth level of folders",
		Fault: plant.Fault{{
			File: "internal/app/folder.go",
			Old:  `if depth > sheaf.MaxDepth {`,
			New:  `if depth > sheaf.MaxDepth+1 {`,
		}},
		pkg: "./internal/httpapi", run: "TestFolder_Depth",
	},
	{
		name: "app: the answer to a repetition is not kept",
		Fault: plant.Fault{{
			File: "internal/app/work.go",
			Old:  `if once := w.caller.Once; once != nil {`,
			New:  `if once := w.caller.Once; once != nil && once.admitted {`,
		}},
		pkg: "./internal/httpapi", run: "TestIdempotency",
	},
	{
		name: "store: a repetition with another body gets the first answer",
		Fault: plant.Fault{{
			File: "internal/store/idempotency.go",
			Old:  `case !bytes.Equal(hash, o.BodyHash):`,
			New:  `case bytes.Equal(hash, nil):`,
		}},
		pkg: "./internal/httpapi", run: "TestIdempotency_Conflict",
	},
	{
		name: "app: the version stays when something changes, so pages are served from before",
		Fault: plant.Fault{{
			File: "internal/app/work.go",
			Old:  `func (w *work) changes() { w.ws.Version = store.NextVersion(w.ws.Version, w.now) }`,
			New:  `func (w *work) changes() {}`,
		}},
		pkg: "./internal/httpapi", run: "TestReadYourWrites",
	},
	{
		name: "httpapi: a page of one query is served for another",
		Fault: plant.Fault{{
			File: "internal/httpapi/cache.go",
			Old:  `rawPath: u.RawPath, query: u.RawQuery}`,
			New:  `rawPath: u.RawPath}`,
		}},
		pkg: "./internal/httpapi", run: "TestQuery|TestLink|TestProjects",
	},
	{
		name: "httpapi: a tag of an older revision is accepted",
		Fault: plant.Fault{{
			File: "internal/httpapi/etag.go",
			Old:  `m.Revisions = append(m.Revisions, r)`,
			New:  `m.Any = r > 0`,
		}},
		pkg: "./internal/httpapi", run: "TestConditional",
	},
	{
		name: "seal: a secret opens in another row",
		Fault: plant.Fault{{
			File: "internal/seal/seal.go",
			Old:  `plain, err := b.aead.Open(nil, sealed[1:n], sealed[n:], []byte(place))`,
			New:  `plain, err := b.aead.Open(nil, sealed[1:n], sealed[n:], nil)`,
		}},
		pkg: "./internal/seal", run: "TestBox",
	},
	{
		name: "webhook: the time of a delivery is not judged",
		Fault: plant.Fault{{
			File: "webhook/webhook.go",
			Old:  "if anyEqual(given, sign([]byte(secret), stamp, body)) {\n\t\t\treturn o.checkTime(stamp)",
			New:  "if anyEqual(given, sign([]byte(secret), stamp, body)) {\n\t\t\treturn nil",
		}},
		pkg: "./webhook", run: "TestVerify",
	},
	{
		name: "search: what changed after the index is taken from it all the same",
		Fault: plant.Fault{{
			File: "internal/search/find.go",
			Old:  `return !stale && wanted(kind, at, parent)`,
			New:  `return (stale || !stale) && wanted(kind, at, parent)`,
		}},
		pkg: "./internal/search", run: "TestSearch_IsAsOfTheAnswer|TestSearch_TotalIsAsOfTheAnswer",
	},
	{
		name: "search: a cursor of another history is trusted",
		Fault: plant.Fault{{
			File: "internal/search/follow.go",
			Old:  `return string(mark) == string(s.mark), err`,
			New:  `return mark != nil, err`,
		}},
		pkg: "./internal/search", run: "TestFollow_BuildsAnewWhatCannotGoOn",
	},
	{
		name: "search: a set lacks the last record of its chunk",
		Fault: plant.Fault{{
			File: "internal/search/seal.go",
			Old:  `place := int(w.Int() - first)`,
			New:  `place := max(0, int(w.Int()-first)-1)`,
		}},
		pkg: "./internal/search", run: "TestModel",
	},
	{
		name: "search: a record with a term that is not listed counts as wholly listed",
		Fault: plant.Fault{{
			File: "internal/search/term.go",
			Old:  "t.unlisted.add(i)\n\t\t\treturn",
			New:  "return",
		}},
		pkg: "./internal/search", run: "TestTerms|TestSearch_ByTerms",
	},
	{
		name: "search: who may not read folders learns in which one a document lies",
		Fault: plant.Fault{{
			File: "internal/search/find.go",
			Old:  `if may.Folders {`,
			New:  `if len(may.Types) > 0 {`,
		}},
		pkg: "./internal/httpapi", run: "TestSearch_ShowsWhatTheKeyMayRead",
	},
	{
		name: "markdown: a path of an archive may climb out of it",
		Fault: plant.Fault{{
			File: "internal/markdown/path.go",
			Old:  `if segment == "" || segment == "." || segment == ".." {`,
			New:  `if segment == "" || segment == "." {`,
		}},
		pkg: "./internal/markdown", run: "TestZip_HostileArchivesAreRefused",
	},
	{
		name: "markdown: what is packed is not held against the archive's size",
		Fault: plant.Fault{{
			File: "internal/markdown/tree_zip.go",
			Old:  `case all > smallZip && all/maxRatio > uint64(size):`,
			New:  `case all > MaxBytes*maxRatio:`,
		}},
		pkg: "./internal/markdown", run: "TestZip_HostileArchivesAreRefused",
	},
	{
		name: "markdown: a text that looks like front matter is written bare",
		Fault: plant.Fault{{
			File: "internal/markdown/page.go",
			Old:  `if bare := []byte(p.Content); readsAs(path, bare, p) {`,
			New:  `if bare := []byte(p.Content); implied(path, p.Content) == p.Title && len(p.Metadata) == 0 && p.Description == "" {`,
		}},
		pkg: "./internal/markdown", run: "TestFormat_IsTheShortest|TestRoundTrip_OfAnyWorkspace",
	},
	{
		name: "markdown: links in code are taken for links",
		Fault: plant.Fault{{
			File: "internal/markdown/link_scan.go",
			Old:  `s.code = codeSpans(s.text)`,
			New:  `s.code = map[int]int{}`,
		}},
		pkg: "./internal/markdown", run: "TestRewrite_FindsTheFile",
	},
	{
		name: "markdown: an export leaves links as somebody wrote them",
		Fault: plant.Fault{{
			File: "internal/markdown/export.go",
			Old:  `return x.index.find(from, l)`,
			New:  `return "", "", false`,
		}},
		pkg: "./internal/markdown", run: "TestRoundTrip_OfAnyWorkspace",
	},
	{
		name: "markdown: documents of other sources are pruned",
		Fault: plant.Fault{{
			File: "internal/markdown/source.go",
			Old:  `path, ok := strings.CutPrefix(externalID, source+":")`,
			New:  `_, path, ok := strings.Cut(externalID, ":")`,
		}},
		pkg: "./internal/markdown", run: "TestCompare_FindsWhatChanged",
	},
	{
		name: "markdown: documents are made in the order of their paths",
		Fault: plant.Fault{{
			File: "internal/markdown/plan.go",
			Old:  `plan.Create = l.Ordered(plan.Create)`,
			New:  `plan.Create = plan.Create[:len(plan.Create):len(plan.Create)]`,
		}},
		pkg: "./internal/markdown", run: "TestOrdered_OneVersionIsEnough",
	},
	{
		name: "render: an address of any kind is written",
		Fault: plant.Fault{{
			File: "internal/render/address.go",
			Old:  "\t}\n\treturn address{}\n}\n\n// isControl",
			New:  "\t}\n\treturn address{kind: mailAddress, href: s}\n}\n\n// isControl",
		}},
		pkg: "./internal/render", run: "TestPage_IsHarmless",
	},
	{
		name: "render: a link may stand in a link",
		Fault: plant.Fault{{
			File: "internal/render/link.go",
			Old:  `if a.kind == noAddress || w.inLink {`,
			New:  `if a.kind == noAddress {`,
		}},
		pkg: "./internal/render", run: "TestPage_IsHarmless",
	},
	{
		name: "render: the cells of a table are paid for by its text alone",
		Fault: plant.Fault{{
			File: "internal/render/parse.go",
			Old:  `m.require(m.cells <= maxCells)`,
			New:  `m.require(m.cells >= 0)`,
		}},
		pkg: "./internal/render", run: "TestPage_BoundsAreExact",
	},
	{
		name: "render: the host of a picture is not asked for",
		Fault: plant.Fault{{
			File: "internal/render/link.go",
			Old:  `a.kind == webAddress && a.secure && w.images[a.host]`,
			New:  `a.kind == webAddress && a.secure && a.host != ""`,
		}},
		pkg: "./internal/render", run: "TestPage_IsHarmless",
	},
	{
		name: "sheaf: a brand's color is a link's color, readable or not",
		Fault: plant.Fault{{
			File: "internal/sheaf/palette.go",
			Old:  `Link: brand.readable(far, background, surface).String(),`,
			New:  `Link: brand.String(),`,
		}},
		pkg: "./internal/sheaf", run: "TestPalette_TextIsReadableWhateverTheColor",
	},
	{
		name: "app: a changed branding is not seen by the caches",
		Fault: plant.Fault{{
			File: "internal/app/branding.go",
			Old:  "w.changes()\n\treturn b, w.UpdateBranding(w.ws.ID, before, b)",
			New:  "return b, w.UpdateBranding(w.ws.ID, before, b)",
		}},
		pkg: "./internal/httpapi", run: "TestBranding_NoCacheIsStale",
	},
	{
		name: "app: a branding may stand in a folder of projects",
		Fault: plant.Fault{{
			File: "internal/app/branding.go",
			Old:  `if f.EntityType != sheaf.BrandingFolder {`,
			New:  `if f.EntityType == "" {`,
		}},
		pkg: "./internal/httpapi", run: "TestBranding_Folders",
	},
	{
		name: "store: a branding that moves is counted by both folders",
		Fault: plant.Fault{{
			File: "internal/store/branding.go",
			Old:  `if err := tx.countBrandings(ws, before.FolderID, -1); err != nil {`,
			New:  `if err := tx.countBrandings(ws, nil, -1); err != nil {`,
		}},
		pkg: "./internal/httpapi", run: "TestBranding_Folders",
	},
	{
		name: "app: the share of a project shows documents of all projects",
		Fault: plant.Fault{{
			File: "internal/app/share_site.go",
			Old:  `if s.ResourceType == sheaf.ShareOfProject && string(p.ID) == s.ResourceID {`,
			New:  `if s.ResourceType == sheaf.ShareOfProject {`,
		}},
		pkg: "./internal/publish", run: "TestWalk_ReachesWhatIsShownAndNothingElse",
	},
	{
		name: "store: bytes go with the first medium that has them",
		Fault: plant.Fault{{
			File: "internal/store/medium.go",
			Old:  "case n > 0:\n\t\treturn false, tx.exec(`DELETE",
			New:  "case n > 0 && m.Bytes < 0:\n\t\treturn false, tx.exec(`DELETE",
		}},
		pkg: "./internal/store", run: "TestStore_SQLite/suite/Medium",
	},
	{
		name: "store: a medium that goes leaves its bytes in the quota",
		Fault: plant.Fault{{
			File: "internal/store/medium.go",
			Old:  `w.Storage -= m.Bytes`,
			New:  `w.Storage -= min(m.Bytes, 0)`,
		}},
		pkg: "./internal/store", run: "TestStore_SQLite/suite/Medium",
	},
	{
		name: "store: of two who go on with an upload from one place both are told yes",
		Fault: plant.Fault{{
			File: "internal/store/upload.go",
			Old:  `WHERE ws = $1 AND id = $2 AND received = $3`,
			New:  `WHERE ws = $1 AND id = $2 AND $3 >= 0`,
		}},
		pkg: "./internal/store", run: "TestStore_SQLite/suite/Upload",
	},
	{
		name: "store: the medium of an upload that is being finished is taken for abandoned",
		Fault: plant.Fault{{
			File: "internal/store/medium.go",
			Old:  "WHERE ws = $1 AND id = $2 AND state = 0 AND until <= $3\n  AND NOT EXISTS (SELECT 1 FROM uploads u WHERE u.ws = media.ws AND u.id = media.id)",
			New:  "WHERE ws = $1 AND id = $2 AND state = 0 AND until <= $3",
		}},
		pkg: "./internal/store", run: "TestStore_SQLite/suite/Upload",
	},
	{
		name: "media: a file gets its name before it is flushed",
		Fault: plant.Fault{{
			File: "internal/media/folder.go",
			Old:  "err = file.Sync()",
			New:  "err = nil",
		}},
		pkg: "./test/disk", run: "TestPowerCut_MediaLoseNothingStored",
	},
	{
		name: "media: a piece that could not be written stays on the full disk",
		Fault: plant.Fault{{
			File: "internal/media/folder_upload.go",
			Old:  "err = errors.Join(err, file.Truncate(at.Offset))",
			New:  "err = errors.Join(err, nil)",
		}},
		pkg: "./test/disk", run: "TestFault_NoRoomForAFile",
	},
	{
		name: "app: a piece that is longer than what is missing is kept up to there",
		Fault: plant.Fault{{
			File: "internal/app/upload.go",
			Old:  `if at.Offset == u.Offset || rest.over {`,
			New:  `if at.Offset == u.Offset {`,
		}},
		pkg: "./internal/httpapi", run: "TestUpload_BodiesThatAreTooLarge",
	},
	{
		name: "app: an upload that was ended while it was finished is told to be whole",
		Fault: plant.Fault{{
			File: "internal/app/upload.go",
			Old:  `return w.finishedElsewhere(m.ID)`,
			New:  `return nil`,
		}},
		pkg: "./internal/app", run: "TestUpload_EndedOrFinishedByAnotherNodeMeanwhile/sqlite",
	},
	{
		name: "app: an upload may be begun once more than is allowed",
		Fault: plant.Fault{{
			File: "internal/app/upload.go",
			Old:  `if n >= sheaf.MaxUploads {`,
			New:  `if n > sheaf.MaxUploads {`,
		}},
		pkg: "./internal/httpapi", run: "TestUpload_ReservesAndIsBounded",
	},
	{
		name: "app: a piece is taken wherever it begins",
		Fault: plant.Fault{{
			File: "internal/app/upload.go",
			Old:  `if finished || offset != u.Offset {`,
			New:  `if finished {`,
		}},
		pkg: "./internal/httpapi", run: "TestUpload_Refusals",
	},
	{
		name: "front: a file that could hold a script is shown",
		Fault: plant.Fault{{
			File: "internal/front/file.go",
			Old:  `f.Type, disposition = "application/octet-stream", "attachment"`,
			New:  `disposition = "inline"`,
		}},
		pkg: "./internal/httpapi", run: "TestMedium_Content",
	},
	{
		name: "app: a share shows every medium of the workspace",
		Fault: plant.Fault{{
			File: "internal/app/share_reader.go",
			Old:  `if shown, err := shows(d.Content); err != nil || !shown {`,
			New:  `if _, err := shows(d.Content); err != nil {`,
		}},
		pkg: "./internal/publish", run: "TestWalk_ReachesWhatIsShownAndNothingElse",
	},
	{
		name: "front: the token of a share is logged",
		Fault: plant.Fault{{
			File: "internal/front/front.go",
			Old:  `[]string{"/setup/", "/invite/", "/reset/", "/s/"}`,
			New:  `[]string{"/setup/", "/invite/", "/reset/"}`,
		}},
		pkg: "./internal/publish", run: "TestToken_IsInNoLog",
	},
	{
		name: "front: the token of a reset is logged",
		Fault: plant.Fault{{
			File: "internal/front/front.go",
			Old:  `[]string{"/setup/", "/invite/", "/reset/", "/s/"}`,
			New:  `[]string{"/setup/", "/invite/", "/s/"}`,
		}},
		pkg: "./cmd/sheaf", run: "TestServe_MailsPeople$",
	},
	{
		name: "mcp: a page of another site may ask",
		Fault: plant.Fault{{
			File: "internal/mcp/handle.go",
			Old:  `if origin == "" || x.isOwn(origin) {`,
			New:  `if origin == "" || x.isOwn(origin) || true {`,
		}},
		pkg: "./internal/mcp", run: "TestEdge_WhoMayAsk",
	},
	{
		name: "mcp: a revision is read and not heeded",
		Fault: plant.Fault{{
			File: "internal/mcp/tools.go",
			Old:  `return sheaf.Match{Asked: true, Revisions: []int64{r.Value}}`,
			New:  `return sheaf.Match{}`,
		}},
		pkg: "./internal/mcp", run: "TestEdit_WhoWasSlowerIsToldSo",
	},
	{
		name: "app: an edit takes the text that was there before somebody else's",
		Fault: plant.Fault{{
			File: "internal/app/document_edit.go",
			Old:  `if before.ContentSHA256 == ready.of {`,
			New:  `if before.ContentSHA256 == ready.of || true {`,
		}},
		pkg: "./internal/mcp", run: "TestEdit_AgentsOfOneDocumentLoseNothing",
	},
	{
		name: "app: an upload in pieces may be begun where there is no room",
		Fault: plant.Fault{{
			File: "internal/app/upload.go",
			Old:  `if err := w.checkRoom(u.Length); err != nil {`,
			New:  `if err := w.checkRoom(0); err != nil {`,
		}},
		pkg: "./internal/httpapi", run: "TestUpload_QuotaIsExactUnderConcurrency",
	},
	{
		name: "store: an upload that is over keeps what it reserved",
		Fault: plant.Fault{{
			File: "internal/store/upload.go",
			Old:  `w.Storage -= u.Reserved`,
			New:  `w.Storage -= min(u.Reserved, 0)`,
		}},
		pkg: "./internal/httpapi", run: "TestUpload_QuotaIsExactUnderConcurrency",
	},
	{
		name: "httpapi: a text is put whatever its condition says",
		Fault: plant.Fault{{
			File: "internal/httpapi/document.go",
			Old:  `sheaf.DocumentChange{Content: sheaf.Some(text)}, matchOf(x.Request.Header))`,
			New:  `sheaf.DocumentChange{Content: sheaf.Some(text)}, sheaf.Match{})`,
		}},
		pkg: "./internal/httpapi", run: "TestContent_NoLineIsLostByManyWriters",
	},
	{
		name: "app: a document that comes back from the trash is not counted",
		Fault: plant.Fault{{
			File: "internal/app/document.go",
			Old:  "\t\tw.ws.Documents++\n\t}\n\td.Revision++",
			New:  "\t}\n\td.Revision++",
		}},
		pkg: "./internal/httpapi", run: "TestTrash_ContestedByMany",
	},
	{
		name: "app: the search of a share looks through the whole workspace",
		Fault: plant.Fault{{
			File: "internal/app/share_reader.go",
			Old:  `q.Project = &project`,
			New:  `_ = project`,
		}},
		pkg: "./internal/publish", run: "TestSearch_LeavesNothing",
	},
	{
		name: "publish: the views of shares are counted without their lock",
		Fault: plant.Fault{{
			File: "internal/publish/views.go",
			Old:  "\tw.mu.Lock()\n\tdefer w.mu.Unlock()\n\thas, known := w.by[seen.Share]",
			New:  "\thas, known := w.by[seen.Share]",
		}},
		pkg: "./test/race", run: "TestTraffic_SQLite", race: true,
	},
	{
		name: "httpapi: a cached answer is not bound to a restriction",
		Fault: plant.Fault{{
			File: "internal/httpapi/cache.go",
			Old:  "if to := x.Caller.Restriction(); to != nil {",
			New:  "if to := x.Caller.Restriction(); to != nil && to.Number < 0 {",
		}},
		pkg: "./internal/httpapi", run: "TestRestriction_Inside",
	},
	{
		name: "store: a search finds what is outside of a restriction",
		Fault: plant.Fault{{
			File: "internal/store/sight.go",
			Old:  "func (r *Reader) Seen(ws sheaf.WorkspaceID) (*SeenIDs, error) {\n\tif r.sight.restriction == nil {",
			New:  "func (r *Reader) Seen(ws sheaf.WorkspaceID) (*SeenIDs, error) {\n\tif r.sight.restriction == nil || ws != \"\" {",
		}},
		pkg: "./internal/httpapi", run: "TestRestriction_Inside",
	},
	{
		name: "store: a total counts what is outside of a restriction",
		Fault: plant.Fault{{
			File: "internal/store/document.go",
			Old:  "case r.sight.restriction != nil:\n\t\tin, args",
			New:  "case r.sight.restriction != nil && ws == \"\":\n\t\tin, args",
		}},
		pkg: "./internal/httpapi", run: "TestRestriction_Inside",
	},
	{
		name: "store: an event outside of a restriction is read by its id",
		Fault: plant.Fault{{
			File: "internal/store/event.go",
			Old:  "if to := r.sight.restriction; to != nil {\n\t\treturn mustFind",
			New:  "if to := r.sight.restriction; to != nil && ws == \"\" {\n\t\treturn mustFind",
		}},
		pkg: "./internal/httpapi", run: "TestRestriction_Events",
	},
	{
		name: "app: a batch changes what is outside of a restriction",
		Fault: plant.Fault{{
			File: "internal/app/batch.go",
			Old:  "return writeWhole(ctx, a, c, b.needs, fault, b.run)",
			New:  "c.Key.RestrictedTo = nil\n\treturn writeWhole(ctx, a, c, b.needs, fault, b.run)",
		}},
		pkg: "./internal/httpapi", run: "TestRestriction_OutsideDoesNotExist",
	},
	{
		name: "store: a list of media has those outside of a restriction",
		Fault: plant.Fault{{
			File: "internal/store/medium.go",
			Old:  "r.seeByDocument(&l.where, ws, \"media.document_id\")",
			New:  "_ = r.seeByDocument",
		}},
		pkg: "./internal/httpapi", run: "TestRestriction_Inside",
	},
	{
		name: "store: a list of shares has those outside of a restriction",
		Fault: plant.Fault{{
			File: "internal/store/share.go",
			Old:  "r.seeShares(&l.where, ws)",
			New:  "_ = r.seeShares",
		}},
		pkg: "./internal/httpapi", run: "TestRestriction_Inside",
	},
	{
		name: "store: a key of a deleted workspace still reads",
		Fault: plant.Fault{{
			File: "internal/store/key.go",
			Old:  "WHERE k.revoked_at IS NULL AND w.deleted_at = 0 AND `\n\tselectCredential",
			New:  "WHERE k.revoked_at IS NULL AND `\n\tselectCredential",
		}},
		pkg: "./internal/store/doctor", run: "TestLeaving_NothingIsLeft",
	},
	{
		name: "store: a share of a deleted workspace is still shown",
		Fault: plant.Fault{{
			File: "internal/store/share.go",
			Old:  "WHERE s.token = $1 AND w.deleted_at = 0`",
			New:  "WHERE s.token = $1`",
		}},
		pkg: "./internal/store/doctor", run: "TestLeaving_NothingIsLeft",
	},
	{
		name: "store: a removal forgets a table",
		Fault: plant.Fault{{
			File: "internal/store/leaving.go",
			Old:  `{name: "restricted_events", key: "restriction, number"}, `,
			New:  "",
		}},
		pkg: "./internal/store/doctor", run: "TestLeaving_NothingIsLeft",
	},
	{
		name: "engine: deleted rows stay in the free pages of a SQLite file",
		Fault: plant.Fault{{
			File: "internal/store/engine/sqlite.go",
			Old:  `"PRAGMA secure_delete = ON",`,
			New:  `"PRAGMA secure_delete = OFF",`,
		}},
		pkg: "./internal/store/doctor", run: "TestLeaving_NothingIsLeft",
	},
	{
		name: "app: a removal leaves the pieces of unfinished uploads",
		Fault: plant.Fault{{
			File: "internal/app/leaving.go",
			Old:  `if !strings.HasPrefix(name, string(id)+"_") {`,
			New:  `if !strings.HasPrefix(name, string(id)+"-") {`,
		}},
		pkg: "./internal/store/doctor", run: "TestLeaving_NothingIsLeft",
	},
	{
		name: "checksum: copies of deleted rows stay in the gaps of pages",
		Fault: plant.Fault{{
			File: "internal/store/engine/checksum/checksum.go",
			Old:  `if f.plain && f.isSmall(tls, file) {`,
			New:  `if !f.plain && f.isSmall(tls, file) {`,
		}},
		pkg: "./internal/store/engine/checksum", run: "TestGap_HasNothingOfDeletedRows",
	},
	{
		name: "app: a restricted person gets the e-mails of members",
		Fault: plant.Fault{{
			File: "internal/app/member.go",
			Old:  "c.Within != nil && other.User.ID != c.User",
			New:  "c.Within != nil && other.User.ID == \"\"",
		}},
		pkg: "./internal/console", run: "TestRestricted_Inside",
	},
	{
		name: "oidc: an ID token for another client is accepted",
		Fault: plant.Fault{{
			File: "internal/oidc/oidc.go",
			Old:  "case !slices.Contains(token.Audience, p.config.ClientID):",
			New:  "case len(token.Audience) == 0:",
		}},
		pkg: "./internal/oidc", run: "TestExchange_RefusesTokens",
	},
	{
		name: "app: a sign-in at the provider works twice",
		Fault: plant.Fault{{
			File: "internal/app/oidc.go",
			Old:  "if err == nil && !first {",
			New:  "if err == nil && !first && s.Next == \"-\" {",
		}},
		pkg: "./internal/app", run: "TestOIDC_WorksOnce",
	},
	{
		name: "app: an e-mail that is not verified counts",
		Fault: plant.Fault{{
			File: "internal/app/oidc.go",
			Old:  "|| who.Verified != nil && !*who.Verified:",
			New:  "|| who.Verified != nil && !*who.Verified && !a.provider.TrustEmail:",
		}},
		pkg: "./internal/app", run: "TestOIDC_TheEmailMustBeVerified",
	},
	{
		name: "app: another subject takes a bound account over",
		Fault: plant.Fault{{
			File: "internal/app/oidc.go",
			Old:  "if err == nil && other {",
			New:  "if err == nil && other && e.Invitation != \"\" {",
		}},
		pkg: "./internal/app", run: "TestOIDC_TheSubjectDecides",
	},
	{
		name: "app: a code of the second factor is accepted twice",
		Fault: plant.Fault{{
			File: "internal/app/factor.go",
			Old:  "	case step <= f.LastStep:",
			New:  "	case step < 0:",
		}},
		pkg: "./internal/app", run: "TestFactor_ACodeWorksOnce",
	},
	{
		name: "app: wrong codes of the second factor are not stored",
		Fault: plant.Fault{{
			File: "internal/app/factor.go",
			Old:  "f.Failures, f.FailedAt = f.Failures+1, now",
			New:  "f.Failures, f.FailedAt = 1, now",
		}},
		pkg: "./internal/app", run: "TestFactor_FiveWrongCodesCloseIt",
	},
	{
		name: "app: a pending sign-in outlives a new password of the second factor's owner",
		Fault: plant.Fault{{
			File: "internal/store/session.go",
			Old:  "`DELETE FROM pending_sign_ins WHERE user_id = $1`",
			New:  "`DELETE FROM pending_sign_ins WHERE user_id = $1 AND expires_at < 0`",
		}},
		pkg: "./internal/app", run: "TestFactor_PendingSignInsEnd",
	},
	{
		name: "app: the link of an invitation joins without the second factor",
		Fault: plant.Fault{{
			File: "internal/app/invitation.go",
			Old:  "		if found {\n			s, err = a.wait(",
			New:  "		if found && len(in.Token) == 0 {\n			s, err = a.wait(",
		}},
		pkg: "./internal/app", run: "TestFactor_Invitation",
	},
	{
		name: "store: more than three resets of a password are mailed in an hour",
		Fault: plant.Fault{{
			File: "internal/store/reset.go",
			Old:  "taken && now.Sub(at) < ResetsKept",
			New:  "taken && now.Sub(at) < 0",
		}},
		pkg: "./internal/app", run: "TestReset_SixtyFourAtOnce",
	},
	{
		name: "store: asking for a reset does less for an e-mail that no user has",
		Fault: plant.Fault{{
			File: "internal/store/reset.go",
			Old:  "	asked := map[int64]time.Time{}\n",
			New:  "	asked := map[int64]time.Time{}\n	if u == nil {\n		return nil\n	}\n",
		}},
		pkg: "./internal/store", run: "TestAskReset_DoesTheSameForEveryEmail",
	},
	{
		name: "app: a new password does not end the links of resets",
		Fault: plant.Fault{{
			File: "internal/app/reset.go",
			Old:  "	return tx.EndResets(u.ID)\n",
			New:  "	return nil\n",
		}},
		pkg: "./internal/mail", run: "TestPeople_Reset$",
	},
	{
		name: "app: a browser that is remembered causes a mail",
		Fault: plant.Fault{{
			File: "internal/app/letter.go",
			Old:  "known || b.Expected",
			New:  "!known && b.Expected",
		}},
		pkg: "./internal/mail", run: "TestPeople_NewBrowser",
	},
	{
		name: "mail: the log has the token of a link that the mail server repeats",
		Fault: plant.Fault{{
			File: "internal/mail/people.go",
			Old:  "return m.dropLetter(ctx, l, without(err, mail.secret))",
			New:  "return m.dropLetter(ctx, l, err)",
		}},
		pkg: "./internal/mail", run: "TestPeople_LogHasNoSecret",
	},
	{
		name: "mail: names add lines to a mail",
		Fault: plant.Fault{{
			File: "internal/mail/people.go",
			Old:  "r < ' ' || r == 0x7f || r == 0x2028",
			New:  "r == 0x2028",
		}},
		pkg: "./internal/mail", run: "TestPeople_HostileNames",
	},
	{
		name: "app: a session does not hand the restriction of a person down",
		Fault: plant.Fault{{
			File: "internal/app/session.go",
			Old:  "Within: m.RestrictedTo, Plan",
			New:  "Plan",
		}},
		pkg: "./internal/console", run: "TestRestricted_OutsideDoesNotExist",
	},
	{
		name: "app: a change is judged by the previous restriction",
		Fault: plant.Fault{{
			File: "internal/app/authorize.go",
			Old:  "case !to.Is(c.Within):",
			New:  "case !to.Is(c.Within) && c.Role == \"\":",
		}},
		pkg: "./internal/app", run: "TestRestriction_OfPeopleInsideTheTransaction",
	},
	{
		name: "store: the restriction of a member ends",
		Fault: plant.Fault{{
			File: "internal/store/restriction.go",
			Old:  "m.restriction <> 0 AND m.restriction",
			New:  "m.restriction < 0 AND m.restriction",
		}},
		pkg: "./internal/app", run: "TestRestriction_OfPeopleLives",
	},
	{
		name: "console: the stream of a restricted person tells of changes outside",
		Fault: plant.Fault{{
			File: "internal/console/follow.go",
			Old:  "now[i] != f.announced[i] && f.v.seesAll()",
			New:  "now[i] != f.announced[i]",
		}},
		pkg: "./internal/console", run: "TestRestricted_Stream",
	},
	{
		name: "console: the choices of a form begin at the top of the workspace",
		Fault: plant.Fault{{
			File: "internal/console/pick.go",
			Old:  "if !known[in] {",
			New:  "if !known[in] && false {",
		}},
		pkg: "./internal/console", run: "TestRestricted_Pages",
	},
	{
		name: "app: an invitation loses its restriction when the person joins",
		Fault: plant.Fault{{
			File: "internal/app/invitation.go",
			Old:  `, RestrictedTo: i.RestrictedTo}`,
			New:  `, RestrictedTo: nil}`,
		}},
		pkg: "./internal/app", run: "TestRestriction_OfPeople$",
	},
	{
		name: "app: restricting a person leaves their keys",
		Fault: plant.Fault{{
			File: "internal/app/member.go",
			Old:  "if to == nil {\n\t\t\treturn w.endRestrictions()",
			New:  "if to == nil || role == sheaf.Editor {\n\t\t\treturn w.endRestrictions()",
		}},
		pkg: "./internal/app", run: "TestRestriction_OfPeopleEndsTheirKeys",
	},
	{
		name: "app: a restricted caller is told that a folder above is shared",
		Fault: plant.Fault{{
			File: "internal/store/share.go",
			Old:  "if r.sight.restriction != nil {\n\t\treturn r.isVisiblyShared",
			New:  "if r.sight.restriction != nil && ws == \"\" {\n\t\treturn r.isVisiblyShared",
		}},
		pkg: "./internal/httpapi", run: "TestRestriction_AShareAboveIsNotTold",
	},
	{
		name: "app: a removal leaves the search index",
		Fault: plant.Fault{{
			File: "internal/app/leaving.go",
			Old:  `if o.app.index != nil {`,
			New:  `if o.app.index != nil && id == "" {`,
		}},
		pkg: "./internal/store/doctor", run: "TestLeaving_NothingIsLeft",
	},
	{
		name: "store: an invitation to a deleted workspace is still accepted",
		Fault: plant.Fault{{
			File: "internal/store/invitation.go",
			Old:  "WHERE w.ws = invitations.ws AND w.deleted_at = 0)`",
			New:  "WHERE w.ws = invitations.ws)`",
		}},
		pkg: "./internal/store/doctor", run: "TestLeaving_NothingIsLeft",
	},
	{
		name: "app: an erased e-mail stays in an invitation to another workspace",
		Fault: plant.Fault{{
			File: "internal/app/operator_user.go",
			Old:  `n, err := tx.EraseInvitations(id, email)`,
			New:  `n, err := []sheaf.Invitation{{}}, error(nil)`,
		}},
		pkg: "./internal/app", run: "TestEraseUser_OnlyInvited",
	},
	{
		name: "app: the old secret of a key rotates it again",
		Fault: plant.Fault{{
			File: "internal/app/key.go",
			Old:  `if c.Key.ID == k.ID && c.Key.Rotation != k.Rotation {`,
			New:  `if c.Key.ID == k.ID && c.Key.Rotation > k.Rotation {`,
		}},
		pkg: "./internal/httpapi", run: "TestKey_AnOldSecretDoesNotRotate",
	},
	{
		name: "sheaf: a restricted person has webhooks, as a restricted key may",
		Fault: plant.Fault{{
			File: "internal/sheaf/scope.go",
			Old:  `s.Restrictable() && s != WebhooksRead && s != WebhooksWrite`,
			New:  `s.Restrictable()`,
		}},
		pkg: "./internal/console", run: "TestRestricted_Inside",
	},
}
