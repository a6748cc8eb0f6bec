package store_test

import (
	"testing"

	"sheaf.dev/internal/sheaftest/migrated"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/storetest"
)

func TestNodes_SQLite(t *testing.T) {
	storetest.RunNodes(t, func(t *testing.T) (a, b *store.Store) {
		a = openSQLite(t)
		return a, a
	})
}

func TestNodes_PostgreSQL(t *testing.T) {
	storetest.RunNodes(t, func(t *testing.T) (a, b *store.Store) {
		o := store.Options{DatabaseURL: migrated.URL(t)}
		return migrated.Open(t, o), migrated.Open(t, o)
	})
}
