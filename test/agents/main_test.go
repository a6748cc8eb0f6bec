// Package agents counts what agents read and write for twenty tasks of people. With the tag clients it also lets the
// official client of the Model Context Protocol, its inspector and mcp-remote work with a server, and with sheaf mcp: that
// needs npm and two minutes, so it is part of make clients and not of ./scripts/test.
package agents

import (
	"testing"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/proctest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(sheaftest.Patient(m), goleak.Cleanup(proctest.Exit))
}
