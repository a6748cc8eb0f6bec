package console

import "net/http"

// keys lists the live keys.
func (c *Console) keys(v *visit) error { return v.show(http.StatusOK, "keys", nil) }
