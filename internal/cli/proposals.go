package cli

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"sheaf.dev/client"
	"sheaf.dev/internal/sheaf"
)

type proposalsCommands struct {
	List     proposalsList     `cmd:"" help:"List the proposals, the newest first."`
	Get      proposalsGet      `cmd:"" help:"Show a proposal with its changes and its conflicts."`
	Diff     proposalsDiff     `cmd:"" help:"Print the changes of texts that a proposal would make, as a unified diff."`
	Approve  proposalsApprove  `cmd:"" help:"Approve a proposal of another person."`
	Accept   proposalsAccept   `cmd:"" help:"Make all changes of a proposal, or none."`
	Reject   proposalsReject   `cmd:"" help:"End a proposal without making its changes."`
	Withdraw proposalsWithdraw `cmd:"" help:"End a proposal of your own."`
}

type proposalsList struct {
	apiCommand
	pages
	State        string `placeholder:"STATE" values:"open,accepted,rejected,withdrawn" help:"Only proposals in this state: open, accepted, rejected or withdrawn."`
	Project      string `placeholder:"ID|NAME" complete:"projects" help:"Only proposals that name this project or its documents."`
	Document     string `placeholder:"ID|TITLE" complete:"documents" help:"Only proposals that name this document."`
	UpdatedSince string `name:"updated-since" placeholder:"TIME" help:"Only proposals changed at this time or later."`
}

func (c *proposalsList) Run(ctx context.Context, p *Program) error {
	since, err := moment("--updated-since", c.UpdatedSince)
	if err != nil {
		return err
	}
	f := client.ProposalFilter{State: c.State, UpdatedSince: since, Paging: c.paging()}
	f.Desc = !f.Desc // the newest first
	return askAll(c.in(projects, &c.Project).in(documents, &c.Document), ctx, p, c.Limit, func(ctx context.Context, api *client.Client) iter.Seq2[client.Proposal, error] {
		f.ProjectID, f.DocumentID = c.Project, c.Document
		return api.Proposals.All(ctx, f)
	}, "ID\tNUMBER\tSTATE\tCHANGES\tUPDATED\tTITLE", func(v client.Proposal) []any {
		return []any{v.ID, v.Number, v.State, len(v.Changes), stamp(v.UpdatedAt), v.Title}
	})
}

// proposalArgument is the argument of a command about one proposal.
type proposalArgument struct {
	apiCommand
	ID string `arg:"" complete:"proposals" help:"Id or title of the proposal."`
}

// ask makes one call about the proposal and prints it.
func (c *proposalArgument) ask(ctx context.Context, p *Program, call func(context.Context, *client.Client) (client.Proposal, error)) error {
	return ask(c.on(proposals, &c.ID), ctx, p, call, proposalText)
}

type proposalsGet struct{ proposalArgument }

func (c *proposalsGet) Run(ctx context.Context, p *Program) error {
	return c.ask(ctx, p, func(ctx context.Context, api *client.Client) (client.Proposal, error) {
		return api.Proposals.Get(ctx, c.ID)
	})
}

func proposalText(v client.Proposal) string {
	var b strings.Builder
	b.WriteString(facts("id", v.ID, "number", fmt.Sprint(v.Number), "title", v.Title, "state", v.State, "message", or(v.Message, ""), "note", or(v.Note, ""), "revision", fmt.Sprint(v.Revision),
		"approvals", number(len(v.Approvals)), "by", v.UserID, "created", stamp(v.CreatedAt), "updated", stamp(v.UpdatedAt), "decided", stampOr(v.DecidedAt, "")))
	b.WriteString(Table("CHANGE\tDO\tDOCUMENT\tWHAT", func(row func(...any)) {
		for i, c := range v.Changes {
			row(i, c.Op, c.DocumentID, strings.Join(changedBy(c), ", "))
		}
	}))
	for _, c := range v.Conflicts {
		fmt.Fprintf(&b, "change %d cannot be made: %s\n", c.Change, OneLine(c.Reason))
	}
	return b.String()
}

