package httpapi

import (
	"net/http"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// batch answers POST /api/v1/batch: several changes in one transaction. The number of operations decides its
// cost, so the rate limit is charged for the rest after the body is read.
func (s *Server) batch(x *exchange, in *strict.Fields) (answer, error) {
	objects := in.Objects("operations")
	if in.Err() == nil && (len(objects.Value) == 0 || len(objects.Value) > sheaf.MaxBatch) {
		in.Refuse(sheaf.InvalidField("operations", "operations must be an array of 1 to %d objects, such as {\"action\": \"delete\", \"resource_type\": \"document\", \"resource_id\": \"…\"}", sheaf.MaxBatch))
	}
	if err := in.Err(); err != nil {
		return answer{}, err
	}
	if err := x.Charge(sheaf.BatchCost(len(objects.Value))); err != nil {
		return answer{}, err
	}
	operations, err := x.operations(objects.Value)
	if err != nil {
		return answer{}, err
	}
	x.LiftDeadlines()
	return once(x, batchAnswer, func(c app.Caller) ([]sheaf.BatchResult, error) {
		return s.App.Batch(x.Request.Context(), c, operations)
	})
}

// operations reads the operations of a batch. Each needs the scope that its own request would need.
func (x *exchange) operations(objects []strict.Object) ([]sheaf.BatchOperation, error) {
	out := make([]sheaf.BatchOperation, len(objects))
	for i, object := range objects {
		var err error
		if out[i], err = operation(object.Fields()); err != nil {
			return nil, sheaf.AtOperation(i, x.Explain(err))
		}
		if need := app.BatchScope(out[i]); !x.Caller.May(need) {
			x.ChallengeScopes(needs(need))
			return nil, sheaf.AtOperation(i, x.Caller.Authorize(need))
		}
	}
	return out, nil
}

// operation reads one operation of a batch.
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

// madeEarlier reports whether text refers to the record that an earlier operation creates.
func madeEarlier(text string) bool {
	_, ok := sheaf.ParseMadeBy(text)
	return ok
}

// written reads the body of an operation, as the route for that record would.
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
		if o.Action == sheaf.BatchMove {
			o.Move, err = documentMove(in)
			return err
		}
		o.Document, err = documentChange(in, metadata)
	case sheaf.BatchShare:
		o.Share, err = newShare(in)
	}
	return err
}

// batchAnswer returns the results of the operations in their order, each as the answer to its own request would be.
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

type batchEntry struct{ *sheaf.BatchResult }

// Fields appends the status, and the record with its ETag unless the operation deleted it.
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
