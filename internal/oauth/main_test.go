package oauth_test

import (
	"testing"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/sheaftest/migrated"
)

func TestMain(m *testing.M) {
	apitest.Database = migrated.GuardedURL // a change of rights without its audit line fails
	goleak.VerifyTestMain(sheaftest.Patient(m))
}
