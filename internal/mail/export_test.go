package mail

import "context"

// Round looks for due mails and sends them, as Run does again and again.
func (m *Mailer) Round(ctx context.Context) error { return m.round(ctx) }
