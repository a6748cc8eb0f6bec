package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"sheaf.dev/client"
	"sheaf.dev/internal/sheaf"
)

type sharesCommands struct {
	List   sharesList   `cmd:"" help:"List the shares."`
	Get    sharesGet    `cmd:"" help:"Show a share."`
	Create sharesCreate `cmd:"" help:"Publish a document, a project or a folder under an address."`
	Update sharesUpdate `cmd:"" help:"Change the password, the end or the listing of a share."`
	Delete sharesDelete `cmd:"" help:"End a share; its address is then not found."`
}

type sharesList struct {
	apiCommand
	pages
	Of string `placeholder:"ID|NAME" complete:"shareable" help:"Only those of this document, project or folder."`
}

func (c *sharesList) Run(ctx context.Context, p *Program) error {
	return askAll(c.in(shareable, &c.Of), ctx, p, c.Limit, func(ctx context.Context, api *client.Client) iter.Seq2[client.Share, error] {
		return api.Shares.All(ctx, client.ShareFilter{ResourceID: c.Of, Paging: c.paging()})
	}, "ID\tOF\tVIEWS\tEXPIRES\tURL", func(v client.Share) []any {
		return []any{v.ID, v.ResourceType, v.Views, stampOr(v.ExpiresAt, "never"), v.URL}
	})
}

type sharesGet struct {
	apiCommand
	ID string `arg:"" complete:"shares" help:"Id or address of the share."`
}

func (c *sharesGet) Run(ctx context.Context, p *Program) error {
	return ask(c.on(shares, &c.ID), ctx, p, func(ctx context.Context, api *client.Client) (client.Share, error) {
		return api.Shares.Get(ctx, c.ID)
	}, shareText)
}

func shareText(v client.Share) string {
	return facts("id", v.ID, "url", v.URL, "of", v.ResourceType+" "+v.ResourceID, "password", yesNo(v.HasPassword), "listed", yesNo(v.Listed),
		"expires", stampOr(v.ExpiresAt, "never"), "branding", or(v.BrandingID, ""), "views", fmt.Sprint(v.Views), "last viewed", stampOr(v.LastViewedAt, ""),
		"created", stamp(v.CreatedAt), "updated", stamp(v.UpdatedAt))
}

// yesNo formats a boolean.
func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

type sharesCreate struct {
	apiCommand
	Kind     string `arg:"" enum:"document,project,folder" help:"document, project or folder."`
	ID       string `arg:"" complete:"shareable" help:"Id or name of the document, the project or the folder."`
	Password string `placeholder:"TEXT|-" help:"Password for readers; - reads it from standard input."`
	Expires  string `placeholder:"TIME|720h" help:"When it ends, or after how long; by default never."`
	Branding string `placeholder:"ID|NAME" complete:"brandings" help:"Its branding; by default the workspace's default."`
	Listed   bool   `help:"Let search engines list it."`
}

func (c *sharesCreate) Run(ctx context.Context, p *Program) error {
	in := client.NewShare{ResourceType: c.Kind, Listed: c.Listed}
	var err error
	if in.ExpiresAt, err = p.futureTime("--expires", c.Expires); err != nil {
		return err
	}
	if in.Password, err = p.readSecret(c.Password); err != nil {
		return err
	}
	of := map[string]noun{documents.one: documents, projects.one: projects, folders.one: folders}[c.Kind]
	return ask(c.on(of, &c.ID).in(brandings, &c.Branding), ctx, p, func(ctx context.Context, api *client.Client) (client.Share, error) {
		in.ResourceID, in.BrandingID = c.ID, c.Branding
		return api.Shares.Create(ctx, in)
	}, shareText)
}

// futureTime reads a time, or a duration from now. An empty text is nil.
func (p *Program) futureTime(flag, s string) (*time.Time, error) {
	if s == "" {
		return nil, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if d, wrong := time.ParseDuration(s); wrong == nil && d > 0 {
		t, err = p.Now().Add(d), nil
	}
	if err != nil {
		return nil, sheaf.Invalidf("%s: %q is not a time: write 2030-01-01T00:00:00Z, or after how long, for example 720h", flag, sheaf.Clip(s))
	}
	return &t, nil
}

// readSecret returns the argument, or for - the first line of standard input. Other users of the
// machine can read a command line, but not standard input.
func (p *Program) readSecret(s string) (string, error) {
	if s != "-" {
		return s, nil
	}
	line, err := bufio.NewReader(io.LimitReader(p.Stdin, 4096)).ReadString('\n')
	if err != nil && err != io.EOF {
		return "", fmt.Errorf("read the password from standard input: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

type sharesUpdate struct {
	apiCommand
	ID       string  `arg:"" complete:"shares" help:"Id or address of the share."`
	Password *string `placeholder:"TEXT|-" help:"Password for readers; - reads it from standard input, an empty one removes it."`
	Expires  *string `placeholder:"TIME|720h" help:"When it ends, or after how long; an empty one means never."`
	Branding *string `placeholder:"ID|NAME" complete:"brandings" help:"Its branding; an empty one means the workspace's default."`
	Listed   *bool   `negatable:"" help:"Let search engines list it; --no-listed ends that."`
}

func (c *sharesUpdate) Run(ctx context.Context, p *Program) error {
	in := client.ShareChange{Listed: changeTo(c.Listed)}
	if c.Password != nil {
		password, err := p.readSecret(*c.Password)
		if err != nil {
			return err
		}
		in.Password = change(&password)
	}
	if c.Expires != nil {
		at, err := p.futureTime("--expires", *c.Expires)
		if err != nil {
			return err
		}
		if in.ExpiresAt = client.Null[time.Time](); at != nil {
			in.ExpiresAt = client.Set(*at)
		}
	}
	return ask(c.on(shares, &c.ID).in(brandings, c.Branding), ctx, p, func(ctx context.Context, api *client.Client) (client.Share, error) {
		in.BrandingID = change(c.Branding)
		return api.Shares.Update(ctx, c.ID, in)
	}, shareText)
}

type sharesDelete struct {
	apiCommand
	ID string `arg:"" complete:"shares" help:"Id or address of the share."`
}

func (c *sharesDelete) Run(ctx context.Context, p *Program) error {
	return c.on(shares, &c.ID).deleteRecord(ctx, p, "share", &c.ID, func(ctx context.Context, api *client.Client) error { return api.Shares.Delete(ctx, c.ID) })
}
