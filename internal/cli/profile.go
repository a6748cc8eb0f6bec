package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"sheaf.dev/client"
)

// profile is the stored address and key, which commands use if flags and environment have none.
type profile struct {
	Server string `json:"server"`
	APIKey string `json:"api_key"`
}

type profileCommands struct {
	Set    profileSet    `cmd:"" help:"Keep an address and an API key for the commands that talk to a server."`
	Show   profileShow   `cmd:"" help:"Show the server, the workspace and the user of the commands."`
	Remove profileRemove `cmd:"" help:"Delete the stored address and key."`
}

// profileFolder returns the folder of the profile and of the listeners' positions.
func (p *Program) profileFolder() (string, error) {
	if dir, _ := p.Env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "sheaf"), nil
	}
	if home, _ := p.Env("HOME"); home != "" {
		return filepath.Join(home, ".config", "sheaf"), nil
	}
	return "", errors.New("there is no folder for the profile: set HOME or XDG_CONFIG_HOME")
}

// readProfile returns the profile, or an empty one if there is none.
func (p *Program) readProfile() (profile, error) {
	folder, err := p.profileFolder()
	if err != nil {
		return profile{}, nil // nothing was ever stored
	}
	var out profile
	if err := readPrivate(filepath.Join(folder, "profile.json"), &out); err != nil && !errors.Is(err, os.ErrNotExist) {
		return profile{}, err
	}
	return out, nil
}

// readPrivate reads a JSON file. It refuses a file that other users may read.
func readPrivate(path string, v any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("other users may read %s: run chmod 600 on it, and get a new key if one did", path)
	}
	if err := json.NewDecoder(io.LimitReader(f, 1<<20)).Decode(v); err != nil {
		return fmt.Errorf("%s is damaged: remove it (%w)", path, err)
	}
	return nil
}

// writePrivate replaces a JSON file, completely or not at all, with mode 0600.
func writePrivate(path string, v any) error {
	content, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(content, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

type profileSet struct{ apiCommand }

// Run stores the address and the key after the server has accepted them.
func (c *profileSet) Run(ctx context.Context, p *Program) error {
	saved, err := p.readProfile()
	if err != nil {
		return err
	}
	l := login{server: c.server(p, saved)}
	if l.key, err = c.key(p); err != nil {
		return err
	}
	if l.key == "" {
		if l.key, err = p.askKey(l.server); err != nil {
			return err
		}
	}
	folder, err := p.profileFolder()
	if err != nil {
		return err
	}
	api, err := p.client(l, fewRetries)
	if err != nil {
		return err
	}
	me, err := api.Me(ctx)
	if err != nil {
		return explained(err, l.server)
	}
	path := filepath.Join(folder, "profile.json")
	if err := writePrivate(path, profile{l.server, l.key}); err != nil {
		return fmt.Errorf("the profile cannot be kept: %w", err)
	}
	return c.one(p, me.Raw(), func() string { return whoText(l.server, me) + "kept in " + path + "\n" })
}

// askKey reads the key from a terminal, without showing it, or from a line of standard input. So
// the key is in no list of processes.
func (p *Program) askKey(server string) (string, error) {
	if f, ok := p.Stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		defer KeepEcho(int(f.Fd()))()
		fmt.Fprintf(p.Stderr, "API key for %s: ", server)
		line, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(p.Stderr)
		return strings.TrimSpace(string(line)), err
	}
	line, err := bufio.NewReader(io.LimitReader(p.Stdin, 4096)).ReadString('\n')
	if line = strings.TrimSpace(line); line == "" {
		return "", errors.New("no API key: write it on standard input, or give --api-key")
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return line, err
}

type profileShow struct{ apiCommand }

func (c *profileShow) Run(ctx context.Context, p *Program) error {
	l, err := c.login(p)
	if err != nil {
		return err
	}
	return c.call(ctx, p, func(ctx context.Context, api *client.Client) error {
		me, err := api.Me(ctx)
		if err != nil {
			return err
		}
		return c.one(p, me.Raw(), func() string { return whoText(l.server, me) })
	})
}

func whoText(server string, me client.Identity) string {
	who := me.User.Name
	if me.User.Email != nil {
		who = *me.User.Email
	}
	return facts("server", server, "workspace", fmt.Sprintf("%s (%s, %s)", me.Workspace.Name, me.Plan, me.Workspace.ID),
		"user", strings.TrimSpace(who+" "+me.User.ID), "key", me.Key.Prefix+"… "+me.Key.Name,
		"scopes", strings.Join(me.Key.Scopes, " "), "expires", Moment(me.Key.ExpiresAt))
}

type profileRemove struct{ Output }

func (c *profileRemove) Run(p *Program) error {
	folder, err := p.profileFolder()
	if err != nil {
		return err
	}
	path := filepath.Join(folder, "profile.json")
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the profile cannot be removed: %w", err)
	}
	return c.one(p, asJSON(map[string]any{"removed": path}), func() string { return "removed " + path + "\n" })
}
