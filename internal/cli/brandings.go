package cli

import (
	"context"
	"iter"

	"sheaf.dev/client"
)

type brandingsCommands struct {
	List   brandingsList   `cmd:"" help:"List brandings."`
	Get    brandingsGet    `cmd:"" help:"Show a branding."`
	Create brandingsCreate `cmd:"" help:"Make a branding."`
	Update brandingsUpdate `cmd:"" help:"Change a branding."`
	Move   brandingsMove   `cmd:"" help:"Move a branding to a branding folder, or to the root level."`
	Delete brandingsDelete `cmd:"" help:"Delete a branding for good; shares that use it have none then."`
}

type brandingsList struct {
	apiCommand
	pages
	Folder       string `placeholder:"ID|NAME|root" complete:"folders" help:"Only those directly in this folder, or at the root level."`
	Query        string `name:"query" short:"q" placeholder:"TEXT" help:"Only those with this text in the name."`
	UpdatedSince string `name:"updated-since" placeholder:"TIME" help:"Only those changed last at this time or later."`
	Sort         string `placeholder:"FIELD" values:"sort_order,name,created_at,updated_at" help:"sort_order, name, created_at or updated_at."`
}

func (c *brandingsList) Run(ctx context.Context, p *Program) error {
	since, err := moment("--updated-since", c.UpdatedSince)
	if err != nil {
		return err
	}
	return askAll(c.in(folders, &c.Folder), ctx, p, c.Limit, func(ctx context.Context, api *client.Client) iter.Seq2[client.Branding, error] {
		return api.Brandings.All(ctx, client.BrandingFilter{FolderID: place(c.Folder), Query: c.Query, UpdatedSince: since, Sort: c.Sort, Paging: c.paging()})
	}, "ID\tCOLOR\tFONT\tUPDATED\tNAME", func(v client.Branding) []any {
		return []any{v.ID, v.ColorPrimary, v.Font, stamp(v.UpdatedAt), v.Name}
	})
}

type brandingsGet struct {
	apiCommand
	ID string `arg:"" complete:"brandings" help:"Id or name of the branding."`
}

func (c *brandingsGet) Run(ctx context.Context, p *Program) error {
	return ask(c.on(brandings, &c.ID), ctx, p, func(ctx context.Context, api *client.Client) (client.Branding, error) {
		return api.Brandings.Get(ctx, c.ID)
	}, brandingText)
}

func brandingText(v client.Branding) string {
	return facts("id", v.ID, "name", v.Name, "folder", or(v.FolderID, "root"), "logo", or(v.LogoMediaID, ""), "color", v.ColorPrimary,
		"font", v.Font, "footer", or(v.Footer, ""), "created", stamp(v.CreatedAt), "updated", stamp(v.UpdatedAt))
}

type brandingsCreate struct {
	apiCommand
	Name      string `arg:"" help:"Name, 1 to 200 characters."`
	Folder    string `placeholder:"ID|NAME" complete:"folders" help:"Branding folder to make it in; without it, the root level."`
	Logo      string `placeholder:"ID|NAME" complete:"media" help:"Medium of the logo, a picture."`
	Color     string `placeholder:"#RRGGBB" help:"All other colors are derived from it."`
	Font      string `placeholder:"FONT" values:"system,serif,mono" help:"system, serif or mono."`
	Footer    string `placeholder:"TEXT" help:"Plain text at the end of every page."`
	SortOrder int32  `placeholder:"N" help:"Position in lists, smallest first."`
}

func (c *brandingsCreate) Run(ctx context.Context, p *Program) error {
	return ask(c.in(folders, &c.Folder).in(media, &c.Logo), ctx, p, func(ctx context.Context, api *client.Client) (client.Branding, error) {
		return api.Brandings.Create(ctx, client.NewBranding{Name: c.Name, FolderID: target(c.Folder), LogoMediaID: c.Logo, ColorPrimary: c.Color,
			Font: c.Font, Footer: c.Footer, SortOrder: c.SortOrder})
	}, brandingText)
}

type brandingsUpdate struct {
	apiCommand
	ID        string  `arg:"" complete:"brandings" help:"Id or name of the branding."`
	Name      *string `placeholder:"TEXT"`
	Logo      *string `placeholder:"ID|NAME" complete:"media" help:"Medium of the logo; an empty one clears it, as for footer."`
	Color     *string `placeholder:"#RRGGBB" help:"An empty one is the default, as for font."`
	Font      *string `placeholder:"FONT" values:"system,serif,mono" help:"system, serif or mono."`
	Footer    *string `placeholder:"TEXT" help:"Plain text at the end of every page."`
	SortOrder *int32  `placeholder:"N" help:"Position in lists, smallest first."`
}

func (c *brandingsUpdate) Run(ctx context.Context, p *Program) error {
	return ask(c.on(brandings, &c.ID).in(media, c.Logo), ctx, p, func(ctx context.Context, api *client.Client) (client.Branding, error) {
		return api.Brandings.Update(ctx, c.ID, client.BrandingChange{Name: changeTo(c.Name), LogoMediaID: change(c.Logo), ColorPrimary: change(c.Color),
			Font: change(c.Font), Footer: change(c.Footer), SortOrder: changeTo(c.SortOrder)})
	}, brandingText)
}

type brandingsMove struct {
	apiCommand
	ID     string `arg:"" complete:"brandings" help:"Id or name of the branding."`
	Folder string `arg:"" complete:"folders" help:"Id or name of the branding folder, or root."`
}

func (c *brandingsMove) Run(ctx context.Context, p *Program) error {
	return ask(c.on(brandings, &c.ID).in(folders, &c.Folder), ctx, p, func(ctx context.Context, api *client.Client) (client.Branding, error) {
		return api.Brandings.Move(ctx, c.ID, target(c.Folder))
	}, brandingText)
}

type brandingsDelete struct {
	apiCommand
	ID string `arg:"" complete:"brandings" help:"Id or name of the branding."`
}

func (c *brandingsDelete) Run(ctx context.Context, p *Program) error {
	return c.on(brandings, &c.ID).deleteRecord(ctx, p, "branding", &c.ID, func(ctx context.Context, api *client.Client) error { return api.Brandings.Delete(ctx, c.ID) })
}
