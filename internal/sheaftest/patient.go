package sheaftest

import (
	"time"

	"go.uber.org/goleak"
)

// Patient returns tests for goleak.VerifyTestMain to run, which end when the goroutines that they
// leave behind have ended: goleak itself waits less than half a second, in which a busy machine may
// not have closed the last connections. Whatever is there after two minutes is a leak.
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
