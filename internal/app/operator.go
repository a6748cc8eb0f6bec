package app

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"unicode/utf8"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Operator has the rules for the person who runs the program. Its methods take no Caller and check
// no rights, because the operator has the database anyway. They are only for the command line. The
// limits of plans apply to them too.
type Operator struct{ app *App }

// Operator returns the rules for the person who runs the program.
func (a *App) Operator() Operator { return Operator{a} }

// OwnedWorkspace is a workspace with its first owner, as the command line shows it.
type OwnedWorkspace struct {
	sheaf.Workspace
	Owner sheaf.UserID
	// Known means that the owner was a user before the workspace was created. Only CreateWorkspace
	// sets it.
	Known bool
}

// Fields appends the fields of the JSON object.
func (w *OwnedWorkspace) Fields(o *sheaf.Object) {
	o.Text("id", string(w.ID))
	o.Text("name", w.Name)
	o.Text("plan", string(w.Plan))
	o.Text("user_id", string(w.Owner))
	if w.IsDeleted() {
		deletionFields(&w.Workspace, o)
	}
}

// NewWorkspace is an operator's request to create a workspace.
type NewWorkspace struct {
	Name       string
	Plan       sheaf.Plan
	Personal   bool
	OwnerEmail string // empty: the owner has no e-mail
}

// check returns the first error of the fields.
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

// CreateWorkspace creates a workspace with an owner: the user with that e-mail, or a new one. It
// returns Invalid for a bad name or e-mail.
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
		err = sheaf.Conflictf("a user with this e-mail was created at the same moment: repeat the command")
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
	err := tx.InsertMember(sheaf.Membership{Workspace: ws, User: owner, Role: sheaf.Owner, Since: ws.CreatedAt})
	if err == nil {
		err = a.auditIn(tx, ws.ID, anOperator, sheaf.ActionWorkspaceCreated, string(ws.ID), nil, workspaceFacts(ws.Name, ws.Plan))
	}
	return OwnedWorkspace{Workspace: ws, Owner: owner.ID}, err
}

// ownerFor returns the user with that e-mail, or creates one.
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

// SetPlan changes a workspace's plan, or returns NotFound. Records that the new plan does not
// include are kept, but using them is refused.
func (o Operator) SetPlan(ctx context.Context, id sheaf.WorkspaceID, p sheaf.Plan) (OwnedWorkspace, error) {
	out, err := operate(ctx, o, id, func(w *work) (OwnedWorkspace, error) {
		if err := w.setPlan(p); err != nil {
			return OwnedWorkspace{}, err
		}
		ws := w.ws
		ws.Plan = p
		owner, err := w.OwnerOf(id)
		return OwnedWorkspace{Workspace: ws, Owner: owner}, err
	})
	return out, forOperator(err, "workspace", string(id), "sheaf workspace list shows all workspaces")
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

// checkOperatorText refuses texts that the command line accepts. The HTTP edges refuse them before
// they reach a rule.
func checkOperatorText(field, s string) error {
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return sheaf.InvalidField(field, "%s is not valid UTF-8 text without NUL characters: correct it", field)
	}
	return nil
}

// checkEmail returns Invalid unless s is an e-mail address.
func checkEmail(s string) error {
	at, err := mail.ParseAddress(s)
	if err != nil || at.Address != s || len(s) > 254 || strings.ContainsAny(s, " \t\r\n\"") {
		return sheaf.InvalidField("e-mail", "e-mail: %q is not an address such as ada@example.com", sheaf.Clip(s))
	}
	return nil
}

// forOperator rewords NotFound for the command line: what was not found, and what to do. It returns
// other errors unchanged.
func forOperator(err error, noun, id, remedy string) error {
	if sheaf.KindOf(err) != sheaf.NotFound {
		return err
	}
	if missing, is := errors.AsType[*sheaf.Error](err); is && (missing.Noun == "project" || missing.Noun == "folder") {
		return &sheaf.Error{Kind: sheaf.NotFound, Code: sheaf.CodeNotFound,
			Text: fmt.Sprintf("the workspace has no %s with that id: sheaf %[1]ss list shows them", missing.Noun)} // of a restriction
	}
	return &sheaf.Error{Kind: sheaf.NotFound, Code: sheaf.CodeNotFound, Text: noun + " " + id + " not found: " + remedy}
}
