package app

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// importing checks the records of an import one after the other, against what the workspace has and
// against the records before them. It reads the store and writes nothing, so an import and its
// rehearsal decide alike. Import saves what was accepted in the same transaction. Rehearsal
// discards it, and keeps what it learned for the next batch.
type importing struct {
	ws    sheaf.Workspace // with the counters it will have after the import
	now   time.Time
	owner sheaf.UserID // owner of the workspace; empty in a rehearsal

	// The records that exist in the workspace, as far as the batch names them, and those accepted
	// so far, by identifier. A record whose identifier is in one of them is skipped.
	folders       map[sheaf.FolderID]sheaf.Folder
	brandings     map[sheaf.BrandingID]bool
	projects      map[sheaf.ProjectID]bool
	documents     map[sheaf.DocumentID]bool
	media         map[sheaf.MediumID]bool
	shares        map[sheaf.ShareID]bool
	subscriptions map[sheaf.SubscriptionID]bool
	proposals     map[sheaf.ProposalID]bool
	proposal      *acceptedProposal // whose texts and comments follow; nil: it was skipped
	current       importedDocument
	release       *importedRelease                    // whose documents and media follow; nil: none yet
	releases      map[sheaf.ReleaseID]sheaf.ProjectID // complete ones, as far as the file has named them
	releaseTexts  map[string]int64                    // the lengths of texts of releases, by hash
	releaseNames  map[sheaf.ProjectID]map[string]bool
	places        map[sheaf.DocumentID]importedPlace // of documents that are parents or were accepted

	// The holders of the external ids that the batch names, stored or accepted.
	folderOf   map[string]sheaf.FolderID
	projectOf  map[string]sheaf.ProjectID
	documentOf map[string]sheaf.DocumentID

	// What this batch adds. saveImport saves it.
	out          Imported
	created      []creation
	newFolders   []*sheaf.Folder
	newBrandings []*sheaf.Branding
	newProjects  []*sheaf.Project
	newDocuments []store.NewDocument
	newVersions  []store.NewVersion
	newTexts     []acceptedText
	newProposals []*acceptedProposal
	newReleases  []sheaf.Release
	newReleased  []store.NewReleased
	newKept      []keptMedium
	ended        []endedRelease
	touched      map[sheaf.ReleaseID]bool // releases whose import goes on
	newShares    []*sheaf.Share           // their addresses are created when they are saved

	newReleaseTexts []acceptedReleaseText
}

// creation is an event to emit.
type creation struct {
	event  sheaf.EventType
	id     string
	record sheaf.Record
}

func newImporting(ws sheaf.Workspace, now time.Time) *importing {
	return &importing{ws: ws, now: now, folders: map[sheaf.FolderID]sheaf.Folder{},
		brandings: map[sheaf.BrandingID]bool{}, projects: map[sheaf.ProjectID]bool{},
		documents: map[sheaf.DocumentID]bool{}, media: map[sheaf.MediumID]bool{}, shares: map[sheaf.ShareID]bool{}, subscriptions: map[sheaf.SubscriptionID]bool{}, proposals: map[sheaf.ProposalID]bool{},
		releases: map[sheaf.ReleaseID]sheaf.ProjectID{}, releaseTexts: map[string]int64{}, releaseNames: map[sheaf.ProjectID]map[string]bool{}, touched: map[sheaf.ReleaseID]bool{},
		folderOf: map[string]sheaf.FolderID{}, projectOf: map[string]sheaf.ProjectID{},
		documentOf: map[string]sheaf.DocumentID{}, places: map[sheaf.DocumentID]importedPlace{}}
}

// nextBatch discards what the last batch was to save, and keeps which records were accepted.
func (im *importing) nextBatch() {
	im.out, im.created, im.newFolders, im.newBrandings, im.newProjects = Imported{}, nil, nil, nil, nil
	im.newDocuments, im.newVersions, im.newTexts, im.newShares, im.newProposals = nil, nil, nil, nil, nil
	im.newReleases, im.newReleased, im.newKept, im.ended, im.newReleaseTexts = nil, nil, nil, nil, nil
	clear(im.touched)
}

