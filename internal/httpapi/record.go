package httpapi

import (
	"context"
	"net/http"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// The functions below return the handlers of the operations that most records have. Each reads the id in the path and
// the fields of the body, calls a method of app, and encodes the record that it returns.

// lists answers with a page of a list that has no filters.
func lists[T any, P record[T]](list func(context.Context, app.Caller, sheaf.Paging) (sheaf.Page[T], error)) func(*exchange) (answer, error) {
	return func(x *exchange) (answer, error) {
		p, err := x.paging()
		if err != nil {
			return answer{}, err
		}
		page, err := list(x.Request.Context(), x.Caller, p)
		return pageOf[T, P](page), err
	}
}

// shows answers with the record whose id is in the path.
func shows[ID ~string, T any](find func(context.Context, app.Caller, ID) (T, error), encode func(T) answer) func(*exchange) (answer, error) {
	return func(x *exchange) (answer, error) {
		id, err := pathID[ID](x)
		if err != nil {
			return answer{}, err
		}
		v, err := find(x.Request.Context(), x.Caller, id)
		return encode(v), err
	}
}

// creates creates a record from the fields that read returns.
func creates[C, T any](read func(*strict.Fields) (C, error), create func(context.Context, app.Caller, C) (T, error), encode func(T) answer) func(*exchange, *strict.Fields) (answer, error) {
	return func(x *exchange, in *strict.Fields) (answer, error) {
		change, err := read(in)
		if err != nil {
			return answer{}, err
		}
		return once(x, encode, func(c app.Caller) (T, error) { return create(x.Request.Context(), c, change) })
	}
}

// puts creates or changes the record that has the external id of the query. It is idempotent by itself.
func puts[C, T any](read func(*strict.Fields) (C, error), put func(context.Context, app.Caller, string, C, sheaf.Match) (app.Put[T], error), created, changed func(T) answer) func(*exchange, *strict.Fields) (answer, error) {
	return func(x *exchange, in *strict.Fields) (answer, error) {
		id, err := x.externalID()
		if err != nil {
			return answer{}, err
		}
		change, err := read(in)
		if err != nil {
			return answer{}, err
		}
		p, err := put(x.Request.Context(), x.Caller, id, change, matchOf(x.Request.Header))
		if p.Created {
			return created(p.Record), err
		}
		return changed(p.Record), err
	}
}

// updates returns the handler of a PATCH: it changes the fields that read returns.
func updates[ID ~string, C, T any](read func(*strict.Fields) (C, error), update func(context.Context, app.Caller, ID, C, sheaf.Match) (T, error), encode func(T) answer) func(*exchange, *strict.Fields) (answer, error) {
	return func(x *exchange, in *strict.Fields) (answer, error) {
		id, err := pathID[ID](x)
		if err != nil {
			return answer{}, err
		}
		change, err := read(in)
		if err != nil {
			return answer{}, err
		}
		v, err := update(x.Request.Context(), x.Caller, id, change, matchOf(x.Request.Header))
		return encode(v), err
	}
}

// moves moves a record to the folder that the field `name` has. The field is required; null is the root level.
func moves[ID ~string, T any](name string, move func(context.Context, app.Caller, ID, *sheaf.FolderID, sheaf.Match) (T, error), encode func(T) answer) func(*exchange, *strict.Fields) (answer, error) {
	return func(x *exchange, in *strict.Fields) (answer, error) {
		id, err := pathID[ID](x)
		if err != nil {
			return answer{}, err
		}
		folder := strict.ID[sheaf.FolderID](in, name)
		if !folder.Set {
			in.Refuse(sheaf.InvalidField(name, "%s is required: the UUID of a folder, or null for the root level", name))
		}
		if err := in.Err(); err != nil {
			return answer{}, err
		}
		return once(x, encode, func(c app.Caller) (T, error) {
			return move(x.Request.Context(), c, id, folder.Pointer(), matchOf(x.Request.Header))
		})
	}
}

// deletes deletes the record whose id is in the path. The request has no deadline, because deleting a folder or a
// project may change a million records.
func deletes[ID ~string](remove func(context.Context, app.Caller, ID, sheaf.Match) error) func(*exchange) (answer, error) {
	return func(x *exchange) (answer, error) {
		id, err := pathID[ID](x)
		if err != nil {
			return answer{}, err
		}
		x.LiftDeadlines()
		err = remove(x.Request.Context(), x.Caller, id, matchOf(x.Request.Header))
		return answer{status: http.StatusNoContent}, err
	}
}
