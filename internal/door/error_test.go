package door_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// A client who left interrupts its read. That is no fault of the store, and no line of an operator's log.
func TestError_AClientWhoLeftIsNoFaultOfTheStore(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		key := a.Workspace(sheaf.Pro).Key()
		r := httptest.NewRequest("GET", "/api/v1/projects?limit=7", nil)
		r.Header.Set("Authorization", "Bearer "+key)
		gone, leave := context.WithCancel(t.Context())
		leave()
		w := httptest.NewRecorder()
		a.Front.ServeHTTP(w, r.WithContext(gone))
		if w.Code != 503 {
			t.Errorf("the read was answered %d: it was not interrupted, so this shows nothing", w.Code)
		}
		if strings.Contains(a.Log(), "the store is unavailable") {
			t.Errorf("the log has %s", a.Log())
		}
	})
}