// judge accepts the records in order, or returns a *RecordError for the first that is refused. A
// record whose identifier exists in the workspace is skipped.
func (im *importing) judge(r *store.Reader, batch []ImportRecord) error {
	if err := im.findStored(r, batch); err != nil {
		return err
	}
	for i, record := range batch {
		var err error
		switch {
		case record.Folder != nil:
			err = im.acceptFolder(record)
		case record.Branding != nil:
			err = im.acceptBranding(r, record)
		case record.Project != nil:
			err = im.acceptProject(record)
		case record.Document != nil:
			err = im.acceptDocument(r, record)
		case record.Version != nil:
			err = im.acceptVersion(r, record)
		case record.Proposal != nil:
			err = im.acceptProposal(record)
		case record.OfProposal():
			err = im.acceptPart(record)
		case record.Medium != nil:
			err = im.acceptMedium(r, record)
		case record.Release != nil:
			err = im.acceptRelease(r, record)
		case record.Released != nil:
			err = im.acceptReleased(r, record)
		case record.ReleasedMedium != nil:
			err = im.acceptReleasedMedium(r, i, record)
		case record.ReleaseEnd:
			err = im.acceptReleaseEnd(r, i, record)
		case record.Share != nil:
			err = im.acceptShare(r, record)
		default:
			err = im.acceptSubscription(r, record)
		}
		if err != nil {
			return &RecordError{i, err}
		}
	}
	for _, p := range im.newProposals {
		if len(p.missing) > 0 {
			return fmt.Errorf("proposal %s lacks %d of its texts", p.ID, len(p.missing)) // the reader of the file has checked this
		}
	}
	return nil
}

// findStored looks up which of the records that the batch names exist in the workspace.
func (im *importing) findStored(r *store.Reader, batch []ImportRecord) error {
	var folders []sheaf.FolderID
	var brandings []sheaf.BrandingID
	var projects []sheaf.ProjectID
	var documents []sheaf.DocumentID
	var shares []sheaf.ShareID
	var media []sheaf.MediumID
	var proposals []sheaf.ProposalID
	var texts []string // hashes of texts of releases
	for _, b := range batch {
		switch {
		case b.Folder != nil:
			folders = append(folders, sheaf.FolderID(b.ID))
			folders = appendID(folders, b.Folder.ParentID)
		case b.Branding != nil:
			brandings = append(brandings, sheaf.BrandingID(b.ID))
			folders = appendID(folders, b.Branding.FolderID)
		case b.Project != nil:
			projects = append(projects, sheaf.ProjectID(b.ID))
			folders = appendID(folders, b.Project.FolderID)
		case b.Document != nil:
			documents = append(documents, sheaf.DocumentID(b.ID))
			documents = appendID(documents, b.Document.ParentID)
			projects = appendID(projects, b.Document.ProjectID)
		case b.Proposal != nil:
			proposals = append(proposals, sheaf.ProposalID(b.ID))
		case b.Medium != nil:
			media = append(media, sheaf.MediumID(b.ID))
			documents = appendID(documents, b.Medium.DocumentID)
		case b.Release != nil:
			projects = append(projects, b.Release.ProjectID)
		case b.Released != nil && b.Released.SHA256 != "":
			texts = append(texts, strings.ToLower(b.Released.SHA256))
		case b.Share != nil:
			brandings = appendID(brandings, b.Share.BrandingID)
			shares = append(shares, sheaf.ShareID(b.ID))
			projects = append(projects, sheaf.ProjectID(b.Share.ResourceID.Value))
			documents = append(documents, sheaf.DocumentID(b.Share.ResourceID.Value))
			folders = append(folders, sheaf.FolderID(b.Share.ResourceID.Value))
		}
	}
	if err := learn(im.folders, im.ws.ID, folders, r.FoldersByID); err != nil {
		return err
	}
	if err := learn(im.brandings, im.ws.ID, brandings, r.KnownBrandings); err != nil {
		return err
	}
	if err := learn(im.projects, im.ws.ID, projects, r.KnownProjects); err != nil {
		return err
	}
	if err := im.findHolders(r, batch); err != nil {
		return err
	}
	if err := learn(im.media, im.ws.ID, media, r.KnownMedia); err != nil {
		return err
	}
	if err := learn(im.proposals, im.ws.ID, proposals, r.KnownProposals); err != nil {
		return err
	}
	if err := learn(im.releaseTexts, im.ws.ID, texts, r.KnownReleaseTexts); err != nil {
		return err
	}
	if err := learn(im.shares, im.ws.ID, shares, r.KnownShares); err != nil {
		return err
	}
	return learn(im.documents, im.ws.ID, documents, r.KnownDocuments)
}

