package mail

import (
	"bytes"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
)

// letter returns a whole mail. `id` is the same whenever the mail is sent, so that mail programs can
// drop a duplicate.
func (m *Mailer) letter(id, subject, body string, people []sheaf.User) []byte {
	var b bytes.Buffer
	head := func(name, value string) { fmt.Fprintf(&b, "%s: %s\r\n", name, value) }
	head("From", (&mail.Address{Name: "Sheaf", Address: m.Server.From}).String())
	head("To", addresses(people))
	head("Subject", mime.QEncoding.Encode("utf-8", subject))
	head("Date", m.Now().UTC().Format(time.RFC1123Z))
	_, domain, _ := strings.Cut(m.Server.From, "@")
	head("Message-ID", fmt.Sprintf("<sheaf-%s@%s>", id, domain))
	head("Auto-Submitted", "auto-generated") // RFC 3834: keeps out-of-office replies away
	head("MIME-Version", "1.0")
	head("Content-Type", "text/plain; charset=utf-8")
	head("Content-Transfer-Encoding", "quoted-printable")
	b.WriteString("\r\n")
	text := quotedprintable.NewWriter(&b)
	_, _ = text.Write([]byte(strings.ReplaceAll(body, "\n", "\r\n"))) // a buffer in memory: it cannot fail
	_ = text.Close()
	return b.Bytes()
}

// addresses returns the list of recipients, folded, because lines of a mail must be short.
func addresses(people []sheaf.User) string {
	out := make([]string, len(people))
	for i := range people {
		out[i] = (&mail.Address{Address: *people[i].Email}).String()
	}
	return strings.Join(out, ",\r\n ")
}

func subject(s *sheaf.Subscription, w *sheaf.Workspace) string {
	if s.Active {
		return fmt.Sprintf("The webhook %q of %s fails", s.Name, w.Name)
	}
	return fmt.Sprintf("The webhook %q of %s is turned off", s.Name, w.Name)
}

// text returns the body of the mail. Like the events, it has only the origin of the webhook's
// address.
func (m *Mailer) text(s *sheaf.Subscription, w *sheaf.Workspace) string {
	var b strings.Builder
	what := fmt.Sprintf("The webhook %q of the workspace %s, which sends to %s,", s.Name, w.Name, s.Origin())
	if s.Active {
		fmt.Fprintf(&b, "%s fails: %d deliveries in a row did not arrive.\nAfter %d it is turned off.\n", what, s.FailureCount, sheaf.MaxFailures)
	} else {
		fmt.Fprintf(&b, "%s is turned off: %d deliveries in a row did not arrive.\nLater deliveries are held, not lost.\n", what, s.FailureCount)
	}
	if s.LastError != nil {
		fmt.Fprintf(&b, "\nThe last error: %s\n", *s.LastError)
	}
	fmt.Fprintf(&b, "\nSee what was sent and answered, and turn it on again when its endpoint is repaired:\n%s/w/%s/webhooks/%s\n", m.Base, w.ID, s.ID)
	b.WriteString("\nYou get this as an owner or admin of the workspace.\n")
	return b.String()
}
