package httpapi

import (
	"errors"
	"fmt"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
)

// fail answers with an error. An error that is no *sheaf.Error becomes a 500 that shows only the request id.
func (x *exchange) fail(err error) {
	var replay *app.Replay
	if errors.As(err, &replay) {
		a := replay.Answer
		x.reply(answer{status: a.Status, body: a.Body, etag: a.ETag, location: a.Location, replayed: true})
		return
	}
	e := x.Refusal(err)
	body := sheaf.Encode(sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Text("error", e.Text)
		o.Text("code", string(e.Code))
		if e.Field != "" {
			o.Text("field", e.Field)
		}
		if e.Index != nil {
			o.Int("index", int64(*e.Index))
		}
		if e.Conflicts != nil {
			sheaf.AppendConflicts(o, e.Conflicts)
		}
	}))
	x.reply(answer{status: front.Status(e.Kind), body: body})
}

// notAllowed answers 405. allow lists the methods of the path.
func (x *exchange) notAllowed(allow string) {
	x.Header().Set("Allow", allow)
	x.fail(&sheaf.Error{Kind: sheaf.MethodNotAllowed, Code: sheaf.CodeMethodNotAllowed,
		Text: fmt.Sprintf("%s is not allowed here: this address accepts %s", x.Request.Method, allow)})
}