// findHolders looks up the holders of the external ids that the batch names.
func (im *importing) findHolders(r *store.Reader, batch []ImportRecord) error {
	var folders, projects, documents []string
	for _, b := range batch {
		switch {
		case b.Folder != nil:
			folders = appendID(folders, b.Folder.ExternalID)
		case b.Project != nil:
			projects = appendID(projects, b.Project.ExternalID)
		case b.Document != nil:
			documents = appendID(documents, b.Document.ExternalID)
		}
	}
	if err := learn(im.folderOf, im.ws.ID, folders, r.FoldersWith); err != nil {
		return err
	}
	if err := learn(im.projectOf, im.ws.ID, projects, r.ProjectsWith); err != nil {
		return err
	}
	return learn(im.documentOf, im.ws.ID, documents, r.DocumentsWith)
}

// hold records that `id` has the external id, or returns CONFLICT if another record has it.
func hold[ID ~string](holders map[string]ID, noun string, externalID *string, id ID) error {
	if externalID == nil {
		return nil
	}
	if holder, held := holders[*externalID]; held && holder != id {
		return externalIDTaken(noun, *externalID, string(holder), nil)
	}
	holders[*externalID] = id
	return nil
}

func appendID[T ~string](ids []T, reference sheaf.Opt[T]) []T {
	if reference.Given() {
		ids = append(ids, reference.Value)
	}
	return ids
}

// learn adds to `known` what `find` returns for these identifiers.
func learn[T ~string, V any](known map[T]V, ws sheaf.WorkspaceID, ids []T, find func(sheaf.WorkspaceID, []T) (map[T]V, error)) error {
	found, err := find(ws, ids)
	for id, v := range found {
		known[id] = v
	}
	return err
}

// notEarlier returns the refusal of a reference that leads neither to a record of the workspace nor
// to an earlier record.
func notEarlier(field, noun, id string) error {
	return sheaf.InvalidField(field, "%s: there is no %s %s, neither in this workspace nor on an earlier line: put its line before this one, or correct the id", field, noun, id)
}

func (im *importing) acceptFolder(r ImportRecord) error {
	id := sheaf.FolderID(r.ID)
	if _, known := im.folders[id]; known {
		im.out.Skipped.Folders++
		return nil
	}
	in := *r.Folder
	f := in.Apply(sheaf.Folder{ID: id, EntityType: sheaf.EntityType(in.EntityType.Value), ParentID: in.ParentID.Pointer(),
		Color: sheaf.DefaultFolderColor, Depth: 1, Revision: 1})
	if f.ParentID != nil {
		parent, known := im.folders[*f.ParentID]
		if !known {
			return notEarlier("parent_id", "folder", string(*f.ParentID))
		}
		var err error
		if f.Depth, err = depthIn(parent, f.EntityType); err != nil {
			return err
		}
	}
	if err := firstError(hold(im.folderOf, "folder", f.ExternalID, id), im.ws.Plan.AllowFolders(f.EntityType)); err != nil {
		return err
	}
	f.Number, f.CreatedAt, f.UpdatedAt = im.stamp(r)
	im.folders[id] = f
	im.out.Added.Folders++
	im.newFolders = append(im.newFolders, &f)
	im.created = append(im.created, creation{sheaf.FolderCreated, r.ID, &f})
	return nil
}

// stamp counts a new record, and returns its number and times. A record keeps its own times, even
// if they are before the newest time that the workspace has given. Times given from now on are not
// before them.
func (im *importing) stamp(r ImportRecord) (number int64, created, updated time.Time) {
	im.ws.LastNumber++
	created, updated = r.times(im.now)
	if updated.After(im.ws.NewestAt) {
		im.ws.NewestAt = updated
	}
	im.ws.NewestShared = mostShared
	return im.ws.LastNumber, created, updated
}

