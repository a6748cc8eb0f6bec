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

// apiCommand is what a command on a server begins with.
type apiCommand struct {
	apiFlags
	Output
	references []reference // what the arguments name: see on
}

// login is a server and the key for it.
type login struct{ server, key string }

// login finds out which server is meant, and with which key.
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
		// A key must not go to a server that it is not of.
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

// key returns the key that is given, empty when none is.
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

// fewRetries is how often most commands repeat a request: somebody waits for the answer.
const fewRetries = 2

// client returns a client for the login, which repeats a request so often. Pauses that a person
// would notice are told.
func (p *Program) client(l login, retries int) (*client.Client, error) {
	c, err := client.New(client.Config{Server: l.server, Key: l.key, UserAgent: "sheaf/" + p.Version, Retries: retries,
		OnRetry: func(err error, pause time.Duration) {
			if pause >= 2*time.Second {
				fmt.Fprintf(p.Stderr, "again in %v: %s\n", pause.Round(time.Second), OneLine(said(err)))
			}
		}})
	if err != nil {
		return nil, sheaf.Invalidf("--server: %q is not an address such as %s", sheaf.Clip(l.server), defaultServer)
	}
	return c, nil
}

// call makes calls to the server that the flags name, once every name that was given is an id.
func (c *apiCommand) call(ctx context.Context, p *Program, act func(context.Context, *client.Client) error) error {
	return c.callWith(ctx, p, fewRetries, func(ctx context.Context, api *client.Client) error {
		if err := c.resolve(ctx, api); err != nil {
			return err
		}
		return act(ctx, api)
	})
}

func (f apiFlags) callWith(ctx context.Context, p *Program, retries int, act func(context.Context, *client.Client) error) error {
	l, err := f.login(p)
	if err != nil {
		return err
	}
	c, err := p.client(l, retries)
	if err == nil && retries > fewRetries {
		err = p.reach(ctx, l)
	}
	if err != nil {
		return err
	}
	return explained(act(ctx, c), l.server)
}

// reach tells soon when nothing answers at the address, to a command that would wait long for a server
// that went away meanwhile. What the server thinks of the key, the command itself will be told.
func (p *Program) reach(ctx context.Context, l login) error {
	c, err := p.client(l, fewRetries)
	if err != nil {
		return err
	}
	if _, err = c.Me(ctx); errors.Is(err, syscall.ECONNREFUSED) {
		return explained(err, l.server)
	}
	return nil
}

// explained turns an error of the client into a line for a person.
func explained(err error, server string) error {
	var answered *client.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answered):
		return errors.New(said(err))
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nothing answers at %s: start sheaf serve there, or name another address with --server", server)
	}
	return err
}

// said is what an error tells a person: what the server said, if it did.
func said(err error) string {
	var e *client.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	if e.Status >= 500 && e.RequestID != "" && !strings.Contains(e.Message, e.RequestID) {
		return fmt.Sprintf("%s (request %s)", e.Message, e.RequestID)
	}
	return e.Message
}
