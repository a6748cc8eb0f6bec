package store_test

import (
	"testing"

	"sheaf.dev/internal/sheaftest/migrated"
	"sheaf.dev/internal/sheaftest/pgbouncertest"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/storetest"
)

// D151: the store does through pgbouncer in transaction mode what it does without.
func TestStore_ThroughPgbouncer(t *testing.T) {
	pooler := pgbouncertest.Start(t, pgtest.URL(t), pgbouncertest.Transaction, 8)
	storetest.Run(t, func(t *testing.T) *store.Store {
		direct := pgtest.URL(t)
		return migrated.Open(t, store.Options{DatabaseURL: pooler.URL(direct), DirectURL: direct})
	})
}
