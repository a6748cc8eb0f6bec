package console

import (
	"strconv"

	"sheaf.dev/internal/sheaf"
)

// A form that changes a record carries what it began with: the revision, and the value of each field.
// When somebody changed the record meanwhile, the person sees both values of every field that differs,
// and chooses:
//
//	was    what the form began with    ─┐ a field that the person left alone begins with the saved value,
//	mine   what was typed              ─┤ any other with theirs
//	saved  what is stored now          ─┘
//
// A change elsewhere in the record, such as a move, is no conflict: the form is saved over it.

// field is one value of a form.
type field struct {
	Name  string // in the form
	Label string // for the person
	Value string
	Shown string // how it is shown, where the value tells nothing: the name behind an identifier
}

// Text is how the value is shown.
func (f field) Text() string {
	if f.Shown != "" {
		return f.Shown
	}
	return f.Value
}

// basis is what a form began with, as hidden fields carry it, and the choices where that is past. Every
// form that changes a record embeds it.
type basis struct {
	Revision int64
	Was      []field
	Choices  []choice
}

// choice is a field with two values, of which one is to be kept.
type choice struct {
	Saved, Mine field
	KeepSaved   bool // it is ticked at first: the person did not touch the field
}

// basisOf is what a form of the record in that revision begins with.
func basisOf(revision int64, fields []field) basis { return basis{Revision: revision, Was: fields} }

// typed is what a field of the form shall be: what was typed, or what the form began with where the
// person chose that.
func (v *visit) typed(name string) string {
	if v.field("keep-"+name) == "saved" {
		return v.field("was-" + name)
	}
	return v.field(name)
}

// typedOr is typed for what may be left empty: null then.
func (v *visit) typedOr(name string) sheaf.Opt[string] {
	if s := v.typed(name); s != "" {
		return sheaf.Some(s)
	}
	return sheaf.Nil[string]()
}

// basis reads what the form began with. fields are those that it has.
func (v *visit) basis(fields []field) basis {
	out := basis{}
	out.Revision, _ = strconv.ParseInt(v.field("revision"), 10, 64)
	for _, f := range fields {
		f.Value, f.Shown = v.field("was-"+f.Name), ""
		out.Was = append(out.Was, f)
	}
	return out
}

// match is what a change by the form demands of the record. A form without a revision, which no page
// makes, matches none.
func (b basis) match() sheaf.Match {
	return sheaf.Match{Asked: true, Revisions: []int64{b.Revision}}
}

// over is the form begun anew over what is saved now. Without a choice, nobody changed any of its
// fields: it may be saved as it is.
func (b basis) over(revision int64, mine, saved []field) basis {
	out := basisOf(revision, saved)
	changed := false
	for i, s := range saved {
		was := b.Was[i].Value
		changed = changed || s.Value != was
		if s.Value != mine[i].Value {
			out.Choices = append(out.Choices, choice{Saved: s, Mine: mine[i], KeepSaved: mine[i].Value == was})
		}
	}
	if !changed {
		out.Choices = nil
	}
	return out
}

// maxOver bounds how often a form is saved again over changes of others that do not touch its fields.
const maxOver = 5

// saveValue is saveOver for a form of one field, whose value is its own revision: save writes the new
// value if was is still stored.
func (v *visit) saveValue(form *basis, mine field, save func(was string) error, read func() (field, error)) error {
	return v.saveOver(form, []field{mine}, func(sheaf.Match) error { return save(form.Was[0].Value) }, func() (present, error) {
		now, err := read()
		return present{fields: []field{now}}, err
	})
}

// present is a record as it is now.
type present struct {
	id       string // under which its events are; empty where it has none
	revision int64
	fields   []field // as its form has them
}

// saveOver saves a form: save writes it over a revision, and read reads the record as it is now. When
// somebody changed one of the form's fields meanwhile, form gets the choices, and the error says so.
func (v *visit) saveOver(form *basis, mine []field, save func(sheaf.Match) error, read func() (present, error)) error {
	for range maxOver {
		err := save(form.match())
		if sheaf.KindOf(err) != sheaf.PreconditionFailed {
			return err
		}
		now, err := read()
		if err != nil {
			return err
		}
		*form = form.over(now.revision, mine, now.fields)
		if len(form.Choices) > 0 {
			return v.changedMeanwhile(now.id)
		}
	}
	return v.changedMeanwhile("")
}

// changedMeanwhile is the refusal of a form that is out of date.
func (v *visit) changedMeanwhile(id string) error {
	by, err := v.changer(id)
	if err != nil {
		return err
	}
	return &sheaf.Error{Kind: sheaf.PreconditionFailed, Code: sheaf.CodePreconditionFailed,
		Text: "While you were editing, " + by + " changed this. Nothing of yours is saved yet: choose what to keep, and save again"}
}

// changer says who made the last change of a record that has events, or "somebody".
func (v *visit) changer(id string) (string, error) {
	if id == "" {
		return "somebody", nil
	}
	page, err := v.console.app.Events(v.r.Context(), v.caller, sheaf.EventFilter{Resource: id, Paging: sheaf.Paging{Limit: 1, Desc: true}})
	if err != nil || len(page.Items) == 0 {
		return "somebody", err
	}
	members, err := v.console.app.Members(v.r.Context(), v.caller)
	return readEntry(page.Items[0], members.Members).Who, err
}
