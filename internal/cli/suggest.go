package cli

import (
	"context"

	"sheaf.dev/client"
)

// maxSuggested bounds the completions for a shell. A person reads fewer.
const maxSuggested = 100

// suggested has the kinds of records whose names a shell completes, by the word in the tag of an
// argument or a flag. Releases are not in it: Suggest needs their project.
var suggested = map[string]noun{"projects": projects, "folders": folders, "brandings": brandings, "documents": documents, "trashed": trashed,
	"media": media, "shareable": shareable, "shares": shares, "proposals": proposals, "webhooks": webhooks, "keys": keys}

// Suggest returns records of a kind whose names may begin with text, for a shell to complete. `flags`
// are those that precede the text. Suggest reads the records from the server of the flags, the
// environment or the profile, without retries and without output. ctx bounds the wait of the person
// who pressed the key.
func (p *Program) Suggest(ctx context.Context, kind, text string, flags map[string]string) ([]Known, error) {
	n, ok := suggested[kind]
	project := flags["project"]
	if kind == "releases" && project != "" {
		n, ok = releasesOf(&project), true
	}
	if !ok {
		return nil, nil
	}
	l, err := apiFlags{Server: flags["server"], APIKey: flags["api-key"]}.login(p)
	if err != nil {
		return nil, err
	}
	api, err := client.New(client.Config{Server: l.server, Key: l.key, UserAgent: "sheaf/" + p.Version, Retries: -1})
	if err != nil {
		return nil, err
	}
	if kind == "releases" {
		if err := (&apiCommand{}).on(projects, &project).resolve(ctx, api); err != nil {
			return nil, err
		}
	}
	return gather(n.find(ctx, api, text), maxSuggested)
}
