package mail

import "context"

// Round looks for what is due and sends it, as Run does again and again.
func (m *Mailer) Round(ctx context.Context) error { return m.round(ctx) }
