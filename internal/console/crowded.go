package console

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// crowdedMain is all that a script asks for; crowdedPage has it within a page. It
// needs no file of ours: those would be refused too.
const (
	crowdedMain = `<h1>Just a moment</h1>
<p>The service has more to do than it can at the moment, and nothing was changed. Try again in %d s.</p>
`
	crowdedPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Just a moment · Sheaf</title>
<main>
` + crowdedMain + `</main>
</html>
`
)

// Crowded answers a request for one of the console's paths that there is no room
// for, with 503: it reads neither the request's body nor the store.
func (c *Console) Crowded(w http.ResponseWriter, r *http.Request, wait time.Duration) {
	c.protect(w.Header(), r)
	v := &visit{ResponseWriter: w, r: r, console: c}
	seconds := int((wait + time.Second - 1) / time.Second)
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	if v.byStream() {
		v.comeAgain()
		return
	}
	text := crowdedPage
	if v.byScript() {
		text = crowdedMain
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = fmt.Fprintf(w, text, seconds)
}
