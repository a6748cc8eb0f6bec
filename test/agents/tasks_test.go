package agents

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"text/tabwriter"

	"sheaf.dev/internal/sheaftest/proctest"
)

// manual is the workspace that the agents work in: ids by name.
type manual map[string]string

// long is a text of 1,200 lines; the answer to a question is in one of them.
var long = strings.Repeat("A line of the reference, which says what a setting does.\n", 900) +
	"The queue keeps a message for 14 days.\n" + strings.Repeat("Another line of the reference about other settings.\n", 300)

// fill makes the manual: two products, each with the same pages, as manuals have them.
func fill(g *agent) manual {
	m := manual{}
	shop := g.call("create_folder", args{"name": "Products"}).id()
	m["Products"], m["Archive"], m["Empty"] = shop, g.call("create_folder", args{"name": "Archive"}).id(), g.call("create_folder", args{"name": "Drafts"}).id()
	for _, product := range []string{"Alpha", "Beta"} {
		project := g.call("create_project", args{"name": product + " manual", "folder_id": shop}).id()
		m[product] = project
		start := ""
		for _, title := range []string{"Start", "Install", "Troubleshooting", "Backup", "Reference", "Release notes"} {
			text := "# " + title + "\n\n" + strings.Repeat("Acme "+product+" does what this page says, and the next line says more of it.\n", 25)
			switch title {
			case "Install":
				text += "The server of " + product + " listens on port 8081.\n"
			case "Backup":
				text += "A backup of " + product + " is taken at noon.\n"
			case "Reference":
				text = long
			}
			in := args{"title": title, "content": text, "project_id": project}
			if title != "Start" {
				in["parent_id"] = start
			}
			id := g.call("create_document", in).id()
			m[product+"/"+title] = id
			if title == "Start" {
				start = id
			}
		}
	}
	for i := range 30 {
		g.call("create_document", args{"title": fmt.Sprintf("Note %d", i), "content": fmt.Sprintf("Ticket %d was about a lamp.\n", i), "project_id": m["Beta"], "parent_id": m["Beta/Start"]})
	}
	return m
}

// task is what a person asks an agent for. do returns what the agent would tell the person; "" means that it
// cannot be done with these tools.
type task struct {
	ask  string
	want string // a part of what the agent tells
	do   func(g *agent, m manual) string
}

