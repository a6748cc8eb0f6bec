package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"sheaf.dev/client"
	"sheaf.dev/internal/sheaf"
)

const defaultServer = "http://127.0.0.1:8080"

// apiFlags are shared by the commands that talk to a server.
type apiFlags struct {
	Server string `placeholder:"URL" help:"Address of the server (SHEAF_SERVER, else the profile's, else http://127.0.0.1:8080)."`
	APIKey string `name:"api-key" placeholder:"KEY" help:"API key (SHEAF_API_KEY, SHEAF_API_KEY_FILE, else the profile's)."`
}

// apiCommand is embedded by the commands that talk to a server.
type apiCommand struct {
	apiFlags
	Output
	references []reference // the arguments that name records: see on
}

// login is a server and the key for it.
type login struct{ server, key string }

// login returns the server and the key: of the flags, the environment or the profile.
func (f apiFlags) login(p *Program) (login, error) {
	saved, err := p.readProfile()
	if err != nil {
		return login{}, err
	}
	l := login{server: f.server(p, saved)}
	if l.key, err = f.key(p); err != nil {
		return login{}, err
	}
	switch {
	case l.key != "":
	case saved.APIKey == "":
		return login{}, errors.New("no API key: give --api-key or SHEAF_API_KEY, or keep one with sheaf profile set")
	case saved.Server != l.server:
		// A key must not be sent to another server.
		return login{}, fmt.Errorf("no API key for %s: the profile's is for %s; give --api-key or SHEAF_API_KEY", l.server, saved.Server)
	default:
		l.key = saved.APIKey
	}
	return l, nil
}

func (f apiFlags) server(p *Program, saved profile) string {
	given, _ := p.Env("SHEAF_SERVER")
	for _, s := range []string{f.Server, given, saved.Server} {
		if s != "" {
			return strings.TrimRight(s, "/")
		}
	}
	return defaultServer
}

// key returns the key of the flag or the environment; empty if there is none.
func (f apiFlags) key(p *Program) (string, error) {
	if f.APIKey != "" {
		return f.APIKey, nil
	}
	value, _ := p.Env("SHEAF_API_KEY")
	path, _ := p.Env("SHEAF_API_KEY_FILE")
	switch {
	case path == "":
		return value, nil
	case value != "":
		return "", errors.New("the API key is given twice: unset SHEAF_API_KEY or SHEAF_API_KEY_FILE")
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("the API key cannot be read: %w", err)
	}
	if value = strings.TrimSpace(string(content)); value == "" {
		return "", fmt.Errorf("the API key file %s is empty: write the key into it", path)
	}
	return value, nil
}

// fewRetries is the number of retries of most commands, because a person waits for the answer.
const fewRetries = 2

// client returns a client for the login that repeats a request up to `retries` times. It prints
// pauses of two seconds or more.
func (p *Program) client(l login, retries int) (*client.Client, error) {
	c, err := client.New(client.Config{Server: l.server, Key: l.key, UserAgent: "sheaf/" + p.Version, Retries: retries,
		OnRetry: func(err error, pause time.Duration) {
			if pause >= 2*time.Second {
				fmt.Fprintf(p.Stderr, "again in %v: %s\n", pause.Round(time.Second), OneLine(errorText(err)))
			}
		}})
	if err != nil {
		return nil, sheaf.Invalidf("--server: %q is not an address such as %s", sheaf.Clip(l.server), defaultServer)
	}
	return c, nil
}

// call replaces the names in arguments by ids, and then calls act with a client for the server. It
// makes requests only for arguments that are not ids.
func (c *apiCommand) call(ctx context.Context, p *Program, act func(context.Context, *client.Client) error) error {
	return c.callWith(ctx, p, fewRetries, func(ctx context.Context, api *client.Client) error {
		if err := c.resolve(ctx, api); err != nil {
			return err
		}
		return act(ctx, api)
	})
}

// resolve replaces the names in arguments by ids.
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

func (f apiFlags) callWith(ctx context.Context, p *Program, retries int, act func(context.Context, *client.Client) error) error {
	l, err := f.login(p)
	if err != nil {
		return err
	}
	c, err := p.client(l, retries)
	if err == nil && retries > fewRetries {
		err = p.checkReachable(ctx, l)
	}
	if err != nil {
		return err
	}
	return explained(act(ctx, c), l.server)
}

// checkReachable returns an error at once if nothing listens at the address. A command with many
// retries would wait long for it. A refused key is not an error here: the command's own requests
// report it.
func (p *Program) checkReachable(ctx context.Context, l login) error {
	c, err := p.client(l, fewRetries)
	if err != nil {
		return err
	}
	if _, err = c.Me(ctx); errors.Is(err, syscall.ECONNREFUSED) {
		return explained(err, l.server)
	}
	return nil
}

// explained turns an error of the client into one line for a person.
func explained(err error, server string) error {
	var answered *client.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answered):
		return errors.New(errorText(err))
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nothing answers at %s: start sheaf serve there, or name another address with --server", server)
	}
	return err
}

// errorText returns the server's message if the server answered, otherwise the error's own text.
func errorText(err error) string {
	var e *client.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	if e.Status >= 500 && e.RequestID != "" && !strings.Contains(e.Message, e.RequestID) {
		return fmt.Sprintf("%s (request %s)", e.Message, e.RequestID)
	}
	return commandWords.Replace(e.Message)
}

// commandWords replaces what the server tells programs to do by what people do with the commands.
var commandWords = strings.NewReplacer(
	"propose the change with POST /api/v1/proposals", "propose the change with --propose, which sheaf documents edit and sheaf import-markdown have, or in the console",
	"PATCH it with changes that have the present version as base_version", "sheaf proposals get shows where. Resolve it in the console, or make another proposal",
	"choose a longer one, or null for none", "choose a longer one, or none",
)

// nothingToChange begins the server's refusal of a change without fields. Their names follow.
const nothingToChange = "nothing to change: send at least one of "

// NameFlags replaces the fields in an error about a change without fields by the flags of the command.
func NameFlags(err error, flags []string) error {
	if !strings.HasPrefix(err.Error(), nothingToChange) || len(flags) == 0 {
		return err
	}
	return errors.New("nothing to change: give at least one of --" + strings.Join(flags, ", --"))
}
