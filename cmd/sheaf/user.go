package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/config"
	"sheaf.dev/internal/sheaf"
)

// userSetPassword is sheaf user set-password.
type userSetPassword struct {
	storeFlags
	cli.Output
	Email string `arg:"" help:"E-mail of the user."`
}

func (c *userSetPassword) Run(ctx context.Context, p *program) error {
	return c.operate(ctx, p, true, func(op app.Operator) error {
		// Check that the user exists before asking for a password.
		if _, err := op.User(ctx, c.Email); err != nil {
			return err
		}
		password, err := p.readPassword()
		if err != nil {
			return err
		}
		u, err := op.SetPassword(ctx, c.Email, password)
		if err != nil {
			return err
		}
		return c.Show(&p.Program, &u, func() string { return fmt.Sprintf("the password of %s is set\n", c.Email) })
	})
}

// readPassword asks for the password twice on a terminal, without showing it. Otherwise it reads
// one line.
func (p *program) readPassword() (string, error) {
	f, ok := p.Stdin.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		line, err := bufio.NewReader(io.LimitReader(p.Stdin, 2*app.MaxPassword)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read the password from standard input: %w", err)
		}
		return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"), nil
	}
	terminal := int(f.Fd())
	defer cli.KeepEcho(terminal)()
	var typed [2]string
	for i, prompt := range []string{"Password: ", "The same again: "} {
		fmt.Fprint(p.Stderr, prompt)
		line, err := term.ReadPassword(terminal)
		fmt.Fprintln(p.Stderr)
		if err != nil {
			return "", fmt.Errorf("read the password: %w", err)
		}
		typed[i] = string(line)
	}
	if typed[0] != typed[1] {
		return "", errors.New("the two passwords differ: nothing was changed, run the command again")
	}
	return typed[0], nil
}

// addressFlags are the settings of the server that determine the address in links.
type addressFlags struct {
	Addr      *string `placeholder:"127.0.0.1:8080" help:"Listen address of the server, if it is not the one that runs."`
	PublicURL *string `placeholder:"https://..." help:"Public address of the service."`
}

// base returns the address that links begin with. It is one of the server's settings, so it is read
// from the flags, the environment and the file. If none of them has it, base returns the address
// that a server of this store recorded last.
func (a addressFlags) base(ctx context.Context, p *program, s storeFlags, op app.Operator) (string, error) {
	settings, err := config.Serve{Store: s.Store, Addr: a.Addr, PublicURL: a.PublicURL}.Load(p.Env)
	if err != nil {
		return "", err
	}
	if settings.Default("addr") && settings.Default("public-url") {
		if said, err := op.ServerAddress(ctx); err != nil || said != "" {
			return said, err
		}
	}
	if settings.PublicURL == nil && strings.HasSuffix(settings.Addr, ":0") {
		return "", errors.New("the server's port is not known: give the address that it listens on with --addr, or --public-url")
	}
	return baseURL(settings, settings.Addr), nil
}

// userSetupLink is sheaf user setup-link.
type userSetupLink struct {
	storeFlags
	cli.Output
	addressFlags
}

func (c *userSetupLink) Run(ctx context.Context, p *program) error {
	return c.operate(ctx, p, true, func(op app.Operator) error {
		base, err := c.base(ctx, p, c.storeFlags, op)
		if err != nil {
			return err
		}
		link, err := op.SetupLink(ctx)
		if err != nil {
			return err
		}
		return showLink(p, c.Output, setupURL(base, link), link.ExpiresAt)
	})
}

// showLink prints a link, which is shown once.
func showLink(p *program, o cli.Output, url string, expires time.Time) error {
	return o.Show(&p.Program, sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Text("url", url)
		o.Time("expires_at", expires)
	}), func() string { return url + "\n" })
}

// userInvite is sheaf user invite.
type userInvite struct {
	storeFlags
	cli.Output
	addressFlags
	workspaceFlag
	Email   string   `arg:"" help:"E-mail of the person to invite. No mail is sent."`
	Role    string   `default:"member" values:"owner,admin,editor,member" help:"owner, admin, editor or member."`
	Project []string `placeholder:"ID|NAME" sep:"none" help:"Restrict an editor or member to this project; repeat for several. They see nothing else."`
	Folder  []string `placeholder:"ID|NAME" sep:"none" help:"Restrict an editor or member to this folder and everything below it; repeat for several."`
}

func (c *userInvite) Run(ctx context.Context, p *program) error {
	role, err := sheaf.ParseRole(c.Role)
	if err != nil {
		return err
	}
	return c.operate(ctx, p, true, func(op app.Operator) error {
		base, err := c.base(ctx, p, c.storeFlags, op)
		if err != nil {
			return err
		}
		id, err := c.find(ctx, op)
		if err != nil {
			return err
		}
		to, err := restrictTo(ctx, op, id, c.Project, c.Folder)
		if err != nil {
			return err
		}
		i, err := op.Invite(ctx, id, c.Email, role, to)
		if err != nil {
			return err
		}
		return showLink(p, c.Output, base+"/invite/"+i.Token, i.ExpiresAt)
	})
}

