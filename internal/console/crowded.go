package console

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
)

// crowdedMain is all that a script asks for; crowdedPage has it within a page. It needs no file of
// ours: those would be refused too.
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
	text := crowdedPage
	if v.byScript() {
		text = crowdedMain
	}
	x.Header().Set("Content-Type", "text/html; charset=utf-8")
	x.WriteHeader(http.StatusServiceUnavailable)
	_, _ = fmt.Fprintf(x, text, front.Seconds(why.RetryAfter))
}

// hold counts a page, which may wait long for its reader. What was changed must be told, so that is
// never refused.
func (v *visit) hold(status, n int) error {
	changed := v.r.Method == http.MethodPost && status < http.StatusBadRequest
	if changed || v.r.Method == http.MethodHead {
		return nil
	}
	return crowded(v.HoldAnswer(n))
}

// crowded says to a person what a refusal says to a program.
func crowded(err error) error {
	var refusal *front.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	return &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: refusal.RetryAfter,
		Text: fmt.Sprintf("the service has more to do than it can at the moment, and nothing was changed. Try again in %v", max(refusal.RetryAfter, time.Second))}
}
