package console

import (
	"fmt"
	"net/http"

	"sheaf.dev/internal/front"
)

// bareMain is all that a script asks for; barePage has it within a page. It needs no template and
// no file of ours: those might be refused too, or be what failed.
const (
	bareMain = `<h1>%s</h1>
<p>%s</p>
`
	barePage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%[1]s · Sheaf</title>
<main>
<h1>%[1]s</h1>
<p>%[2]s</p>
</main>
</html>
`
)

// bare answers with a title and a sentence, which need no escapes.
func (v *visit) bare(status int, title, text string) {
	form := barePage
	if v.byScript() {
		form = bareMain
	}
	v.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.WriteHeader(status)
	_, _ = fmt.Fprintf(v, form, title, text)
}

// TurnAway answers a request that there is no room for, with 503: it reads neither the request's
// body nor the store.
func (c *Console) TurnAway(x *front.Exchange, why *front.Refusal) {
	c.protect(x)
	v := &visit{Exchange: x, r: x.Request, console: c}
	x.RetryAfter(why.RetryAfter)
	if v.byStream() {
		v.comeAgain()
		return
	}
	v.bare(http.StatusServiceUnavailable, "Just a moment",
		fmt.Sprintf("The service has more to do than it can at the moment, and nothing was changed. Try again in %d s.", front.Seconds(why.RetryAfter)))
}

// Panicked tells a person that the page could not be made. Whether something was changed before,
// nobody knows.
func (c *Console) Panicked(x *front.Exchange) {
	c.protect(x)
	v := &visit{Exchange: x, r: x.Request, console: c}
	v.bare(http.StatusInternalServerError, "Something went wrong here",
		"The page could not be made. Open it again, and if that does not help, tell whoever runs Sheaf: its log has the reason, under the request id "+x.ID+".")
}