// tasks are done in this order in one workspace.
var tasks = []task{
	{"Find and fix the wrong port in the install guide of Alpha", "8080", func(g *agent, m manual) string {
		id := g.call("find", args{"query": `"port 8081" Alpha`}).item("title", "Install")
		g.call("read_document", near(g, id, "port 8081"))
		g.call("edit_document", args{"document_id": id, "edits": []args{{"old": "port 8081", "new": "port 8080"}}})
		return g.call("read_document", near(g, id, "port 8080")).text
	}},
	{"Which product's Troubleshooting page is which?", "Alpha manual", func(g *agent, m manual) string {
		found := g.call("find", args{"query": "Troubleshooting", "type": "document"})
		for _, hit := range found.items() {
			if path, ok := hit["path"].(string); ok && hit["id"] == m["Alpha/Troubleshooting"] {
				return path
			}
		}
		for _, p := range g.call("list_projects", args{}).items() {
			if p["id"] == m["Alpha"] {
				return fmt.Sprint(p["name"])
			}
		}
		return ""
	}},
	{"For how long does the queue of Beta keep a message?", "14 days", func(g *agent, m manual) string {
		id := ""
		for _, hit := range g.call("find", args{"query": `"queue keeps"`, "project_id": m["Beta"]}).items() {
			id = hit["id"].(string)
			if strings.Contains(fmt.Sprint(hit["snippet"]), "14 days") {
				return fmt.Sprint(hit["snippet"])
			}
		}
		return readUntil(g, id, "queue keeps")
	}},
	{"What does the reference of Alpha say right after the queue?", "Another line", func(g *agent, m manual) string {
		text := readUntil(g, m["Alpha/Reference"], "queue keeps")
		_, after, _ := strings.Cut(text, "14 days.\n")
		return after
	}},
	{"List the pages of the Beta manual", "36", func(g *agent, m manual) string {
		return fmt.Sprint(g.call("read_tree", args{"project_id": m["Beta"]}).facts["total"])
	}},
	{"Add a page about updates below Start, after Install", "Updates", func(g *agent, m manual) string {
		tree := g.call("read_tree", args{"project_id": m["Alpha"]})
		id := g.call("create_document", args{"title": "Updates", "content": "# Updates\n\nRun the installer again.\n", "project_id": m["Alpha"], "parent_id": tree.outline("Start")}).id()
		return fmt.Sprint(g.call("move_document", args{"document_id": id, "after_id": tree.outline("Install")}).facts["title"])
	}},
	{"Replace the name Acme by Zenith on every page of Alpha", "5", func(g *agent, m manual) string {
		done := 0
		for _, hit := range g.call("find", args{"query": "Acme", "project_id": m["Alpha"]}).items() {
			g.call("edit_document", args{"document_id": hit["id"], "edits": []args{{"old": "Acme", "new": "Zenith", "all": true}}})
			done++
		}
		return fmt.Sprint(done)
	}},
	{"What was changed on the install guide, and by whom?", "port 8080", func(g *agent, m manual) string {
		if !g.has("compare_versions") {
			return "" // list_changes names the fields, but not what was in them
		}
		g.call("list_versions", args{"document_id": m["Alpha/Install"]})
		return g.call("compare_versions", args{"document_id": m["Alpha/Install"], "from_version": 1, "to_version": 2}).text
	}},
	{"Undo the last change of the backup page", "Acme", func(g *agent, m manual) string {
		if !g.has("restore_version") {
			return ""
		}
		id := m["Alpha/Backup"]
		newest := g.call("list_versions", args{"document_id": id, "limit": 2}).items()[1]
		g.call("restore_version", args{"document_id": id, "version": newest["version"]})
		return g.call("read_document", args{"document_id": id, "lines": 5}).text
	}},
	{"Read the first version of the release notes", "Acme Alpha", func(g *agent, m manual) string {
		if !g.has("list_versions") {
			return ""
		}
		return g.call("read_document", args{"document_id": m["Alpha/Release notes"], "version": 1, "lines": 10}).text
	}},
	{"Publish the Alpha manual with a password", "/s/", func(g *agent, m manual) string {
		url := g.share("project", m["Alpha"], args{"password": "read the manual"})
		return url
	}},
	{"Somebody sent the address of a shared page: what does it say?", "A backup of Beta", func(g *agent, m manual) string {
		url := m["shared"]
		if g.has("share") {
			return g.call("read_document", args{"document_id": url, "line_with": "backup", "lines": 80}).text
		}
		for _, s := range g.call("list_shares", args{}).items() {
			if s["url"] == url {
				return g.call("read_document", args{"document_id": s["resource_id"]}).text
			}
		}
		return ""
	}},
	{"Somebody sent the address of a page in the console: fix its title", "Setup", func(g *agent, m manual) string {
		id := m["Beta/Install"]
		if g.has("share") {
			id = "https://docs.example.com/w/" + m["Beta"] + "/documents/" + id
		}
		return fmt.Sprint(g.call("edit_document", args{"document_id": id, "title": "Setup"}).facts["title"])
	}},
	{"End the share of the Beta backup page", "true", func(g *agent, m manual) string {
		id := g.call("list_shares", args{"resource_id": m["Beta/Backup"]}).item("resource_id", m["Beta/Backup"])
		return fmt.Sprint(g.call("unshare", args{"share_id": id}).facts["deleted"])
	}},
	{"Rename the Beta manual and move it to the archive", "Beta manual (old)", func(g *agent, m manual) string {
		in := args{"project_id": m["Beta"], "name": "Beta manual (old)"}
		if g.has("move_project") {
			g.call("move_project", args{"project_id": m["Beta"], "folder_id": m["Archive"]})
		} else {
			in["folder_id"] = m["Archive"]
		}
		return fmt.Sprint(g.call("edit_project", in).facts["name"])
	}},
	{"Rename the folder Archive", "Old products", func(g *agent, m manual) string {
		if !g.has("edit_folder") {
			return ""
		}
		id := g.call("list_folders", args{}).item("name", "Archive")
		return fmt.Sprint(g.call("edit_folder", args{"folder_id": id, "name": "Old products"}).facts["name"])
	}},
	{"Delete the empty folder Drafts", "true", func(g *agent, m manual) string {
		if !g.has("delete_folder") {
			return ""
		}
		id := g.call("list_folders", args{}).item("name", "Drafts")
		return fmt.Sprint(g.call("delete_folder", args{"folder_id": id}).facts["deleted"])
	}},
	{"Delete a page, and bring it back", "Backup", func(g *agent, m manual) string {
		id := g.call("find", args{"query": "Backup", "project_id": m["Alpha"], "type": "document"}).item("title", "Backup")
		g.call("delete_document", args{"document_id": id})
		return fmt.Sprint(g.call("restore_document", args{"document_id": id}).facts["title"])
	}},
	{"Propose a better sentence for the Alpha backup page, and look at it", "+A backup of Alpha is taken at midnight.", func(g *agent, m manual) string {
		read := g.call("read_document", near(g, m["Alpha/Backup"], "at noon"))
		p := g.call("propose_changes", args{"title": "Backups run at night", "changes": []args{{"op": "edit", "document_id": m["Alpha/Backup"], "base_version": read.facts["version"],
			"edits": []args{{"old": "at noon", "new": "at midnight"}}}}})
		g.call("read_proposal", args{"proposal_id": p.id()})
		return g.call("read_proposal", args{"proposal_id": p.id(), "change": 0}).text
	}},
	{"What happened in the workspace lately?", "20", func(g *agent, m manual) string {
		return fmt.Sprint(len(g.call("list_changes", args{}).items()))
	}},
}