// acceptBranding accepts a branding. If the workspace has no such picture, the branding is accepted
// without its logo: that is no reason to refuse the whole file.
func (im *importing) acceptBranding(reader *store.Reader, r ImportRecord) error {
	id := sheaf.BrandingID(r.ID)
	if im.brandings[id] {
		im.out.Skipped.Brandings++
		return nil
	}
	b := r.Branding.Apply(sheaf.NewBranding())
	b.ID, b.Revision = id, 1
	if b.FolderID != nil {
		folder, known := im.folders[*b.FolderID]
		if !known {
			return notEarlier("folder_id", "folder", string(*b.FolderID))
		}
		if err := holdsBrandings(folder); err != nil {
			return err
		}
	}
	if b.LogoMediaID != nil {
		logo, err := reader.Medium(im.ws.ID, *b.LogoMediaID)
		switch {
		case sheaf.KindOf(err) == sheaf.NotFound || err == nil && sheaf.CheckLogo(logo) != nil:
			b.LogoMediaID = nil
		case err != nil:
			return err
		}
	}
	if err := im.ws.Plan.AllowBrandings(); err != nil {
		return err
	}
	b.Number, b.CreatedAt, b.UpdatedAt = im.stamp(r)
	im.brandings[id] = true
	im.ws.Brandings++
	if r.DefaultBranding && im.ws.DefaultBranding == "" {
		im.ws.DefaultBranding = id
	}
	im.out.Added.Brandings++
	im.newBrandings = append(im.newBrandings, &b)
	return nil
}

func (im *importing) acceptProject(r ImportRecord) error {
	id := sheaf.ProjectID(r.ID)
	if im.projects[id] {
		im.out.Skipped.Projects++
		return nil
	}
	p := r.Project.Apply(sheaf.Project{ID: id, Visibility: sheaf.Private, Revision: 1})
	if p.FolderID != nil {
		folder, known := im.folders[*p.FolderID]
		if !known {
			return notEarlier("folder_id", "folder", string(*p.FolderID))
		}
		if err := holdsProjects(folder); err != nil {
			return err
		}
	}
	if err := hold(im.projectOf, "project", p.ExternalID, id); err != nil {
		return err
	}
	p.Number, p.CreatedAt, p.UpdatedAt = im.stamp(r)
	im.projects[id] = true
	im.ws.Projects++
	if p.Approvals > 0 {
		im.ws.Reviewed++
	}
	im.out.Added.Projects++
	im.newProjects = append(im.newProjects, &p)
	im.created = append(im.created, creation{sheaf.ProjectCreated, r.ID, &p})
	return nil
}

func (im *importing) acceptDocument(reader *store.Reader, r ImportRecord) error {
	id := sheaf.DocumentID(r.ID)
	if im.documents[id] {
		im.out.Skipped.Documents++
		return nil
	}
	d := r.Document.Apply(sheaf.Document{ID: id, Revision: 1, ContentBytes: r.text.Bytes(), ContentSHA256: r.text.SHA256()})
	if d.ProjectID != nil && !im.projects[*d.ProjectID] {
		return notEarlier("project_id", "project", string(*d.ProjectID))
	}
	level, err := im.placeDocument(reader, &d)
	if err != nil {
		return err
	}
	if err := hold(im.documentOf, "document", d.ExternalID, id); err != nil {
		return err
	}
	if order := r.Document.SortOrder; order.Set {
		im.reachOrder(order.Value)
	}
	d.Number, d.CreatedAt, d.UpdatedAt = im.stamp(r)
	if !r.Document.SortOrder.Set {
		d.SortOrder = d.DefaultOrder()
	}
	present := r.present(im.owner, d.CreatedAt, d.UpdatedAt)
	d.Version = present.Number
	im.current = importedDocument{id, store.KeptVersions{Present: d.Version, Oldest: d.Version}, map[string]bool{}}
	if err := im.acceptText(reader, r.text); err != nil {
		return err
	}
	im.documents[id], im.places[id] = true, importedPlace{d.ProjectID, level}
	im.ws.Documents++
	im.out.Added.Documents++
	im.newDocuments = append(im.newDocuments, store.NewDocument{Document: &d, Present: present})
	im.created = append(im.created, creation{sheaf.DocumentCreated, r.ID, &d})
	return nil
}

// importedPlace is the place of a document that can be a parent.
type importedPlace struct {
	project *sheaf.ProjectID
	level   int // 1 at the top level; 0: the document is deleted
}

