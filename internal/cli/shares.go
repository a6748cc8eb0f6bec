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
	Update sharesUpdate `cmd:"" help:"Change the password, the end, the listing or the release of a share."`
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
	}, "ID\tOF\tRELEASE\tVIEWS\tEXPIRES\tURL", func(v client.Share) []any {
		return []any{v.ID, v.ResourceType, or(v.Release, ""), v.Views, stampOr(v.ExpiresAt, "never"), v.URL}
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
		"release", or(v.Release, ""), "readers switch releases", sometimes(v.ShowReleases), "expires", stampOr(v.ExpiresAt, "never"), "branding", or(v.BrandingID, ""), "views", fmt.Sprint(v.Views), "last viewed", stampOr(v.LastViewedAt, ""),
		"created", stamp(v.CreatedAt), "updated", stamp(v.UpdatedAt))
}

// sometimes formats a boolean that most records do not have set; false is empty.
func sometimes(b bool) string {
	if b {
		return "yes"
	}
	return ""
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

	Release      string `placeholder:"newest|ID|NAME" values:"newest" help:"Of a project: show its newest release, or this one, instead of the documents as they are now."`
	ShowReleases bool   `help:"Of a project: let readers switch between its releases."`
}

func (c *sharesCreate) Run(ctx context.Context, p *Program) error {
	in := client.NewShare{ResourceType: c.Kind, Listed: c.Listed, ShowReleases: c.ShowReleases}
	var err error
	if in.ExpiresAt, err = p.futureTime("--expires", c.Expires); err != nil {
		return err
	}
	if in.Password, err = p.readSecret(c.Password); err != nil {
		return err
	}
	of := map[string]noun{documents.one: documents, projects.one: projects, folders.one: folders}[c.Kind]
	named := c.on(of, &c.ID).in(brandings, &c.Branding)
	if c.Kind == projects.one && c.Release != client.NewestRelease {
		named = named.in(releasesOf(&c.ID), &c.Release)
	}
	return ask(named, ctx, p, func(ctx context.Context, api *client.Client) (client.Share, error) {
		in.ResourceID, in.BrandingID, in.Release = c.ID, c.Branding, target(c.Release)
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

	Release      *string `placeholder:"newest|ID|NAME|none" values:"newest,none" help:"Of a project: show its newest release, or this one; none shows the documents as they are now."`
	ShowReleases *bool   `negatable:"" help:"Of a project: let readers switch between its releases; --no-show-releases ends that."`
}

func (c *sharesUpdate) Run(ctx context.Context, p *Program) error {
	in := client.ShareChange{Listed: changeTo(c.Listed), ShowReleases: changeTo(c.ShowReleases)}
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
	named := c.on(shares, &c.ID).in(brandings, c.Branding)
	if c.Release != nil && *c.Release != client.NewestRelease {
		named = named.in(releasesOfShare(&c.ID), c.Release)
	}
	return ask(named, ctx, p, func(ctx context.Context, api *client.Client) (client.Share, error) {
		in.BrandingID = change(c.Branding)
		if c.Release != nil {
			release := target(*c.Release)
			in.Release = change(&release)
		}
		return api.Shares.Update(ctx, c.ID, in)
	}, shareText)
}

// releasesOfShare is releasesOf for the project that a share shows.
func releasesOfShare(share *string) noun {
	n := releasesOf(nil)
	n.find = func(ctx context.Context, api *client.Client, text string) iter.Seq2[Known, error] {
		return func(yield func(Known, error) bool) {
			s, err := api.Shares.Get(ctx, *share)
			if err == nil && s.ResourceType != projects.one {
				err = sheaf.Invalidf("--release: the share shows a %s, which has no releases", s.ResourceType)
			}
			if err != nil {
				yield(Known{}, err)
				return
			}
			releasesOf(&s.ResourceID).find(ctx, api, text)(yield)
		}
	}
	return n
}

type sharesDelete struct {
	apiCommand
	ID string `arg:"" complete:"shares" help:"Id or address of the share."`
}

func (c *sharesDelete) Run(ctx context.Context, p *Program) error {
	return c.on(shares, &c.ID).deleteRecord(ctx, p, "share", &c.ID, func(ctx context.Context, api *client.Client) error { return api.Shares.Delete(ctx, c.ID) })
}
