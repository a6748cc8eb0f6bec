package store_test

import (
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest/migrated"
	"sheaf.dev/internal/store"
)

// notKept are the tables that are not backed up.
var notKept = []string{"sessions", "pending_sign_ins", "used_sign_ins", "password_resets", "letters", "mail_rates", "sign_in_failures", "minutes"}

// Every table must be backed up or be in notKept: a forgotten one would be lost.
func TestBackup_HasEveryTable(t *testing.T) {
	t.Parallel()
	names, err := store.Tables(migrated.Open(t, store.Options{Folder: migrated.Folder(t)}))
	if err != nil || len(names) < 10 {
		t.Fatalf("got %q, %v", names, err)
	}
	for _, name := range names {
		if !slices.Contains(store.BackupTables, name) && name != "schema_compat" && !strings.HasPrefix(name, "goose") && !slices.Contains(notKept, name) {
			t.Errorf("%s is in no backup", name)
		}
	}
}
