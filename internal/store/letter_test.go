package store_test

import (
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/migrated"
	"sheaf.dev/internal/store"
)

// D192: asking for a reset runs the same statements for an e-mail of a user and for an unknown one. Its time does not
// tell which it is.
func TestAskReset_DoesTheSameForEveryEmail(t *testing.T) {
	for name, o := range map[string]store.Options{"sqlite": {Folder: migrated.Folder(t)}, "postgres": {DatabaseURL: migrated.URL(t)}} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var ran []string
			s, err := store.OpenRecording(o, func(sql string, rows [][]any) {
				mu.Lock()
				defer mu.Unlock()
				ran = append(ran, fmt.Sprint(sql, " with ", len(rows)))
			})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			now := time.UnixMilli(1_800_000_000_000)
			user := sheaf.UserID(sheaf.NewUUID(now, rand.Reader))
			if err := s.Write(t.Context(), func(tx *store.Tx) error {
				return tx.InsertUser(sheaf.User{ID: user, PasswordHash: "x", CreatedAt: now})
			}); err != nil {
				t.Fatal(err)
			}
			// Four asks: of the last one nothing is stored.
			ask := func(name string, u *sheaf.UserID) []string {
				mu.Lock()
				ran = nil
				mu.Unlock()
				for range 4 {
					if err := s.Write(t.Context(), func(tx *store.Tx) error { return tx.AskReset(name, u, []byte("sealed"), now) }); err != nil {
						t.Fatal(err)
					}
				}
				mu.Lock()
				defer mu.Unlock()
				return slices.Clone(ran)
			}
			known, unknown := ask("known", &user), ask("unknown", nil)
			if len(known) != 11 || !slices.Equal(known, unknown) {
				t.Errorf("for a user %q\nfor nobody %q", known, unknown)
			}
		})
	}
}