// near returns the arguments that read the part of a document around a passage, or all of it where that cannot be asked for.
func near(g *agent, id, passage string) args {
	if !g.has("share") {
		return args{"document_id": id}
	}
	return args{"document_id": id, "line_with": passage, "lines": 10}
}

// readUntil reads a document up to the part with the passage, and returns that part.
func readUntil(g *agent, id, passage string) string {
	in := near(g, id, passage)
	for {
		a := g.call("read_document", in)
		next := a.facts["next_line"]
		if strings.Contains(a.text, passage) || next == nil {
			return a.text
		}
		in = args{"document_id": id, "from_line": next}
	}
}

// share publishes a record and returns its address.
func (g *agent) share(kind, id string, in args) string {
	tool := "share"
	if !g.has(tool) {
		tool = "share_" + kind
	}
	in[kind+"_id"] = id
	return fmt.Sprint(g.call(tool, in).facts["url"])
}

// The most that the tasks may take. They are 3 % above what was measured, so that a tool that answers more is noticed.
const (
	mostCalls = 41
	mostBytes = 27_200
	mostList  = 17_700
)

// Twenty tasks are done by the calls that a careful agent makes, which are counted. SHEAF_AGENTS_PROGRAM names another
// program to count, such as one built from an earlier commit: then nothing is expected of its numbers.
func TestTasks_TakeFewCallsAndBytes(t *testing.T) {
	p := proctest.New(t)
	before := os.Getenv("SHEAF_AGENTS_PROGRAM")
	if before != "" {
		p.Binary = before
	}
	key := p.Workspace(t, "Acme")
	g := connect(t, p.Start(t, "--rate-limit", "business=0"), key)
	m := fill(g)
	m["shared"] = g.share("document", m["Beta/Backup"], args{})

	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 1, ' ', 0)
	fmt.Fprintf(w, "| task\t| calls\t| bytes\t|\n|---\t|---\t|---\t|\n")
	calls, bytes, undone := 0, 0, 0
	for _, task := range tasks {
		g.calls, g.bytes = 0, 0
		told := task.do(g, m)
		switch {
		case told == "" && before != "":
			undone++
			fmt.Fprintf(w, "| %s\t| cannot be done\t|\t|\n", task.ask)
			continue
		case !strings.Contains(told, task.want):
			t.Errorf("%s: the agent tells %q, want %q", task.ask, told, task.want)
		}
		calls, bytes = calls+g.calls, bytes+g.bytes
		fmt.Fprintf(w, "| %s\t| %d\t| %d\t|\n", task.ask, g.calls, g.bytes)
	}
	w.Flush()
	t.Logf("%d tools, tools/list %d bytes\n%sall: %d calls, %d bytes, %d cannot be done", len(g.tools), g.list, &out, calls, bytes, undone)
	if before == "" && (calls > mostCalls || bytes > mostBytes || g.list > mostList || undone > 0) {
		t.Errorf("%d calls, %d bytes and a list of %d bytes: more than %d, %d and %d", calls, bytes, g.list, mostCalls, mostBytes, mostList)
	}
}
