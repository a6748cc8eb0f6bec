package cli

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"sheaf.dev/client"
	"sheaf.dev/internal/sheaf"
)

type mediaCommands struct {
	List     mediaList     `cmd:"" help:"List media."`
	Get      mediaGet      `cmd:"" help:"Show a medium."`
	Upload   mediaUpload   `cmd:"" help:"Upload a file of at most 10 MB."`
	Download mediaDownload `cmd:"" help:"Write the bytes of a medium to a file, or with - to standard output."`
	Delete   mediaDelete   `cmd:"" help:"Delete a medium for good."`
}

type mediaList struct {
	apiCommand
	pages
	Document string `placeholder:"ID|NAME" complete:"documents" help:"Only those of this document; null means without a document."`
	Type     string `placeholder:"TYPE" help:"Only those whose type begins with this, for example image/."`
}

func (c *mediaList) Run(ctx context.Context, p *Program) error {
	return askAll(c.in(documents, &c.Document), ctx, p, c.Limit, func(ctx context.Context, api *client.Client) iter.Seq2[client.Medium, error] {
		return api.Media.All(ctx, client.MediumFilter{DocumentID: c.Document, ContentType: c.Type, Paging: c.paging()})
	}, "ID\tFILENAME\tTYPE\tBYTES\tCREATED", func(v client.Medium) []any {
		return []any{v.ID, v.Filename, v.ContentType, v.Bytes, stamp(v.CreatedAt)}
	})
}

type mediaGet struct {
	apiCommand
	ID string `arg:"" complete:"media" help:"Id or name of the medium."`
}

func (c *mediaGet) Run(ctx context.Context, p *Program) error {
	return ask(c.on(media, &c.ID), ctx, p, func(ctx context.Context, api *client.Client) (client.Medium, error) {
		return api.Media.Get(ctx, c.ID)
	}, mediumText)
}

func mediumText(v client.Medium) string {
	size := ""
	if v.Width != nil && v.Height != nil {
		size = fmt.Sprintf("%d × %d", *v.Width, *v.Height)
	}
	return facts("id", v.ID, "filename", v.Filename, "type", v.ContentType, "bytes", fmt.Sprint(v.Bytes), "size", size, "sha256", v.SHA256,
		"document", or(v.DocumentID, ""), "in a text", "media:"+v.ID, "created", stamp(v.CreatedAt))
}

type mediaUpload struct {
	apiCommand
	Path     string `arg:"" help:"The file; - is standard input."`
	Name     string `placeholder:"NAME" help:"Its name on the server; by default the file's name."`
	Document string `placeholder:"ID|NAME" complete:"documents" help:"The document that it belongs to."`
}

func (c *mediaUpload) Run(ctx context.Context, p *Program) error {
	if c.Name == "" && c.Path != "-" {
		c.Name = filepath.Base(c.Path)
	}
	content, err := p.file(c.Path)
	if err != nil {
		return err
	}
	return ask(c.in(documents, &c.Document), ctx, p, func(ctx context.Context, api *client.Client) (client.Medium, error) {
		return api.Media.Upload(ctx, client.NewMedium{Filename: c.Name, DocumentID: c.Document}, content)
	}, mediumText)
}

// file reads the file to upload. It reads at most one byte more than a server accepts, and refuses
// a longer file.
func (p *Program) file(path string) ([]byte, error) {
	r := p.Stdin
	if path != "-" {
		f, err := os.Open(path) // #nosec G304 -- the user of the command names it
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	content, err := io.ReadAll(io.LimitReader(r, sheaf.MaxUpload+1))
	if err != nil {
		return nil, fmt.Errorf("read what to upload: %w", err)
	}
	if len(content) > sheaf.MaxUpload {
		return nil, sheaf.Invalidf("the file is larger than 10 MB: upload it with tus, under /api/v1/uploads")
	}
	return content, nil
}

type mediaDownload struct {
	apiCommand
	ID   string `arg:"" complete:"media" help:"Id or name of the medium."`
	Path string `arg:"" help:"The file to write, which must not exist; - is standard output."`
}

func (c *mediaDownload) Run(ctx context.Context, p *Program) error {
	return c.on(media, &c.ID).call(ctx, p, func(ctx context.Context, api *client.Client) (err error) {
		if c.Path == "-" {
			return api.Media.Download(ctx, c.ID, p.Stdout)
		}
		f, err := os.OpenFile(c.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // #nosec G304 -- the user of the command names it
		if err != nil {
			return err
		}
		if err = api.Media.Download(ctx, c.ID, f); err == nil {
			err = f.Sync()
		}
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			os.Remove(c.Path) // the download is incomplete
		}
		return err
	})
}

type mediaDelete struct {
	apiCommand
	ID string `arg:"" complete:"media" help:"Id or name of the medium."`
}

func (c *mediaDelete) Run(ctx context.Context, p *Program) error {
	return c.on(media, &c.ID).deleteRecord(ctx, p, "medium", &c.ID, func(ctx context.Context, api *client.Client) error { return api.Media.Delete(ctx, c.ID) })
}