// number formats a count; 0 is empty.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// changedBy returns the fields that a change sets. Of a new document it returns the title.
func changedBy(c client.ProposedChange) (names []string) {
	if c.Op == "create" {
		return []string{or(c.Title, "")}
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"title", c.Title != nil}, {"description", c.Description != nil}, {"text", c.ContentSHA256 != nil}, {"url", c.URL != nil},
		{"external id", c.ExternalID != nil}, {"metadata", c.Metadata != nil}, {"project", c.ProjectID != nil}, {"parent", c.ParentID != nil},
		{"order", c.BeforeID != nil || c.AfterID != nil},
	} {
		if f.set {
			names = append(names, f.name)
		}
	}
	return names
}

type proposalsDiff struct{ proposalArgument }

// Run prints the difference of each change. With --json it prints what the server answers for each.
func (c *proposalsDiff) Run(ctx context.Context, p *Program) error {
	return c.on(proposals, &c.ID).call(ctx, p, func(ctx context.Context, api *client.Client) error {
		v, err := api.Proposals.Get(ctx, c.ID)
		if err != nil {
			return err
		}
		all := make([]client.ProposalPreview, len(v.Changes))
		for i := range all {
			if all[i], err = api.Proposals.Preview(ctx, c.ID, i); err != nil {
				return err
			}
		}
		if c.JSON {
			parts := make([]string, len(all))
			for i := range all {
				parts[i] = string(rawOf(&all[i]))
			}
			return p.Print("[" + strings.Join(parts, ",") + "]\n")
		}
		var b strings.Builder
		for i, change := range v.Changes {
			fmt.Fprintf(&b, "change %d: %s %s\n", i, change.Op, OneLine(strings.Join(append([]string{change.DocumentID}, changedBy(change)...), " ")))
			if diff := or(all[i].Diff, ""); diff != "" {
				b.WriteString(strings.TrimSuffix(diff, "\n") + "\n")
			}
		}
		return p.Print(b.String())
	})
}

type proposalsApprove struct {
	proposalArgument
	asRead
}

func (c *proposalsApprove) Run(ctx context.Context, p *Program) error {
	return c.ask(ctx, p, func(ctx context.Context, api *client.Client) (client.Proposal, error) {
		etag, err := c.etag(ctx, api, c.ID)
		if err != nil {
			return client.Proposal{}, err
		}
		return api.Proposals.Approve(ctx, c.ID, etag)
	})
}

type proposalsAccept struct {
	proposalArgument
	asRead
}

func (c *proposalsAccept) Run(ctx context.Context, p *Program) error {
	return c.ask(ctx, p, func(ctx context.Context, api *client.Client) (client.Proposal, error) {
		etag, err := c.etag(ctx, api, c.ID)
		if err != nil {
			return client.Proposal{}, err
		}
		return api.Proposals.Accept(ctx, c.ID, etag)
	})
}

// asRead is the flag with the revision that the person has read.
type asRead struct {
	Revision int64 `placeholder:"N" help:"Decide only if the proposal is still at this revision. The command get shows the revision."`
}

// etag returns the ETag of the proposal as it is now. It returns an error if its revision is not the one
// of the flag.
func (f asRead) etag(ctx context.Context, api *client.Client, id string) (string, error) {
	v, err := api.Proposals.Get(ctx, id)
	if err == nil && f.Revision != 0 && f.Revision != v.Revision {
		err = sheaf.Invalidf("the proposal is at revision %d, not %d: read it again", v.Revision, f.Revision)
	}
	return v.ETag, err
}

type proposalsReject struct {
	proposalArgument
	Note string `placeholder:"TEXT" help:"Why, for its author."`
}

func (c *proposalsReject) Run(ctx context.Context, p *Program) error {
	return c.ask(ctx, p, func(ctx context.Context, api *client.Client) (client.Proposal, error) {
		return api.Proposals.Reject(ctx, c.ID, c.Note)
	})
}

type proposalsWithdraw struct{ proposalArgument }

func (c *proposalsWithdraw) Run(ctx context.Context, p *Program) error {
	return c.ask(ctx, p, func(ctx context.Context, api *client.Client) (client.Proposal, error) {
		return api.Proposals.Withdraw(ctx, c.ID)
	})
}
