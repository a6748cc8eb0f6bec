package console

import "net/http"

// webhooks lists the subscriptions.
func (c *Console) webhooks(v *visit) error { return v.show(http.StatusOK, "webhooks", nil) }
