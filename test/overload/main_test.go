// Package overload asks the program, as it is built for users, for more than it can serve, stops it in
// the middle of its work, and lets it work for long. Memory stays bounded, refusals are answered at
// once, no request is lost by a stop, and nothing grows.
package overload

import (
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/proctest"
)

// asProgram makes the test binary one of the servers of the controls.
const asProgram = "OVERLOAD_TEST_AS"

func TestMain(m *testing.M) {
	switch os.Getenv(asProgram) {
	case "greedy":
		greedy()
	case "leaky":
		leaky()
	default:
		goleak.VerifyTestMain(sheaftest.Patient(m), goleak.Cleanup(proctest.Exit))
	}
}

// newClient returns a client with room for many connections, which end with the test.
func newClient(t testing.TB) *http.Client {
	tr := &http.Transport{MaxIdleConnsPerHost: 4096, ExpectContinueTimeout: time.Minute, DialContext: (&net.Dialer{Timeout: 5 * time.Minute}).DialContext}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 5 * time.Minute}
}
