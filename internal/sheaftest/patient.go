package sheaftest

import (
	"time"

	"go.uber.org/goleak"
)

// Patient wraps the tests for goleak.VerifyTestMain, and waits up to two minutes for goroutines
// that the tests left behind. goleak itself waits less than half a second, in which a busy machine
// may not have closed the last connections.
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }
func Patient(m goleak.TestingM) goleak.TestingM { return patient{m} }

type patient struct{ goleak.TestingM }

// Run runs the tests.
func (p patient) Run() int {
	code := p.TestingM.Run()
	if code == 0 {
		Within(2*time.Minute, func() bool { return goleak.Find() == nil })
	}
	return code
}
