package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// The lines of a proposal's texts and comments follow its own line. They are imported with it, in one
// transaction: a proposal without its texts could not be shown.

// proposalFields are the fields of a proposal, with the changes and the people as they are stored.
func proposalFields(p *sheaf.Proposal) sheaf.RecordFunc {
	return func(o *sheaf.Object) {
		changes, _ := sheaf.EncodeChanges(p.Changes) // cannot fail: the program made these values
		people, _ := json.Marshal(p.People)
		o.Text("id", string(p.ID))
		o.Text("title", p.Title)
		o.OptText("message", p.Message)
		o.Text("state", string(p.State))
		o.Int("revision", p.Revision)
		o.Raw("changes", []byte(changes))
		o.Raw("people", people)
		o.Text("user_id", string(p.User))
		o.OptText("key_id", (*string)(p.Key))
		o.OptText("note", p.Note)
		o.Time("created_at", p.CreatedAt)
		o.Time("updated_at", p.UpdatedAt)
		o.OptTime("decided_at", p.DecidedAt)
		o.OptText("decided_by", (*string)(p.DecidedBy))
	}
}

func textFields(of sheaf.ProposalID, text string) sheaf.RecordFunc {
	return func(o *sheaf.Object) {
		o.Text("proposal_id", string(of))
		o.Text("content", text)
	}
}

func commentFields(c *sheaf.Comment) sheaf.RecordFunc {
	return func(o *sheaf.Object) {
		o.Text("proposal_id", string(c.Proposal))
		o.Int("number", c.Number)
		o.OptInt("change", c.Change)
		o.Text("body", c.Body)
		o.Text("user_id", string(c.User))
		o.OptText("key_id", (*string)(c.Key))
		o.Time("created_at", c.CreatedAt)
		o.Time("updated_at", c.UpdatedAt)
	}
}

// readProposal reads the line of a proposal.
func readProposal(f *strict.Fields) *app.ImportProposal {
	required(f, "user_id")
	p := &app.ImportProposal{Title: required(f, "title"), Message: f.Text("message").Pointer(), Note: f.Text("note").Pointer(),
		State: sheaf.ProposalState(required(f, "state")), User: referenceTo[sheaf.UserID](f, "user_id").Value,
		Key: referenceTo[sheaf.KeyID](f, "key_id").Pointer(), Revision: f.Int("revision", 1, sheaf.MaxNumber).Value,
		DecidedAt: f.Time("decided_at").Pointer(), DecidedBy: referenceTo[sheaf.UserID](f, "decided_by").Pointer()}
	changes, people := f.RawArray("changes"), f.RawArray("people")
	if f.Err() != nil {
		return p
	}
	if !changes.Given() {
		f.Refuse(errors.New("changes is required: give it"))
		return p
	}
	var err error
	if p.Changes, err = sheaf.DecodeChanges(changes.Value); err != nil {
		f.Refuse(err)
	}
	if people.Given() {
		f.Refuse(readPeople(people.Value, &p.People))
	}
	return p
}

// readPeople reads the people who wrote or approved a proposal, or were asked to approve it.
func readPeople(raw []byte, into *[]sheaf.Reviewer) error {
	if json.Unmarshal(raw, into) != nil {
		return errors.New("people cannot be read: copy the array that sheaf export wrote")
	}
	for _, r := range *into {
		ids := []string{string(r.User)}
		if r.AskedBy != nil {
			ids = append(ids, string(*r.AskedBy))
		}
		for _, is := range ids {
			if id, ok := sheaf.ParseUUID(is); !ok || id != is {
				return fmt.Errorf("people: %q is not a UUID such as 0198c0de-0000-7000-8000-000000000000: correct it", sheaf.Clip(is))
			}
		}
	}
	return nil
}

// readText reads the line of a proposal's text.
func readText(f *strict.Fields) app.ImportRecord {
	required(f, "proposal_id")
	text := required(f, "content")
	return app.ImportRecord{ID: referenceTo[string](f, "proposal_id").Value, ProposalText: &text}
}

// readComment reads the line of a comment.
func readComment(f *strict.Fields) app.ImportRecord {
	required(f, "proposal_id")
	required(f, "user_id")
	number := f.Int("number", 1, sheaf.MaxNumber)
	if !number.Given() {
		f.Refuse(errors.New("number is required: give it"))
	}
	return app.ImportRecord{ID: referenceTo[string](f, "proposal_id").Value, CreatedAt: f.Time("created_at").Pointer(), UpdatedAt: f.Time("updated_at").Pointer(),
		Comment: &app.ImportComment{Number: number.Value, Change: f.Int("change", 0, sheaf.MaxProposed-1).Pointer(), Body: required(f, "body"),
			User: referenceTo[sheaf.UserID](f, "user_id").Value, Key: referenceTo[sheaf.KeyID](f, "key_id").Pointer()}}
}

// parts checks that a proposal is followed by all its texts, by its comments, and by no other text or comment.
type parts struct {
	id       string // of the proposal; empty: none may follow
	first    int    // its line
	missing  map[string]bool
	comments int64 // number of the last comment
	count    int
}

func (p *parts) line(number int, l *line) error {
	r := &l.record
	if !r.OfProposal() {
		if err := p.complete(); err != nil {
			return err
		}
		if *p = (parts{}); r.Proposal != nil {
			*p = parts{id: r.ID, first: number, missing: sheaf.TextHashes(r.Proposal.Changes)}
		}
		return nil
	}
	if p.id == "" || r.ID != p.id {
		return fmt.Errorf("is a part of proposal %s, which does not belong here: texts and comments follow the proposal's own line", r.ID)
	}
	if c := r.Comment; c != nil {
		if p.count++; c.Number <= p.comments || p.count > sheaf.MaxComments {
			return fmt.Errorf("is comment %d of proposal %s: the numbers of comments rise, and a proposal has at most %d", c.Number, r.ID, sheaf.MaxComments)
		}
		p.comments = c.Number
		return nil
	}
	sum := sha256.Sum256([]byte(*r.ProposalText))
	hash := hex.EncodeToString(sum[:])
	if !p.missing[hash] {
		return fmt.Errorf("has a text that no change of the proposal on line %d names, or that an earlier line has already: leave the line out", p.first)
	}
	delete(p.missing, hash)
	return nil
}

// complete returns an error if a text of the proposal is missing.
func (p *parts) complete() error {
	if n := len(p.missing); n > 0 {
		return fmt.Errorf("is where %d more texts of the proposal on line %d should be: lines were lost, export it again", n, p.first)
	}
	return nil
}
