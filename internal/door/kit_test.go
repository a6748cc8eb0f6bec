package door_test

import "time"

// morning is what the clock of many tests shows.
var morning = time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)

const (
	projects = "/api/v1/projects"
	keys     = "/api/v1/api-keys"
	me       = "/api/v1/me"
	// nowhereID is the id of no record.
	nowhereID = "0190b0a0-0000-7000-8000-00000000dead"
)
