package cli

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"sheaf.dev/client"
	"sheaf.dev/internal/sheaf"
)

// An argument or a flag may name a record by its id or its name. A noun says how records of a kind
// are found by name. A name must belong to exactly one record. Names are resolved before the
// command does anything, so a wrong name changes nothing.

// noun is a kind of record that an argument or a flag can name.
type noun struct {
	one, many string // singular and plural, for messages
	list      string // the command that lists the ids; empty: an error lists the names, which are few
	find      func(ctx context.Context, api *client.Client, text string) iter.Seq2[Known, error]
}

// Known is the id and the name of a record.
type Known struct{ ID, Name string }

// maxKnown bounds the records that are searched for a name.
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
	// The records that can be shared.
	shareable = noun{"document, project or folder", "documents, projects and folders", "search", func(ctx context.Context, api *client.Client, text string) iter.Seq2[Known, error] {
		return func(yield func(Known, error) bool) {
			for _, n := range []noun{documents, projects, folders} {
				for v, err := range n.find(ctx, api, text) {
					if !yield(v, err) {
						return
					}
				}
			}
		}
	}}
	// The name of a share is its address.
	shares = noun{"share", "shares", "shares list", func(ctx context.Context, api *client.Client, _ string) iter.Seq2[Known, error] {
		return known(api.Shares.All(ctx, client.ShareFilter{}), func(v client.Share) Known { return Known{v.ID, v.URL} })
	}}
	proposals = noun{"proposal", "proposals", "proposals list", func(ctx context.Context, api *client.Client, _ string) iter.Seq2[Known, error] {
		return known(api.Proposals.All(ctx, client.ProposalFilter{State: "open"}), func(v client.Proposal) Known { return Known{v.ID, v.Title} })
	}}
	keys = noun{"key", "keys", "keys list", func(ctx context.Context, api *client.Client, _ string) iter.Seq2[Known, error] {
		return known(api.Keys.All(ctx, client.Paging{}), func(v client.Key) Known { return Known{v.ID, v.Name} })
	}}
	webhooks = noun{"subscription", "subscriptions", "webhooks list", func(ctx context.Context, api *client.Client, _ string) iter.Seq2[Known, error] {
		return known(api.Subscriptions.All(ctx, client.Paging{}), func(v client.Subscription) Known { return Known{v.ID, v.Name} })
	}}
)

func knownDocument(v client.Document) Known { return Known{v.ID, v.Title} }

// known converts the records of a list.
func known[T any](all iter.Seq2[T, error], as func(T) Known) iter.Seq2[Known, error] {
	return func(yield func(Known, error) bool) {
		for v, err := range all {
			if !yield(as(v), err) {
				return
			}
		}
	}
}

// reference is an argument or a flag that names a record. call replaces its text by the id.
type reference struct {
	noun noun
	text *string
}

// on returns the command with an argument that names a record by its id or its name.
func (c *apiCommand) on(n noun, argument *string) *apiCommand {
	out := *c
	out.references = append(out.references[:len(out.references):len(out.references)], reference{n, argument})
	return &out
}

// in is on for an optional flag, which may also name the root level, or no project.
func (c *apiCommand) in(n noun, flag *string) *apiCommand {
	if flag == nil || *flag == "" || isRoot(*flag) {
		return c
	}
	return c.on(n, flag)
}

// named returns the id of the only record with the name.
func (n noun) named(ctx context.Context, api *client.Client, name string) (string, error) {
	if name == "" || utf8.RuneCountInString(name) > sheaf.MaxQuery {
		return "", errNoRecord(name, n.one, n.list)
	}
	all, err := gather(n.find(ctx, api, name), maxKnown+1)
	if err != nil {
		return "", err
	}
	if len(all) > maxKnown {
		return "", sheaf.Invalidf("there are too many %s to look for %q among them: give the id, which sheaf %s shows", n.many, sheaf.Clip(name), n.list)
	}
	if n.list == "" && !slices.ContainsFunc(all, func(k Known) bool { return strings.EqualFold(k.Name, name) }) {
		return "", errNotAmong(name, n.one, all)
	}
	return Choose(all, name, n.one, n.many, n.list)
}

// Choose returns the id of the only record with the name. It ignores case, unless a record has
// exactly the name as typed. The error uses the singular and the plural of the noun, and the
// command that lists its records.
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
		return "", errNoRecord(name, one, list)
	case 1:
		return alike[0].ID, nil
	}
	return "", sheaf.Invalidf("%d %s are called %q: give the id of one, such as %s or %s", len(alike), many, sheaf.Clip(name), alike[0].ID, alike[1].ID)
}

func errNoRecord(name, one, list string) error {
	if list == "" {
		return sheaf.Invalidf("%q is neither an id nor the name of a %s", sheaf.Clip(name), one)
	}
	return sheaf.Invalidf("%q is neither an id nor the name of a %s: sheaf %s shows them", sheaf.Clip(name), one, list)
}

// errNotAmong is errNoRecord for a few records. It names the first ten of them.
func errNotAmong(name, one string, all []Known) error {
	const most = 10
	var names []string
	for _, k := range all[:min(most, len(all))] {
		names = append(names, OneLine(sheaf.Clip(k.Name)))
	}
	switch {
	case len(all) == 0:
		return sheaf.Invalidf("%q is neither an id nor the name of a %s: there is none yet", sheaf.Clip(name), one)
	case len(all) > most:
		names = append(names, fmt.Sprintf("or %d more", len(all)-most))
	}
	return sheaf.Invalidf("%q is neither an id nor the name of a %s: choose one of %s", sheaf.Clip(name), one, strings.Join(names, ", "))
}
