package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"

	"sheaf.dev/client"
	"sheaf.dev/internal/sheaf"
)

type documentsContent struct {
	apiCommand
	ID string `arg:"" complete:"documents" help:"Id or title of the document."`
}

// Run prints the text unchanged. It adds no line end.
func (c *documentsContent) Run(ctx context.Context, p *Program) error {
	return ask(c.on(documents, &c.ID), ctx, p, func(ctx context.Context, api *client.Client) (client.Document, error) {
		return api.Documents.Get(ctx, c.ID)
	}, func(d client.Document) string { return or(d.Content, "") })
}

type documentsVersions struct {
	apiCommand
	Limit int    `placeholder:"N" help:"Show at most N; all without it."`
	ID    string `arg:"" complete:"documents" help:"Id or title of the document."`
}

func (c *documentsVersions) Run(ctx context.Context, p *Program) error {
	return askAll(c.on(documents, &c.ID), ctx, p, c.Limit, func(ctx context.Context, api *client.Client) iter.Seq2[client.Version, error] {
		return api.Documents.AllVersions(ctx, c.ID, pages{Limit: c.Limit}.paging())
	}, "VERSION\tMADE\tBYTES\tUSER\tTITLE", func(v client.Version) []any {
		return []any{v.Number, stamp(v.CreatedAt), v.ContentBytes, or(v.UserID, "-"), v.Title}
	})
}

type documentsEdit struct {
	apiCommand
	ID      string `arg:"" complete:"documents" help:"Id or title of the document."`
	Propose bool   `help:"Change no document: make a proposal of the new text."`
	Why     string `placeholder:"TEXT" help:"With --propose: why, for the people who decide."`
}

// Run opens the text in an editor, and saves it unless another person changed the document
// meanwhile. With --propose it makes a proposal of the text.
func (c *documentsEdit) Run(ctx context.Context, p *Program) error {
	if c.Propose {
		return ask(c.on(documents, &c.ID), ctx, p, func(ctx context.Context, api *client.Client) (client.Proposal, error) {
			return c.propose(ctx, p, api)
		}, proposalText)
	}
	if c.Why != "" {
		return sheaf.Invalidf("--why is for a proposal: add --propose")
	}
	return ask(c.on(documents, &c.ID), ctx, p, func(ctx context.Context, api *client.Client) (client.Document, error) {
		before, err := api.Documents.Get(ctx, c.ID)
		if err != nil {
			return before, err
		}
		d := &draft{program: p, quiet: c.JSON}
		text, err := d.edit(ctx, or(before.Content, ""))
		if err != nil || text == or(before.Content, "") {
			return before, d.end(err)
		}
		after, err := api.Documents.PutContent(ctx, c.ID, text, client.IfMatch(before.ETag))
		if errors.Is(err, client.ErrPreconditionFailed) {
			err = errors.New("the document was changed meanwhile, and nothing was saved")
		}
		return after, d.end(err)
	}, documentText)
}

// propose opens the text in an editor, and makes a proposal of what it became.
func (c *documentsEdit) propose(ctx context.Context, p *Program, api *client.Client) (made client.Proposal, err error) {
	before, err := api.Documents.Get(ctx, c.ID)
	if err != nil {
		return made, err
	}
	d := &draft{program: p, quiet: c.JSON}
	text, err := d.edit(ctx, or(before.Content, ""))
	if err == nil && text == or(before.Content, "") {
		if err := d.end(nil); err != nil {
			return made, err
		}
		return made, sheaf.Invalidf("the text is as it was, and nothing was proposed")
	}
	if err == nil {
		title := "Edit “" + before.Title + "”"
		if len([]rune(title)) > sheaf.MaxName {
			title = "Edit a document"
		}
		made, err = api.Proposals.Create(ctx, client.NewProposal{Title: title, Message: c.Why, Changes: []client.NewChange{
			{Op: string(sheaf.ProposeEdit), DocumentID: before.ID, BaseVersion: before.Version, Content: client.Set(text)}}})
	}
	return made, d.end(err)
}

// draft is a temporary file with the text that a person edits. Only its user may read it.
type draft struct {
	program *Program
	quiet   bool // standard output is for a script
	file    string
}

// edit writes the text into the file, runs the editor, and returns the edited text. The editor is a
// command for the shell, such as "code --wait".
func (d *draft) edit(ctx context.Context, text string) (string, error) {
	f, err := os.CreateTemp("", "sheaf-*.md") // mode 0600
	if err != nil {
		return "", err
	}
	d.file = f.Name()
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	chosen := "vi"
	for _, name := range []string{"EDITOR", "VISUAL"} {
		if value, _ := d.program.Env(name); value != "" {
			chosen = value
		}
	}
	editor := exec.CommandContext(ctx, "sh", "-c", chosen+` "$1"`, "sh", d.file)
	editor.Stdin, editor.Stdout, editor.Stderr = d.program.Stdin, d.program.Stdout, d.program.Stderr
	if d.quiet {
		editor.Stdout = d.program.Stderr
	}
	if err := editor.Run(); err != nil {
		return "", fmt.Errorf("the editor failed, and nothing was saved: %w", err)
	}
	edited, err := os.ReadFile(d.file)
	return string(edited), err
}

// end deletes the file. If the text was not saved, it keeps the file, and the error names it.
func (d *draft) end(err error) error {
	switch {
	case d.file == "":
		return err
	case err != nil:
		var refusal *client.Error
		if errors.As(err, &refusal) {
			return fmt.Errorf("%s; your text is in %s", errorText(err), d.file)
		}
		return fmt.Errorf("%w; your text is in %s", err, d.file)
	}
	return os.Remove(d.file)
}