// placeDocument returns the level of d, whose parent must exist. If the parent is deleted here, is
// in another project or has no level left below it, d goes to the top level, as a restored document
// does.
func (im *importing) placeDocument(r *store.Reader, d *sheaf.Document) (level int, err error) {
	if d.ParentID == nil {
		return 1, nil
	}
	parent := *d.ParentID
	if !im.documents[parent] {
		return 0, notEarlier("parent_id", "document", string(parent))
	}
	in, known := im.places[parent]
	if !known {
		above, err := r.Ancestors(im.ws.ID, parent)
		if err != nil {
			return 0, err
		}
		if len(above) > 0 && above[0].Deleted == nil {
			in = importedPlace{above[0].ProjectID, len(above)}
		}
		im.places[parent] = in
	}
	if in.level == 0 || in.level >= sheaf.MaxLevels || !sheaf.SameID(in.project, d.ProjectID) {
		d.ParentID = nil
		return 1, nil
	}
	return in.level + 1, nil
}

// reachOrder raises the number of the record created last, so that the next document has no smaller
// default order than `order`. Otherwise documents that are created after the import would come
// before imported ones, which have the orders of a workspace with more records. An order far beyond
// what numbers reach was chosen by a client, and stays ahead.
func (im *importing) reachOrder(order int64) {
	if number := order / sheaf.OrderStep; number <= maxReached {
		im.ws.LastNumber = max(im.ws.LastNumber, number-1)
	}
}

// maxReached is the largest number that reachOrder raises to.
const maxReached = 1 << 32

// acceptSubscription accepts a subscription as inactive. The operator activates it after its
// endpoint has the new secret, and so decides what it is sent.
func (im *importing) acceptSubscription(r *store.Reader, record ImportRecord) error {
	from := sheaf.SubscriptionID(record.ID)
	id, here, err := im.freeSubscription(r, from)
	if err != nil {
		return err
	}
	if here {
		im.out.Skipped.Subscriptions++
		return nil
	}
	if err := oneMoreSubscription(im.ws); err != nil {
		return err
	}
	in, reason := *record.Subscription, sheaf.ByHand
	events, _ := sheaf.ParseEventTypes(in.Events.Value)
	s := sheaf.Subscription{ID: id, Name: in.Name.Value, URL: in.URL.Value, Events: events, DeactivatedAt: &im.now,
		DeactivationReason: &reason, HeaderNames: []string{}, Revision: 1, SinceEvent: im.ws.LastEvent, EventsSince: im.ws.LastEvent,
		Filter: filterOf(in.Filter), FilterSince: im.ws.LastEvent} // records that it names may be missing here; then they match nothing
	s.Number, s.CreatedAt, s.UpdatedAt = im.stamp(record)
	im.subscriptions[id] = true
	im.ws.Subscriptions++
	im.out.Added.Subscriptions++
	im.out.Subscriptions = append(im.out.Subscriptions, ImportedSubscription{sheaf.NewSubscription{Subscription: s}, from})
	return nil
}

// freeSubscription returns the identifier for a subscription: its own or, if another workspace has
// that, one derived from it and this workspace, always the same. here reports that this workspace
// has the subscription already.
func (im *importing) freeSubscription(r *store.Reader, from sheaf.SubscriptionID) (id sheaf.SubscriptionID, here bool, err error) {
	for _, id := range []sheaf.SubscriptionID{from, otherID(im.ws.ID, from)} {
		by, taken, err := r.TakenSubscription(id)
		switch {
		case err != nil:
			return "", false, err
		case by.Leaving && by.Workspace == im.ws.ID:
			return "", false, sheaf.Invalidf("this subscription was deleted a moment ago, and its deliveries are being removed: import it again in a minute")
		case im.subscriptions[id] || taken && by.Workspace == im.ws.ID:
			return id, true, nil
		case !taken:
			return id, false, nil
		}
	}
	return "", false, sheaf.Invalidf("the id of this subscription is in use: give it another")
}

// otherID returns the identifier, a UUIDv8, of a subscription in this workspace if another
// workspace has its own one.
func otherID(ws sheaf.WorkspaceID, id sheaf.SubscriptionID) sheaf.SubscriptionID {
	sum := sha256.Sum256([]byte("sheaf import " + string(ws) + " " + string(id)))
	return sheaf.SubscriptionID(sheaf.UUIDv8([16]byte(sum[:16])))
}
