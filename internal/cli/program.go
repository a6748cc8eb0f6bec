// Package cli has the commands that talk to a running server through the public client: projects,
// folders, brandings, documents, proposals, releases, batch, search, events, webhooks, keys, listen, profile and folders of
// Markdown. It also has what all commands of the program share: their environment, and how they
// print.
//
// It opens no store and contains no rule: the server decides what is allowed.
package cli

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"golang.org/x/term"

	"sheaf.dev/internal/sheaf"
)

// Commands is the part of the command line with the commands that talk to a server.
type Commands struct {
	Projects       projectsCommands  `cmd:"" group:"content" help:"Work with the projects of a server."`
	Folders        foldersCommands   `cmd:"" group:"content" help:"Work with the folders of a server."`
	Brandings      brandingsCommands `cmd:"" group:"content" help:"Work with the brandings of a server."`
	Documents      documentsCommands `cmd:"" group:"content" help:"Work with the documents of a server."`
	Media          mediaCommands     `cmd:"" group:"content" help:"Work with the pictures and other files of a server."`
	Shares         sharesCommands    `cmd:"" group:"content" help:"Publish documents and projects of a server under an address."`
	Proposals      proposalsCommands `cmd:"" group:"content" help:"Work with proposals: changes that wait for a decision."`
	Releases       releasesCommands  `cmd:"" group:"content" help:"Work with releases: the documents of a project as they were at one moment."`
	Batch          batchCommand      `cmd:"" group:"content" help:"Make several changes at once, all of them or none."`
	Search         searchCommand     `cmd:"" group:"content" help:"Find projects, folders and documents by the words in them."`
	Events         eventsCommands    `cmd:"" group:"events" help:"Read and follow the events of a server."`
	Webhooks       webhooksCommands  `cmd:"" group:"events" help:"Work with the webhook subscriptions of a server."`
	Keys           keysCommands      `cmd:"" group:"events" help:"Work with the API keys of a server."`
	Listen         listenCommand     `cmd:"" group:"events" help:"Follow the events and post each to a local address, signed."`
	MCP            mcpCommand        `cmd:"" name:"mcp" group:"content" help:"Serve the tools of a server to an agent's host, on standard input and output."`
	ImportMarkdown importMarkdown    `cmd:"" group:"content" help:"Import a folder or zip archive of Markdown; run it again to import changes."`
	ExportMarkdown exportMarkdown    `cmd:"" group:"content" help:"Write the documents of a server into a folder of Markdown."`
	Profile        profileCommands   `cmd:"" group:"program" help:"Keep the address and the key of a server."`
}

// Program is the environment of a command.
type Program struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Env            func(name string) (value string, set bool)
	Now            func() time.Time
	Random         io.Reader // cryptographically strong
	Version        string    // this program's version
	// Names returns the names of all environment variables.
	Names func() []string
}

// Print writes to standard output. It returns an error if that fails, so that a script does not
// take half an answer for the whole.
func (p *Program) Print(s string) error {
	if _, err := fmt.Fprint(p.Stdout, s); err != nil {
		return fmt.Errorf("write to standard output: %w", err)
	}
	return nil
}

// Output is the flag by which a script requests JSON.
type Output struct {
	JSON bool `name:"json" help:"Print one JSON value on standard output, and nothing else there."`
}

// Show prints the record as JSON, or what text returns.
func (o Output) Show(p *Program, r sheaf.Record, text func() string) error {
	return o.show(p, func() []byte { return sheaf.AppendJSON(nil, r) }, text)
}

// ShowAll prints the records as one JSON array, or what text returns.
func (o Output) ShowAll(p *Program, rs []sheaf.Record, text func() string) error {
	return o.show(p, func() []byte {
		b := []byte{'['}
		for i, r := range rs {
			if i > 0 {
				b = append(b, ',')
			}
			b = sheaf.AppendJSON(b, r)
		}
		return append(b, ']')
	}, text)
}

func (o Output) show(p *Program, json func() []byte, text func() string) error {
	if o.JSON {
		return p.Print(strings.TrimSpace(string(json())) + "\n")
	}
	return p.Print(text())
}

// Table returns aligned columns. head has their names, separated by tabs, and fill adds the rows.
func Table(head string, fill func(row func(cells ...any))) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, head)
	fill(func(cells ...any) {
		for i, c := range cells {
			if i > 0 {
				fmt.Fprint(w, "\t")
			}
			fmt.Fprint(w, OneLine(fmt.Sprint(c)))
		}
		fmt.Fprintln(w)
	})
	w.Flush()
	return b.String()
}

// OneLine replaces line ends and other control characters by spaces, so that a text cannot move a
// terminal's cursor.
func OneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == ' ' }), " ")
}

// Moment formats a time. nil is "never".
func Moment(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return t.Format(time.RFC3339)
}

// KeepEcho makes an interrupt restore the terminal while a secret is typed, until done is called.
func KeepEcho(terminal int) (done func()) {
	state, err := term.GetState(terminal)
	if err != nil {
		return func() {}
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	go func() {
		if _, ok := <-interrupts; ok {
			_ = term.Restore(terminal, state)
			os.Exit(130) // the exit code of an interrupted command in a shell
		}
	}()
	return func() {
		signal.Stop(interrupts)
		close(interrupts)
	}
}
