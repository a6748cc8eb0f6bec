package backup_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/backup"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/migrated"
	"sheaf.dev/internal/store"
)

// fill writes a row into every table that a client can fill.
func fill(t *testing.T, s *store.Store) {
	t.Helper()
	now := time.UnixMilli(1_790_000_000_000).UTC()
	id := func() string { return sheaf.NewUUID(now, rand.Reader) }
	odd := "“odd” \\ \n ☃ \U0001F600"
	w := sheaf.Workspace{ID: sheaf.WorkspaceID(id()), Name: odd, Plan: sheaf.Pro, CreatedAt: now, Version: 1}
	u, restricted := sheaf.User{ID: sheaf.UserID(id()), Name: odd, CreatedAt: now}, sheaf.User{ID: sheaf.UserID(id()), CreatedAt: now}
	to := &sheaf.Restriction{Number: 6, Projects: []sheaf.ProjectID{sheaf.ProjectID(id())}}
	top := sheaf.Folder{ID: sheaf.FolderID(id()), Name: "top", EntityType: sheaf.ProjectFolder, Color: "#000000", Depth: 1, Number: 1}
	low := sheaf.Folder{ID: sheaf.FolderID(id()), Name: "low", EntityType: sheaf.ProjectFolder, Color: "#000000", Depth: 2, Number: 2, ParentID: &top.ID}
	p := sheaf.Project{ID: sheaf.ProjectID(id()), Name: odd, FolderID: &low.ID, Visibility: sheaf.Private, Number: 3, CreatedAt: now, UpdatedAt: now}
	d := sheaf.Document{ID: sheaf.DocumentID(id()), Title: odd, Description: &odd, ProjectID: &p.ID, Number: 4, CreatedAt: now, UpdatedAt: now}
	sub := sheaf.Subscription{ID: sheaf.SubscriptionID(id()), Name: "s", URL: "https://example.com", Events: sheaf.EventTypes, Active: true, CreatedAt: now, UpdatedAt: now, Number: 5}
	event := sheaf.Event{ID: sheaf.EventID("evt_" + id()), Type: sheaf.ProjectCreated, ResourceID: string(p.ID), At: now, Body: []byte(`{"n":1.0}`), Reported: true}
	proposal := sheaf.Proposal{ID: sheaf.ProposalID(id()), Title: odd, State: sheaf.ProposalOpen, User: u.ID, Number: 7, Revision: 1, CreatedAt: now, UpdatedAt: now,
		Changes: []sheaf.ProposedChange{{Op: sheaf.ProposeRestore, DocumentID: d.ID}}, People: []sheaf.Reviewer{{User: u.ID, Wrote: true}, {User: restricted.ID, AskedAt: &now, AskedBy: &u.ID}}}
	secret := sheaf.NewSecretKey(rand.Reader)
	hash, _ := sheaf.HashKey(secret)
	err := s.Write(context.Background(), func(tx *store.Tx) error {
		_, kept := tx.KeepSetting(store.KeyCheckSetting, "proof")
		w := w
		w.Subscriptions = 1
		invite := func(i sheaf.Invitation) error {
			_, err := tx.InsertInvitation(w.ID, i, []byte{7})
			return err
		}
		line := sheaf.AuditLine{ID: sheaf.AuditID(id()), At: now, Action: sheaf.ActionKeyCreated, Actor: sheaf.Actor{Operator: true}, Target: "k", After: []byte(`{"name":"k"}`)}
		return errors.Join(kept, tx.InsertWorkspace(w), tx.InsertUser(u), tx.InsertMember(sheaf.Membership{Workspace: w, User: u, Role: sheaf.Owner, Since: w.CreatedAt}),
			tx.InsertSetupLink([]byte{0, 1, 255}, now, now.Add(time.Hour)),
			invite(sheaf.Invitation{ID: sheaf.InvitationID(id()), Email: "a@example.com", Role: sheaf.Editor, InvitedBy: u.ID, CreatedAt: now, ExpiresAt: now, RestrictedTo: to}), tx.InsertAudit(w.ID, line),
			tx.InsertUser(restricted), tx.InsertMember(sheaf.Membership{Workspace: w, User: restricted, Role: sheaf.Editor, Since: w.CreatedAt, RestrictedTo: to}), tx.InsertRestriction(w.ID, *to),
			tx.InsertKey(w.ID, sheaf.Key{ID: sheaf.KeyID(id()), Name: "k", UserID: u.ID, Scopes: sheaf.AllScopes, CreatedAt: now}, hash),
			tx.InsertFolder(w.ID, top), tx.InsertFolder(w.ID, low), tx.InsertProject(w.ID, p), tx.InsertDocument(w.ID, d, sheaf.Author{User: u.ID}), addText(tx, w.ID, d),
			tx.InsertSubscription(w.ID, sub, store.Sealed{Secret: []byte{0, 200}}), tx.AppendEvents(&w, []sheaf.Event{event}),
			tx.InsertProposal(w.ID, proposal), tx.SetTargets(w.ID, 7, store.Targets{Documents: []sheaf.DocumentID{d.ID}, Asked: proposal.Asked()}), tx.NotifyAsked(w.ID, &proposal, restricted.ID, now),
			tx.Remember(&w, store.Once{Method: "POST", Path: "/", Key: "k", BodyHash: []byte{9}}, store.Answer{Status: 201, Body: []byte("{}")}, 0, now), tx.SaveWorkspace(w))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// addText gives the document a text, and a past version.
func addText(tx *store.Tx, ws sheaf.WorkspaceID, d sheaf.Document) error {
	text := store.NewText(strings.Repeat("# “odd” \\ \n ☃ \U0001F600\n", 50))
	after := d
	after.Version, after.ContentBytes, after.ContentSHA256 = d.Version+1, text.Bytes(), text.SHA256()
	_, err := tx.AddVersion(ws, d, after, sheaf.Author{}, text)
	return err
}

func write(t *testing.T, s *store.Store) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := backup.Write(context.Background(), s, &b, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// content returns the lines of a backup, without those about the file itself, in
// an order that does not depend on the engine.
func content(t *testing.T, b []byte) []string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(slices.Sorted(strings.Lines(string(text))), func(line string) bool {
		return strings.HasPrefix(line, `{"sha256":`)
	})
}

func TestBackup_FromOneEngineToTheOtherAndBack(t *testing.T) {
	t.Parallel()
	engines := map[string]func() *store.Store{
		"sqlite":   func() *store.Store { return migrated.Open(t, store.Options{Folder: migrated.Folder(t)}) },
		"postgres": func() *store.Store { return migrated.Open(t, store.Options{DatabaseURL: migrated.URL(t)}) },
	}
	first := engines["sqlite"]()
	fill(t, first)
	copied := write(t, first)
	want := content(t, copied)
	for _, name := range []string{"postgres", "sqlite"} {
		s := engines[name]()
		if _, err := backup.Restore(context.Background(), s, bytes.NewReader(copied)); err != nil {
			t.Fatalf("restore into %s: %v", name, err)
		}
		copied = write(t, s)
		if got := content(t, copied); !slices.Equal(got, want) {
			t.Errorf("%s holds\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestRestore_RefusesWithoutWriting(t *testing.T) {
	t.Parallel()
	full := migrated.Open(t, store.Options{Folder: migrated.Folder(t)})
	fill(t, full)
	good := write(t, full)
	if head, err := backup.Check(bytes.NewReader(good)); head.KeyCheck != "proof" || err != nil {
		t.Errorf("the head is %+v, %v", head, err)
	}
	empty := migrated.Open(t, store.Options{Folder: migrated.Folder(t)})
	for name, try := range map[string]func() error{
		"a store that is not empty": func() error {
			_, err := backup.Restore(context.Background(), full, bytes.NewReader(good))
			return err
		},
		"a torn file": func() error {
			_, err := backup.Restore(context.Background(), empty, bytes.NewReader(good[:len(good)-20]))
			return err
		},
		"something else": func() error {
			_, err := backup.Restore(context.Background(), empty, strings.NewReader("hello"))
			return err
		},
	} {
		if try() == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if got := content(t, write(t, empty)); len(got) != len(content(t, write(t, migrated.Open(t, store.Options{Folder: migrated.Folder(t)})))) {
		t.Errorf("a refused restore left rows: %q", got)
	}
}

// restored returns the content of an empty store after an attempt to restore b into it.
func restored(t *testing.T, empty *store.Store, b []byte) (lines []string, err error) {
	t.Helper()
	_, err = backup.Restore(context.Background(), empty, bytes.NewReader(b))
	return content(t, write(t, empty)), err
}

// Besides the check before the restore, the restore itself commits nothing before it has verified
// the whole file. So a disk that returns other bytes the second time does no harm either.
func TestRestore_KeepsNothingOfADamagedFile(t *testing.T) {
	t.Parallel()
	full := migrated.Open(t, store.Options{Folder: migrated.Folder(t)})
	fill(t, full)
	good := write(t, full)
	for name, o := range map[string]store.Options{"sqlite": {Folder: migrated.Folder(t)}, "postgres": {DatabaseURL: migrated.URL(t)}} {
		empty := migrated.Open(t, o)
		nothing := content(t, write(t, empty))
		for at := 0; at < 8*len(good); at += 8*len(good)/25 + 1 {
			damaged := bytes.Clone(good)
			damaged[at/8] ^= 1 << (at % 8)
			if kept, err := restored(t, empty, damaged); err == nil || !slices.Equal(kept, nothing) {
				t.Fatalf("%s: bit %d: %v, and %d lines are kept", name, at, err, len(kept)-len(nothing))
			}
		}
		for _, cut := range []int{1, 8, 50, 100, 101, 105, 109, len(good) / 2} {
			if kept, err := restored(t, empty, good[:len(good)-cut]); err == nil || !slices.Equal(kept, nothing) {
				t.Fatalf("%s: without the last %d bytes: %v, and %d lines are kept", name, cut, err, len(kept)-len(nothing))
			}
		}
		for what, more := range map[string][]byte{"a byte": {0}, "itself": good} {
			if kept, err := restored(t, empty, slices.Concat(good, more)); err == nil || !slices.Equal(kept, nothing) {
				t.Fatalf("%s: with %s behind it: %v, and %d lines are kept", name, what, err, len(kept)-len(nothing))
			}
		}
		if kept, err := restored(t, empty, good); err != nil || !slices.Equal(kept, content(t, good)) {
			t.Errorf("%s: the whole file: %v, and %d lines are kept", name, err, len(kept))
		}
	}
}