// userErase is sheaf user erase.
type userErase struct {
	storeFlags
	cli.Output
	Email string `arg:"" help:"E-mail of the user, or of a person who was only invited."`
}

func (c *userErase) Run(ctx context.Context, p *program) error {
	return c.operate(ctx, p, true, func(op app.Operator) error {
		u, err := op.EraseUser(ctx, c.Email)
		if err != nil {
			return err
		}
		return c.Show(&p.Program, &u, func() string {
			if u.ID == "" {
				return fmt.Sprintf("no user has this e-mail; invitations to it that were deleted: %d\n", u.Invitations)
			}
			return fmt.Sprintf("the user is erased; what the user wrote stays, under the id %s\n", u.ID)
		})
	})
}

// userResetFactors is sheaf user reset-factors.
type userResetFactors struct {
	storeFlags
	cli.Output
	Email string `arg:"" help:"E-mail of the user."`
}

func (c *userResetFactors) Run(ctx context.Context, p *program) error {
	return c.operate(ctx, p, true, func(op app.Operator) error {
		u, had, err := op.ResetFactors(ctx, c.Email)
		if err != nil {
			return err
		}
		return c.Show(&p.Program, sheaf.RecordFunc(func(o *sheaf.Object) {
			u.Fields(o)
			o.Bool("had_second_factor", had)
		}), func() string {
			if !had {
				return fmt.Sprintf("%s has no second factor: nothing was changed\n", c.Email)
			}
			return fmt.Sprintf("the second factor of %s is removed, and every browser is signed out\n", c.Email)
		})
	})
}

// userAllowPassword is sheaf user allow-password.
type userAllowPassword struct {
	storeFlags
	cli.Output
	Email    string `arg:"" help:"E-mail of the user."`
	Withdraw bool   `help:"Take it back."`
}

func (c *userAllowPassword) Run(ctx context.Context, p *program) error {
	return c.operate(ctx, p, true, func(op app.Operator) error {
		u, err := op.AllowPassword(ctx, c.Email, !c.Withdraw)
		if err != nil {
			return err
		}
		return c.Show(&p.Program, sheaf.RecordFunc(func(o *sheaf.Object) {
			u.Fields(o)
			o.Bool("has_password", u.PasswordHash != "")
			o.Bool("password_allowed", u.PasswordAllowed)
		}), func() string {
			switch {
			case c.Withdraw:
				return fmt.Sprintf("%s may sign in with a password only if the server lets everybody\n", c.Email)
			case u.PasswordHash == "":
				return fmt.Sprintf("%s may sign in with a password, but has none yet: set one with sheaf user set-password\n", c.Email)
			default:
				return fmt.Sprintf("%s may sign in with a password\n", c.Email)
			}
		})
	})
}

// userForgetProvider is sheaf user forget-provider.
type userForgetProvider struct {
	storeFlags
	cli.Output
	Email string `arg:"" help:"E-mail of the user."`
}

func (c *userForgetProvider) Run(ctx context.Context, p *program) error {
	return c.operate(ctx, p, true, func(op app.Operator) error {
		u, had, err := op.ForgetProvider(ctx, c.Email)
		if err != nil {
			return err
		}
		return c.Show(&p.Program, sheaf.RecordFunc(func(o *sheaf.Object) {
			u.Fields(o)
			o.Bool("had_provider", had)
		}), func() string {
			if !had {
				return fmt.Sprintf("no account at a provider is bound to %s: nothing was changed\n", c.Email)
			}
			return fmt.Sprintf("the account at the provider is not bound to %s any more, and every browser is signed out\n", c.Email)
		})
	})
}

type userList struct {
	storeFlags
	cli.Output
}

func (c *userList) Run(ctx context.Context, p *program) error {
	return c.operate(ctx, p, false, func(op app.Operator) error {
		all, err := op.Users(ctx)
		if err != nil {
			return err
		}
		records := make([]sheaf.Record, len(all))
		for i := range all {
			records[i] = &all[i]
		}
		return c.ShowAll(&p.Program, records, func() string { return userTable(all) })
	})
}

// userTable shows users and their workspaces to a person.
func userTable(all []app.UserIn) string {
	return cli.Table("ID\tE-MAIL\tPASSWORD\tSECOND FACTOR\tPROVIDER\tWORKSPACES", func(row func(...any)) {
		for _, u := range all {
			email, password, factor, provider := "-", "none", "none", "none"
			switch {
			case u.Email != nil:
				email = *u.Email
			case u.ErasedAt != nil:
				email = sheaf.ErasedUser
			}
			if u.PasswordHash != "" {
				password = "set"
			}
			if u.SecondFactor {
				factor = "set"
			}
			if u.PasswordAllowed {
				password += ", allowed"
			}
			if u.Provider {
				provider = "bound"
			}
			var in []string
			for _, m := range u.Memberships {
				role := string(m.Role)
				if m.RestrictedTo != nil {
					role += ", restricted"
				}
				in = append(in, fmt.Sprintf("%s (%s)", m.Workspace.Name, role))
			}
			row(u.ID, email, password, factor, provider, strings.Join(in, ", "))
		}
	})
}
