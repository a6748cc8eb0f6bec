package webhook

import (
	"context"
	"errors"
	"io"
	"net/http"
)

// maxBody is the largest body that Handler reads: several times the largest event that the service
// sends.
const maxBody = 1 << 20

// Handler returns a handler that verifies each request and calls fn with its event. It answers 204
// when fn returns nil and 500 when it does not, so that the service sends the event again; fn's
// error is not shown to anybody, so log it in fn. fn is not called for other requests: those with a
// bad or missing signature or a body that is no event get 400, those over 1 MiB 413, methods other
// than POST 405, and all get 500 when the secret itself is not usable. fn runs while the service
// waits, at most ten seconds: hand long work to a queue. Its context is the request's.
func Handler(secret string, fn func(context.Context, Event) error, opts ...Option) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e, status, err := receive(secret, w, r, opts)
		if err != nil {
			http.Error(w, err.Error(), status)
			return
		}
		if fn(r.Context(), e) != nil {
			http.Error(w, "the event was received but could not be handled", http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

// receive reads and verifies r; status is the answer when err is not nil.
func receive(secret string, w http.ResponseWriter, r *http.Request, opts []Option) (e Event, status int, err error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return Event{}, http.StatusMethodNotAllowed, errors.New("only POST is accepted here")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return Event{}, http.StatusRequestEntityTooLarge, errors.New("the body is larger than 1 MiB")
	} else if err != nil {
		return Event{}, http.StatusBadRequest, errors.New("the body could not be read")
	}
	e, err = Parse(secret, r.Header, body, opts...)
	if errors.Is(err, ErrSecret) {
		return Event{}, http.StatusInternalServerError, err
	}
	return e, http.StatusBadRequest, err
}
