package console

import (
	"strconv"

	"sheaf.dev/internal/sheaf"
)

// A form that changes a record carries its base: the revision, and the value of each field. If
// another person changed the record meanwhile, the person sees both values of every field that
// differs, and chooses:
//
//	was    the value in the base     ─┐ if the person did not touch the field, the saved value is
//	mine   the value that was typed  ─┤ preselected, otherwise theirs
//	saved  the value stored now      ─┘
//
// A change elsewhere in the record, such as a move, is no conflict: the form is saved over it.

// field is one value of a form.
type field struct {
	Name  string // in the form
	Label string // for the person
	Value string
	Shown string // the text for a person, if it differs from Value: the name of a record instead of its id
}

// Text returns the text for a person.
func (f field) Text() string {
	if f.Shown != "" {
		return f.Shown
	}
	return f.Value
}

// basis is the base of a form, which hidden fields carry, and the choices if the record has changed
// since. Every form that changes a record embeds it.
type basis struct {
	Revision int64
	Was      []field
	Choices  []choice
}

// choice is a field with two values. The person chooses which one to keep.
type choice struct {
	Saved, Mine field
	KeepSaved   bool // the saved value is preselected: the person did not touch the field
}

// typed returns the value of a field to save: the one that was typed, or the base's if the person
// chose that.
func (v *visit) typed(name string) string {
	if v.field("keep-"+name) == "saved" {
		return v.field("was-" + name)
	}
	return v.field(name)
}

// typedOpt is typed for an optional field. An empty value is null.
func (v *visit) typedOpt(name string) sheaf.Opt[string] {
	if s := v.typed(name); s != "" {
		return sheaf.Some(s)
	}
	return sheaf.Nil[string]()
}

// basis reads the base of a form that has these fields.
func (v *visit) basis(fields []field) basis {
	out := basis{}
	out.Revision, _ = strconv.ParseInt(v.field("revision"), 10, 64)
	for _, f := range fields {
		f.Value, f.Shown = v.field("was-"+f.Name), ""
		out.Was = append(out.Was, f)
	}
	return out
}

// rebase returns the base for the record as it is saved now. If it has no choices, none of the
// form's fields was changed, and the form may be saved as it is.
func (b basis) rebase(revision int64, mine, saved []field) basis {
	out := basis{Revision: revision, Was: saved}
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

// maxSaveTries bounds the attempts to save a form while other people change other fields of the
// record.
const maxSaveTries = 5

// saveValue is saveForm for a form of one field without a revision: save writes the new value if
// `was` is still stored.
func (v *visit) saveValue(form *basis, mine field, save func(was string) error, read func() (field, error)) error {
	return v.saveForm(form, []field{mine}, func(sheaf.Match) error { return save(form.Was[0].Value) }, func() (current, error) {
		now, err := read()
		return current{fields: []field{now}}, err
	})
}

// current is a record as it is stored now.
type current struct {
	id       string // by which its events are found; empty if it has none
	revision int64
	fields   []field // of its form
}

// saveForm saves a form: save writes it over a revision, and read reads the record as it is now. If
// another person changed one of the form's fields meanwhile, it sets the choices of form and
// returns PreconditionFailed.
func (v *visit) saveForm(form *basis, mine []field, save func(sheaf.Match) error, read func() (current, error)) error {
	for range maxSaveTries {
		err := save(sheaf.Match{Asked: true, Revisions: []int64{form.Revision}})
		if sheaf.KindOf(err) != sheaf.PreconditionFailed {
			return err
		}
		now, err := read()
		if err != nil {
			return err
		}
		*form = form.rebase(now.revision, mine, now.fields)
		if len(form.Choices) > 0 {
			return v.changedMeanwhile(now.id)
		}
	}
	return v.changedMeanwhile("")
}

// changedMeanwhile returns the refusal of a form that is out of date. It names the author of the
// last event about the record with this id.
func (v *visit) changedMeanwhile(id string) error {
	by := "someone"
	if id != "" {
		page, err := v.console.app.Events(v.r.Context(), v.caller, sheaf.EventFilter{Resource: id, Paging: sheaf.Paging{Limit: 1, Desc: true}})
		if err != nil {
			return err
		}
		if len(page.Items) > 0 {
			names, err := v.people(usersOf(page.Items)...)
			if err != nil {
				return err
			}
			by = readEntry(page.Items[0], names).Who
		}
	}
	return &sheaf.Error{Kind: sheaf.PreconditionFailed, Code: sheaf.CodePreconditionFailed,
		Text: "While you were editing, " + by + " changed this. Your changes are not saved yet: choose what to keep, and save again"}
}

// revision returns the record's revision when the form was made. Every form has it.
func (v *visit) revision() (int64, error) {
	n, err := strconv.ParseInt(v.field("revision"), 10, 64)
	if err != nil {
		return 0, errForm
	}
	return n, nil
}

// The fields of the forms, with a value.
func nameField(name string) field { return field{Name: "name", Label: "Name", Value: name} }
