package mail

import (
	"cmp"
	"fmt"
	"slices"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// aboutProposal fills the mail to a person who was asked to approve a proposal. There is no mail if the
// proposal no longer waits for the person, or the person may no longer approve it.
func (m *Mailer) aboutProposal(r *store.Reader, n store.Notice, l *outgoing) error {
	p, err := r.Proposal(n.Workspace, n.Proposal)
	if err != nil || !p.WaitsFor(n.User) {
		return err
	}
	if may, err := r.MayApprove(n.Workspace, n.User, p.ID); err != nil || !may {
		return err
	}
	person, err := r.User(n.User)
	if err != nil || person.Email == nil {
		return err
	}
	w, err := r.Workspace(n.Workspace)
	if err != nil {
		return err
	}
	who, err := asker(r, n.Workspace, p.Reviewer(n.User).AskedBy)
	if err != nil {
		return err
	}
	l.people = []sheaf.User{person}
	body := fmt.Sprintf("%s asks you to review the proposal %q in the workspace %s.\n\nSee what it changes, and approve or reject it:\n%s/w/%s/proposals/%s\n\n"+
		"You get this because you may approve proposals in this workspace.\n", who, p.Title, w.Name, m.Base, w.ID, p.ID)
	l.text = m.letter(fmt.Sprintf("%s-%s-%d", p.ID, n.User, n.Event), fmt.Sprintf("%s asks you to review %q", who, p.Title), body, l.people)
	return nil
}

// asker returns the name of the member who asked. E-mail addresses are left out, because a restricted
// recipient may not see those of other members.
func asker(r *store.Reader, ws sheaf.WorkspaceID, u *sheaf.UserID) (string, error) {
	members, err := r.Members(ws)
	if err != nil || u == nil {
		return "A member", err
	}
	i := slices.IndexFunc(members, func(m sheaf.Membership) bool { return m.User.ID == *u })
	if i < 0 {
		return "A former member", nil
	}
	return cmp.Or(members[i].User.Name, "A member"), nil
}
