package cli

import (
	"context"
	"iter"
	"strings"
	"unicode/utf8"

	"sheaf.dev/client"
	"sheaf.dev/internal/sheaf"
)

// People name records by what they call them. A noun says how those of a kind are found: an argument
// or a flag that is no id is looked for as a name, and taken where one record alone has it. That is
// asked before the command does anything, so nothing happens to a record that was not meant.

// noun is a kind of record that an argument or a flag can name.
type noun struct {
	one, many string // its words: one project, many projects
	list      string // the command that shows the ids
	find      func(ctx context.Context, api *client.Client, text string) iter.Seq2[Known, error]
}

// Known is a record as a person knows it.
type Known struct{ ID, Name string }

// maxKnown bounds how many records are looked through for a name.
const maxKnown = 1000

var (
	projects = noun{"project", "projects", "projects list", func(ctx context.Context, api *client.Client, text string) iter.Seq2[Known, error] {
		return known(api.Projects.All(ctx, client.ProjectFilter{Query: text}), func(v client.Project) Known { return Known{v.ID, v.Name} })
	}}
	folders = noun{"folder", "folders", "folders list", func(ctx context.Context, api *client.Client, text string) iter.Seq2[Known, error] {
		return known(api.Folders.All(ctx, client.FolderFilter{Query: text}), func(v client.Folder) Known { return Known{v.ID, v.Name} })
	}}
	brandings = noun{"branding", "brandings", "brandings list", func(ctx context.Context, api *client.Client, text string) iter.Seq2[Known, error] {
		return known(api.Brandings.All(ctx, client.BrandingFilter{Query: text}), func(v client.Branding) Known { return Known{v.ID, v.Name} })
	}}
	documents = noun{"document", "documents", "documents list", func(ctx context.Context, api *client.Client, text string) iter.Seq2[Known, error] {
		return known(api.Documents.All(ctx, client.DocumentFilter{Query: text}), knownDocument)
	}}
	trashed = noun{"deleted document", "deleted documents", "documents trash", func(ctx context.Context, api *client.Client, text string) iter.Seq2[Known, error] {
		return known(api.Documents.All(ctx, client.DocumentFilter{Query: text, Deleted: true}), knownDocument)
	}}
	media = noun{"medium", "media", "media list", func(ctx context.Context, api *client.Client, _ string) iter.Seq2[Known, error] {
		return known(api.Media.All(ctx, client.MediumFilter{}), func(v client.Medium) Known { return Known{v.ID, v.Filename} })
	}}
	// What a share may show.
	shareable = noun{"document or a project", "documents and projects", "search", func(ctx context.Context, api *client.Client, text string) iter.Seq2[Known, error] {
		return func(yield func(Known, error) bool) {
			for _, n := range []noun{documents, projects} {
				for v, err := range n.find(ctx, api, text) {
					if !yield(v, err) {
						return
					}
				}
			}
		}
	}}
	// A share is called by its address.
	shares = noun{"share", "shares", "shares list", func(ctx context.Context, api *client.Client, _ string) iter.Seq2[Known, error] {
		return known(api.Shares.All(ctx, client.ShareFilter{}), func(v client.Share) Known { return Known{v.ID, v.URL} })
	}}
	webhooks = noun{"subscription", "subscriptions", "webhooks list", func(ctx context.Context, api *client.Client, _ string) iter.Seq2[Known, error] {
		return known(api.Subscriptions.All(ctx, client.Paging{}), func(v client.Subscription) Known { return Known{v.ID, v.Name} })
	}}
)

func knownDocument(v client.Document) Known { return Known{v.ID, v.Title} }

// known turns the records of a list into what people know of them.
func known[T any](all iter.Seq2[T, error], as func(T) Known) iter.Seq2[Known, error] {
	return func(yield func(Known, error) bool) {
		for v, err := range all {
			if !yield(as(v), err) {
				return
			}
		}
	}
}

// reference is an argument or a flag that names a record; its text becomes the id.
type reference struct {
	noun noun
	text *string
}

// on is the command on the record that an argument names, by its id or its name.
func (c *apiCommand) on(n noun, argument *string) *apiCommand {
	out := *c
	out.references = append(out.references[:len(out.references):len(out.references)], reference{n, argument})
	return &out
}

// in is on for a flag that may be missing, or say that there is none: the root level, no project.
func (c *apiCommand) in(n noun, flag *string) *apiCommand {
	if flag == nil || *flag == "" || nowhere(*flag) {
		return c
	}
	return c.on(n, flag)
}

// resolve puts an id in place of every name. It asks the server only about what is no id.
func (c *apiCommand) resolve(ctx context.Context, api *client.Client) error {
	for _, r := range c.references {
		if _, isID := sheaf.ParseUUID(*r.text); isID {
			continue
		}
		id, err := r.noun.named(ctx, api, *r.text)
		if err != nil {
			return err
		}
		*r.text = id
	}
	return nil
}

// named returns the id of the one record that has the name.
func (n noun) named(ctx context.Context, api *client.Client, name string) (string, error) {
	if name == "" || utf8.RuneCountInString(name) > sheaf.MaxQuery {
		return "", nobody(name, n.one, n.list)
	}
	all, err := gather(n.find(ctx, api, name), maxKnown+1)
	if err != nil {
		return "", err
	}
	if len(all) > maxKnown {
		return "", sheaf.Invalidf("there are too many %s to look for %q among them: give the id, which sheaf %s shows", n.many, sheaf.Clip(name), n.list)
	}
	return Choose(all, name, n.one, n.many, n.list)
}

// Choose returns the id of the one record that has the name. Where several have it but for the case,
// the one that has it as it was typed is meant. The words tell a person what was looked for and which
// command shows them all.
func Choose(all []Known, name, one, many, list string) (string, error) {
	var alike, same []Known
	for _, k := range all {
		if strings.EqualFold(k.Name, name) {
			alike = append(alike, k)
		}
		if k.Name == name {
			same = append(same, k)
		}
	}
	if len(same) > 0 {
		alike = same
	}
	switch len(alike) {
	case 0:
		return "", nobody(name, one, list)
	case 1:
		return alike[0].ID, nil
	}
	return "", sheaf.Invalidf("%d %s are called %q: give the id of one, such as %s or %s", len(alike), many, sheaf.Clip(name), alike[0].ID, alike[1].ID)
}

func nobody(name, one, list string) error {
	return sheaf.Invalidf("%q is neither an id nor the name of a %s: sheaf %s shows them", sheaf.Clip(name), one, list)
}
