package app

import (
	"context"
	"errors"
	"net/mail"
	"strings"
	"unicode/utf8"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Operator is the rules for whoever runs the program. Its methods take no Caller: the operator
// holds the database, so nothing is asked here. They are for the command line alone. The limits of
// plans hold for them too.
type Operator struct{ app *App }

// Operator returns the rules for whoever runs the program.
func (a *App) Operator() Operator { return Operator{a} }

// OwnedWorkspace is a workspace and its first owner, as the command line shows it.
type OwnedWorkspace struct {
	sheaf.Workspace
	Owner sheaf.UserID
	// Known says that the owner was a user before the workspace was made. Only CreateWorkspace sets
	// it.
	Known bool
}

// Fields appends the workspace.
func (w *OwnedWorkspace) Fields(o *sheaf.Object) {
	o.Text("id", string(w.ID))
	o.Text("name", w.Name)
	o.Text("plan", string(w.Plan))
	o.Text("user_id", string(w.Owner))
}

// NewWorkspace is what an operator says of a workspace that is to be made.
type NewWorkspace struct {
	Name       string
	Plan       sheaf.Plan
	Personal   bool
	OwnerEmail string // may be empty: the owner then has none
}

// check returns what is wrong with a workspace that is to be made.
func (n NewWorkspace) check() error {
	if err := checkOperatorText("name", n.Name); err != nil {
		return err
	}
	if err := sheaf.CheckName("name", n.Name, sheaf.MaxName); err != nil {
		return err
	}
	if n.OwnerEmail == "" {
		return nil
	}
	return checkEmail(n.OwnerEmail)
}

// CreateWorkspace makes a workspace and its owner: the user with that e-mail, or a new one. It
// returns Invalid for a wrong name or e-mail.
func (o Operator) CreateWorkspace(ctx context.Context, in NewWorkspace) (OwnedWorkspace, error) {
	var out OwnedWorkspace
	if err := in.check(); err != nil {
		return out, err
	}
	err := o.app.writeUnasked(ctx, func(tx *store.Tx) (err error) {
		owner, known, err := o.app.ownerFor(tx, in.OwnerEmail)
		if err != nil {
			return err
		}
		out, err = o.app.insertWorkspace(tx, in, owner)
		out.Known = known
		return err
	})
	if errors.Is(err, store.ErrDuplicate) {
		err = sheaf.Conflictf("a user with this e-mail was made at the same moment: repeat the command")
	}
	return out, err
}

// insertWorkspace stores a workspace with its owner.
func (a *App) insertWorkspace(tx *store.Tx, in NewWorkspace, owner sheaf.User) (OwnedWorkspace, error) {
	ws := sheaf.Workspace{ID: sheaf.WorkspaceID(a.newID()), Name: in.Name, Plan: in.Plan, Personal: in.Personal,
		CreatedAt: a.now(), Version: 1}
	if err := tx.InsertWorkspace(ws); err != nil {
		return OwnedWorkspace{}, err
	}
	return OwnedWorkspace{Workspace: ws, Owner: owner.ID}, tx.InsertMember(sheaf.Membership{Workspace: ws, User: owner, Role: sheaf.Owner, Since: ws.CreatedAt})
}

// ownerFor returns the user with that e-mail, and makes one when there is none.
func (a *App) ownerFor(tx *store.Tx, email string) (u sheaf.User, known bool, err error) {
	u = sheaf.User{ID: sheaf.UserID(a.newID()), CreatedAt: a.now()}
	if email != "" {
		found, err := tx.UserByEmail(email)
		if err == nil || sheaf.KindOf(err) != sheaf.NotFound {
			return found, true, err
		}
		u.Email = &email
	}
	return u, false, tx.InsertUser(u)
}

// SetPlan changes a workspace's plan, or returns NotFound. What the new plan does not include
// stays, and is refused when it is used.
func (o Operator) SetPlan(ctx context.Context, id sheaf.WorkspaceID, p sheaf.Plan) (OwnedWorkspace, error) {
	out, err := operate(ctx, o, id, func(w *work) (OwnedWorkspace, error) {
		if err := w.SetPlan(id, p); err != nil {
			return OwnedWorkspace{}, err
		}
		ws := w.ws
		ws.Plan = p
		owner, err := w.OwnerOf(id)
		return OwnedWorkspace{Workspace: ws, Owner: owner}, err
	})
	return out, forOperator(err, "workspace", string(id), "sheaf workspace list shows them all")
}

// Workspaces returns every workspace, oldest first.
func (o Operator) Workspaces(ctx context.Context) ([]OwnedWorkspace, error) {
	return readUnasked(ctx, o.app, func(r *store.Reader) ([]OwnedWorkspace, error) {
		all, err := r.Workspaces()
		if err != nil {
			return nil, err
		}
		out := make([]OwnedWorkspace, len(all))
		for i, ws := range all {
			owner, err := r.OwnerOf(ws.ID)
			if err != nil {
				return nil, err
			}
			out[i] = OwnedWorkspace{Workspace: ws, Owner: owner}
		}
		return out, nil
	})
}

// checkOperatorText refuses what no edge for HTTP lets through to a rule, and the command line
// does.
func checkOperatorText(field, s string) error {
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return sheaf.InvalidField(field, "%s is not valid UTF-8 text without NUL characters: correct it", field)
	}
	return nil
}

// checkEmail returns an error unless mail to s could arrive.
func checkEmail(s string) error {
	at, err := mail.ParseAddress(s)
	if err != nil || at.Address != s || len(s) > 254 || strings.ContainsAny(s, " \t\r\n\"") {
		return sheaf.InvalidField("e-mail", "e-mail: %q is not an address such as ada@example.com", sheaf.Clip(s))
	}
	return nil
}

// forOperator words NotFound for somebody at the command line: which one was not found, and what
// to do. Other errors stay as they are.
func forOperator(err error, noun, id, remedy string) error {
	if sheaf.KindOf(err) != sheaf.NotFound {
		return err
	}
	return &sheaf.Error{Kind: sheaf.NotFound, Code: sheaf.CodeNotFound, Text: noun + " " + id + " not found: " + remedy}
}
