// Command peer is PocketBase as its users build it, with collections that correspond to Sheaf's projects and
// documents: an owner, a rule that shows each owner only their own records, and a token for each owner.
//
//	peer seed --dir DIR --dev=false OWNERS PROJECTS DOCUMENTS   makes and fills the collections, lists them in owners.json
//	peer texts --dir DIR --dev=false                            makes one owner with a document for each line of standard input
//	peer serve --dir DIR --dev=false --http ADDR                serves them
//
// PEER_STATS is an address at which it serves the number of bytes that it has allocated.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strconv"

	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"
)

func main() {
	app := pocketbase.NewWithConfig(pocketbase.Config{HideStartBanner: true})
	app.RootCmd.AddCommand(&cobra.Command{Use: "seed", Args: cobra.ExactArgs(3), RunE: func(_ *cobra.Command, args []string) error {
		return seed(app, number(args[0]), number(args[1]), number(args[2]))
	}})
	app.RootCmd.AddCommand(&cobra.Command{Use: "texts", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		return texts(app, os.Stdin)
	}})
	if addr := os.Getenv("PEER_STATS"); addr != "" {
		go func() { log.Fatal(http.ListenAndServe(addr, http.HandlerFunc(stats))) }()
	}
	if err := app.Start(); err != nil {
		log.Fatal(err)
	}
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		log.Fatal(err)
	}
	return n
}

// stats answers with one line as a Prometheus registry writes it.
func stats(w http.ResponseWriter, _ *http.Request) {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	fmt.Fprintf(w, "go_memstats_alloc_bytes_total %d\n", sample[0].Value.Uint64())
}

// owner is one entry of owners.json.
type owner struct {
	Token    string
	Projects []string
	user     string // its id
}

func seed(app core.App, owners, projects, documents int) error {
	return build(app, func(tx core.App, c schema) (out []owner, err error) {
		for i := 0; i < owners && err == nil; i++ {
			var o owner
			o, err = c.fill(tx, i, projects, documents)
			out = append(out, o)
		}
		return out, err
	})
}

// texts makes one owner, whose documents have the lines for descriptions.
func texts(app core.App, lines io.Reader) error {
	return build(app, func(tx core.App, c schema) ([]owner, error) {
		o, err := c.fill(tx, 0, 0, 0)
		in := bufio.NewScanner(lines)
		for n := 0; err == nil && in.Scan(); n++ {
			d := core.NewRecord(c.documents)
			d.Load(map[string]any{"owner": o.user, "title": fmt.Sprintf("Document %d", n), "description": in.Text()})
			err = tx.Save(d)
		}
		return []owner{o}, errors.Join(err, in.Err())
	})
}

// build makes the collections and what fill adds, in one transaction, and lists the owners in a file.
func build(app core.App, fill func(core.App, schema) ([]owner, error)) error {
	if err := app.RunAllMigrations(); err != nil {
		return err
	}
	var out []owner
	err := app.RunInTransaction(func(tx core.App) error {
		c, err := collections(tx)
		if err == nil {
			out, err = fill(tx, c)
		}
		return err
	})
	if err != nil {
		return err
	}
	text, err := json.Marshal(out)
	if err != nil {
		return err
	}
	// Standard output is PocketBase's.
	return os.WriteFile(filepath.Join(app.DataDir(), "owners.json"), text, 0o600)
}

// schema are the collections that take part.
type schema struct{ users, projects, documents *core.Collection }

// collections makes projects and documents. Their indexes serve the requests that are measured, as Sheaf's do.
func collections(tx core.App) (schema, error) {
	users, err := tx.FindCollectionByNameOrId("users")
	if err != nil {
		return schema{}, err
	}
	projects := core.NewBaseCollection("projects")
	projects.Fields.Add(
		&core.RelationField{Name: "owner", CollectionId: users.Id, MaxSelect: 1, Required: true},
		&core.TextField{Name: "name", Required: true, Max: 255},
		&core.TextField{Name: "description", Max: 2000},
		&core.TextField{Name: "icon"}, &core.TextField{Name: "color"},
		&core.NumberField{Name: "sort_order"}, &core.TextField{Name: "visibility"},
		&core.AutodateField{Name: "created", OnCreate: true}, &core.AutodateField{Name: "updated", OnCreate: true, OnUpdate: true})
	projects.AddIndex("projects_in_order", false, "owner, sort_order, created", "")
	owned(projects)
	if err := tx.Save(projects); err != nil {
		return schema{}, err
	}
	documents := core.NewBaseCollection("documents")
	documents.Fields.Add(
		&core.RelationField{Name: "owner", CollectionId: users.Id, MaxSelect: 1, Required: true},
		&core.RelationField{Name: "project", CollectionId: projects.Id, MaxSelect: 1},
		&core.TextField{Name: "title", Required: true, Max: 255}, &core.TextField{Name: "description", Max: 2000},
		&core.AutodateField{Name: "created", OnCreate: true}, &core.AutodateField{Name: "updated", OnCreate: true, OnUpdate: true})
	documents.AddIndex("documents_in_project", false, "project, updated", "")
	owned(documents)
	return schema{users, projects, documents}, tx.Save(documents)
}

// owned lets each owner read and write their own records alone.
func owned(c *core.Collection) {
	mine := "owner = @request.auth.id"
	c.ListRule, c.ViewRule, c.CreateRule, c.UpdateRule, c.DeleteRule = &mine, &mine, &mine, &mine, &mine
}

func (s schema) fill(tx core.App, n, projects, documents int) (owner, error) {
	user := core.NewRecord(s.users)
	user.Set("email", fmt.Sprintf("owner%d@example.com", n))
	user.SetRandomPassword()
	if err := tx.Save(user); err != nil {
		return owner{}, err
	}
	token, err := user.NewAuthToken()
	out := owner{Token: token, user: user.Id}
	for i := 0; i < projects && err == nil; i++ {
		var id string
		id, err = s.project(tx, user.Id, i, documents)
		out.Projects = append(out.Projects, id)
	}
	return out, err
}

func (s schema) project(tx core.App, user string, n, documents int) (string, error) {
	p := core.NewRecord(s.projects)
	p.Load(map[string]any{"owner": user, "name": fmt.Sprintf("Project %010d", n), "description": "What everybody should know about it",
		"icon": "book-open", "color": "#2563eb", "visibility": "private"})
	if err := tx.Save(p); err != nil {
		return "", err
	}
	for i := range documents {
		d := core.NewRecord(s.documents)
		d.Load(map[string]any{"owner": user, "project": p.Id, "title": fmt.Sprintf("Document %d", i), "description": "How it is done"})
		if err := tx.Save(d); err != nil {
			return "", err
		}
	}
	return p.Id, nil
}
