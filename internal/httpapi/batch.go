package httpapi

import (
	"net/http"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// batch makes several changes at once. How many it has decides what it costs, so the rest of the rate
// limit is asked when the body is read.
func (s *Server) batch(x *exchange, in *strict.Fields) (answer, error) {
	objects := in.Objects("operations")
	if in.Err() == nil && (len(objects.Value) == 0 || len(objects.Value) > sheaf.MaxBatch) {
		in.Refuse(sheaf.InvalidField("operations", "operations must be an array of 1 to %d objects, such as {\"action\": \"delete\", \"resource_type\": \"document\", \"resource_id\": \"…\"}", sheaf.MaxBatch))
	}
	if err := in.Err(); err != nil {
		return answer{}, err
	}
	if err := x.limitMore(sheaf.BatchCost(len(objects.Value))); err != nil {
		return answer{}, err
	}
	operations, err := x.operations(objects.Value)
	if err != nil {
		return answer{}, err
	}
	x.TakeTime()
	return once(x, batchAnswer, func(c app.Caller) ([]sheaf.BatchResult, error) {
		return s.App.Batch(x.Request.Context(), c, operations)
	})
}

// operations reads the operations of a batch, and asks the gate for each as for a request of its own.
func (x *exchange) operations(objects []strict.Object) ([]sheaf.BatchOperation, error) {
	out := make([]sheaf.BatchOperation, len(objects))
	for i, object := range objects {
		var err error
		if out[i], err = operation(object.Fields()); err != nil {
			return nil, sheaf.AtOperation(i, x.explain(err))
		}
		if need := app.BatchScope(out[i]); !x.caller.May(need) {
			x.lacksScope(needs(need))
			return nil, sheaf.AtOperation(i, x.caller.Authorize(need))
		}
	}
	return out, nil
}

// operation reads one operation.
func operation(in *strict.Fields) (o sheaf.BatchOperation, err error) {
	in.LetStand(madeEarlier)
	o.Action = sheaf.BatchAction(in.Text("action").Value)
	o.Noun = sheaf.BatchNoun(in.Text("resource_type").Value)
	o.ID = strict.ID[string](in, "resource_id").Value
	if match := in.Text("if_match"); match.Given() {
		o.Match = matchOf(http.Header{"If-Match": {match.Value}})
	}
	body := in.Object("body")
	if err := in.Err(); err != nil || !body.Given() {
		return o, err
	}
	return o, written(body.Value.Fields().LetStand(madeEarlier), &o)
}

// madeEarlier reports whether a text stands for what an earlier operation makes.
func madeEarlier(text string) bool {
	_, ok := sheaf.ParseMadeBy(text)
	return ok
}

// written reads what an operation writes, as the route of its own would.
func written(in *strict.Fields, o *sheaf.BatchOperation) (err error) {
	metadata := wholeMetadata
	if o.Action == sheaf.BatchUpdate {
		metadata = mergedMetadata
	}
	switch o.Noun {
	case sheaf.BatchProject:
		o.Project, err = projectChange(in, metadata)
	case sheaf.BatchFolder:
		o.Folder, err = wholeFolder(in)
	case sheaf.BatchDocument:
		o.Document, err = documentChange(in, metadata)
	case sheaf.BatchShare:
		o.Share, err = newShare(in)
	}
	return err
}

// batchAnswer is what became of the operations, in their order: of each what its own request would have
// been answered.
func batchAnswer(results []sheaf.BatchResult) answer {
	list := []byte{'['}
	for i := range results {
		if i > 0 {
			list = append(list, ',')
		}
		list = sheaf.AppendJSON(list, batchEntry{&results[i]})
	}
	list = append(list, ']')
	body := sheaf.Encode(sheaf.RecordFunc(func(o *sheaf.Object) { o.Raw("results", list) }))
	return answer{status: http.StatusOK, body: body}
}

// batchEntry is one of the results.
type batchEntry struct{ *sheaf.BatchResult }

// Fields appends the status, and the record with its ETag where it is still there.
func (e batchEntry) Fields(o *sheaf.Object) {
	status := http.StatusOK
	switch e.Action {
	case sheaf.BatchCreate:
		status = http.StatusCreated
	case sheaf.BatchDelete:
		status = http.StatusNoContent
	}
	o.Int("status", int64(status))
	o.Text("resource_type", string(e.Noun))
	o.Text("resource_id", e.ID)
	if e.Record == nil {
		o.Null("etag")
		o.Null("body")
		return
	}
	a := resource(status, e.Record, e.Revision)
	o.Text("etag", a.etag)
	o.Raw("body", a.body)
}
