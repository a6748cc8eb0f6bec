package deliver

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
)

// A person who may read a delivery must not be able to send it again.
func TestCourier_KeepsNoSignatureOfAnAnswerThatRepeatsIt(t *testing.T) {
	t.Parallel()
	sent := make(chan http.Header, 1)
	c, url := serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
		sent <- r.Header
		_ = r.Header.Write(w)
	})
	secrets := []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_AAAQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
	a := (&Courier{Client: c, Now: time.Now}).Send(t.Context(), sheaf.Outgoing{EventID: "evt_1", URL: url, Body: []byte(`{}`), Secrets: secrets})
	if a.StatusCode != 200 || !strings.Contains(a.ResponseBody, "evt_1") {
		t.Fatalf("answered %d %q", a.StatusCode, a.ResponseBody)
	}
	signatures := Signer{}.signatures(<-sent)
	if len(signatures) != 4 {
		t.Fatalf("sent %q", signatures)
	}
	for _, s := range signatures {
		if strings.Contains(a.ResponseBody, s) {
			t.Errorf("kept %q of %q", s, a.ResponseBody)
		}
	}
}
