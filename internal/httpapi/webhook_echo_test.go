package httpapi_test

import (
	"fmt"

	"sheaf.dev/internal/sheaftest"
)

// echo answers with what it got, as a careless endpoint does.
func echo(r sheaftest.Received) sheaftest.Reply {
	return sheaftest.Reply{Status: 200, Body: fmt.Sprintf("%q", r.Header)}
}
