package console

import "net/http"

// activity shows the log.
func (c *Console) activity(v *visit) error { return v.show(http.StatusOK, "activity", nil) }
