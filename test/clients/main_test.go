// Package clients holds the clients of the API to one table: what each must do, row by row, against a real server and with
// real obstacles between the two. A client that is no Go program has a runner beside it, which is handed one row as JSON on
// its standard input and answers with JSON on its standard output; what it did is then looked up in the server itself. The
// READMEs of the clients are run here too.
//
// Go and Python need nothing installed, and TypeScript a few small packages of npm. n8n needs a gigabyte or two: its column
// has the build tag clients, and is part of make clients.
package clients

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/proctest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(sheaftest.Patient(m), goleak.Cleanup(func(code int) {
		http.DefaultClient.CloseIdleConnections()
		if packed.folder != "" {
			_ = os.RemoveAll(filepath.Dir(packed.folder))
		}
		proctest.Exit(code)
	}))
}

// root is the root of the repository.
const root = "../.."
