package console

import (
	"errors"
	"net/http"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// maxForm is far above what the form holds.
const maxForm = 16 << 10

// setup shows the form. It changes nothing: programs that look at links in
// messages must not use one up.
func (s *Console) setup(w http.ResponseWriter, r *http.Request) {
	p := page{Root: "../"}
	if err := s.app.CheckSetupLink(r.Context(), r.PathValue("token")); err != nil {
		s.refuseSetup(w, p, err)
		return
	}
	s.show(w, http.StatusOK, "setup", p)
}

// completeSetup uses the link.
func (s *Console) completeSetup(w http.ResponseWriter, r *http.Request) {
	p := page{Root: "../"}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		p.Fault = "The form did not arrive whole. Send it again."
		s.show(w, http.StatusBadRequest, "setup", p)
		return
	}
	p.Email = strings.TrimSpace(r.PostForm.Get("email"))
	password := r.PostForm.Get("password")
	if password != r.PostForm.Get("again") {
		p.Fault = "The two passwords differ. Type the same one twice."
		s.show(w, http.StatusBadRequest, "setup", p)
		return
	}
	if err := s.app.CompleteSetup(r.Context(), r.PathValue("token"), p.Email, password); err != nil {
		s.refuseSetup(w, p, err)
		return
	}
	s.log.Info("set-up was completed")
	s.show(w, http.StatusOK, "setup-done", p)
}

// refuseSetup shows why a link or what was typed is not taken.
func (s *Console) refuseSetup(w http.ResponseWriter, p page, err error) {
	var refusal *sheaf.Error
	switch {
	case errors.As(err, &refusal) && refusal.Kind == sheaf.NotFound:
		s.show(w, http.StatusNotFound, "setup-closed", p)
	case errors.As(err, &refusal) && refusal.Kind == sheaf.Invalid:
		p.Fault = refusal.Text
		s.show(w, http.StatusBadRequest, "setup", p)
	default:
		s.fail(w, p, err)
	}
}
