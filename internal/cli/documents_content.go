package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"

	"sheaf.dev/client"
)

type documentsContent struct {
	apiCommand
	ID string `arg:"" complete:"documents" help:"Id or title of the document."`
}

// Run prints the text as it is, without a line end of its own.
func (c *documentsContent) Run(ctx context.Context, p *Program) error {
	return ask(c.on(documents, &c.ID), ctx, p, func(ctx context.Context, api *client.Client) (client.Document, error) {
		return api.Documents.Get(ctx, c.ID)
	}, func(d client.Document) string { return or(d.Content, "") })
}

type documentsVersions struct {
	apiCommand
	Limit int    `placeholder:"N" help:"Show at most so many; all without it."`
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
	ID string `arg:"" complete:"documents" help:"Id or title of the document."`
}

// Run opens the text in an editor, and saves it unless somebody changed the document meanwhile.
func (c *documentsEdit) Run(ctx context.Context, p *Program) error {
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
			err = errors.New("somebody else changed the document meanwhile, and nothing was saved")
		}
		return after, d.end(err)
	}, documentText)
}

// draft is a text in a file that nobody else may read, while a person edits it.
type draft struct {
	program *Program
	quiet   bool // standard output is for a script
	file    string
}

// edit writes the text into the file, waits for the editor, and returns what the file has then.
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
	if err := d.editor(ctx).Run(); err != nil {
		return "", fmt.Errorf("the editor failed, and nothing was saved: %w", err)
	}
	edited, err := os.ReadFile(d.file)
	return string(edited), err
}

// editor is the command that a person chose. It is words of a shell, such as "code --wait".
func (d *draft) editor(ctx context.Context) *exec.Cmd {
	chosen := "vi"
	for _, name := range []string{"EDITOR", "VISUAL"} {
		if value, _ := d.program.Env(name); value != "" {
			chosen = value
		}
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", chosen+` "$1"`, "sh", d.file)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = d.program.Stdin, d.program.Stdout, d.program.Stderr
	if d.quiet {
		cmd.Stdout = d.program.Stderr
	}
	return cmd
}

// end removes the file; where the text was not saved the file stays, and the error names it.
func (d *draft) end(err error) error {
	switch {
	case d.file == "":
		return err
	case err != nil:
		return fmt.Errorf("%s; your text is in %s", refusalText(err), d.file)
	}
	return os.Remove(d.file)
}

// refusalText returns the message of the server's refusal, or the text of any other error.
func refusalText(err error) string {
	var refusal *client.Error
	if errors.As(err, &refusal) {
		return refusal.Message
	}
	return err.Error()
}
