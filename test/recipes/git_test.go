package recipes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/markdown"
	"sheaf.dev/internal/sheaftest/proctest"
)

// repository is a clone of a bare repository, with the scripts of the page and a server.
type repository struct {
	t      *testing.T
	dir    string
	env    []string
	server *proctest.Server
	owner  string // a key that may do everything
}

// newRepository makes the page's repository with two files, and the project of them.
func newRepository(t *testing.T) *repository {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		sheaftest.Unable(t, "git is missing")
	}
	_, blocks, err := markdown.Read(root, "docs/recipes/git.md")
	if err != nil {
		t.Fatal(err)
	}
	p := proctest.New(t)
	owner, folder := p.Workspace(t, "Acme"), t.TempDir()
	g := &repository{t: t, dir: filepath.Join(folder, "clone"), server: p.Start(t, "--rate-limit", "business=0"), owner: owner}
	bin := filepath.Join(folder, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(p.Binary, filepath.Join(bin, "sheaf")); err != nil {
		t.Fatal(err)
	}
	g.env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+folder, "SOURCE=manual", "SHEAF_SERVER="+g.server.URL, "SHEAF_API_KEY="+owner,
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	g.run("git", "init", "-q", "--bare", "-b", "main", filepath.Join(folder, "bare.git"))
	g.run("git", "clone", "-q", filepath.Join(folder, "bare.git"), g.dir)
	for _, b := range blocks {
		if b.RunBy == "TestGit_BothSidesAreKept" {
			g.write(b.Attr["file"], b.Text)
		}
	}
	g.write("docs/a.md", "# A\n\none\n\ntwo\n\nthree\n")
	g.write("docs/b.md", "# B\n\nSee [a](a.md).\n")
	g.push("begin")
	g.run("sh", "begin.sh")
	made := g.call("POST", "/api/v1/api-keys", map[string]any{"name": "pipeline", "scopes": []string{"projects:read", "documents:read", "media:read", "proposals:read", "proposals:write"}})
	g.env = append(g.env, "SHEAF_API_KEY="+made["key"].(string))
	g.run("sh", "pull.sh")
	return g
}

// try runs a command in the clone and returns what it printed.
func (g *repository) try(name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	if c.Env, c.Dir = g.env, g.dir; name == "git" && (args[0] == "init" || args[0] == "clone") {
		c.Dir = filepath.Dir(g.dir)
	}
	out, err := c.CombinedOutput()
	return string(out), err
}

func (g *repository) run(name string, args ...string) string {
	g.t.Helper()
	out, err := g.try(name, args...)
	if err != nil {
		g.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

func (g *repository) write(path, text string) {
	g.t.Helper()
	path = filepath.Join(g.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// push commits everything and pushes it.
func (g *repository) push(message string) {
	g.t.Helper()
	g.run("git", "add", "-A")
	g.run("git", "commit", "-q", "-m", message)
	g.run("git", "push", "-q", "origin", "HEAD:main")
}

func (g *repository) call(method, path string, body any) map[string]any {
	g.t.Helper()
	var answer map[string]any
	if status, err := g.server.Call(g.owner, method, path, body, &answer); err != nil || status >= 300 {
		g.t.Fatalf("%s %s: %d %v %v", method, path, status, answer, err)
	}
	return answer
}

// document returns the document with that title, with its text, or nil.
func (g *repository) document(title string) map[string]any {
	g.t.Helper()
	for _, v := range g.call("GET", "/api/v1/documents?limit=100", nil)["data"].([]any) {
		if d := v.(map[string]any); d["title"] == title {
			return g.call("GET", "/api/v1/documents/"+d["id"].(string), nil)
		}
	}
	return nil
}

// edit changes the text of a document, as a person in Sheaf does.
func (g *repository) edit(title, text string) {
	g.t.Helper()
	g.call("PATCH", "/api/v1/documents/"+g.document(title)["id"].(string), map[string]any{"content": text})
}

func (g *repository) wantText(title, text string) {
	g.t.Helper()
	if d := g.document(title); d == nil || d["content"] != text {
		g.t.Errorf("%s is %v, want %q", title, d, text)
	}
}

func (g *repository) wantFile(path, text string) {
	g.t.Helper()
	if b, err := os.ReadFile(filepath.Join(g.dir, path)); err != nil && text != "" || string(b) != text {
		g.t.Errorf("%s is %q (%v), want %q", path, b, err, text)
	}
}

// open returns the open proposal with its conflicts, or nil. There is never more than one.
func (g *repository) open() map[string]any {
	g.t.Helper()
	list := g.call("GET", "/api/v1/proposals?state=open", nil)["data"].([]any)
	if len(list) > 1 {
		g.t.Errorf("%d open proposals", len(list))
	}
	for _, v := range list {
		return g.call("GET", "/api/v1/proposals/"+v.(map[string]any)["id"].(string), nil)
	}
	return nil
}

func (g *repository) wantOpen(changes, conflicts int) map[string]any {
	g.t.Helper()
	p := g.open()
	if p == nil && changes > 0 || p != nil && (len(p["changes"].([]any)) != changes || len(p["conflicts"].([]any)) != conflicts) {
		g.t.Errorf("the open proposal is %v, want %d changes and %d conflicts", p, changes, conflicts)
	}
	return p
}

func (g *repository) accept(p map[string]any) {
	g.t.Helper()
	c := exec.Command(filepath.Join(filepath.Dir(g.dir), "bin", "sheaf"), "proposals", "accept", fmt.Sprint(p["id"]))
	c.Env = append(g.env, "SHEAF_API_KEY="+g.owner)
	if out, err := c.CombinedOutput(); err != nil {
		g.t.Fatalf("accept: %v\n%s", err, out)
	}
}

// D182a: what is written in a repository and in Sheaf is merged or becomes a proposal, and nothing is lost. The scripts
// are those of the page.
func TestGit_BothSidesAreKept(t *testing.T) {
	t.Parallel()
	g := newRepository(t)
	g.run("sh", "propose.sh")
	g.wantOpen(0, 0)

	// Different lines on both sides.
	g.write("docs/a.md", "# A\n\nONE\n\ntwo\n\nthree\n")
	g.push("change one")
	g.edit("A", "# A\n\none\n\ntwo\n\nTHREE\n")
	g.run("sh", "propose.sh")
	p := g.wantOpen(1, 0)
	g.run("sh", "propose.sh") // a run that repeats
	if again := g.wantOpen(1, 0); again["id"] != p["id"] || again["revision"] != 1.0 {
		t.Errorf("a second run made %v", again)
	}
	g.accept(p)
	g.wantText("A", "# A\n\nONE\n\ntwo\n\nTHREE\n")
	g.run("sh", "propose.sh") // the file is older than the text
	g.wantOpen(0, 0)
	g.run("sh", "pull.sh")
	g.wantFile("docs/a.md", "# A\n\nONE\n\ntwo\n\nTHREE\n")

	// The same line on both sides: a conflict here and there, and each keeps its own.
	g.write("docs/a.md", "# A\n\nONE\n\nzwei\n\nTHREE\n")
	g.push("change two")
	g.edit("A", "# A\n\nONE\n\ndeux\n\nTHREE\n")
	g.run("sh", "propose.sh")
	g.wantOpen(1, 1)
	if out, err := g.try("sh", "pull.sh"); err == nil || !strings.Contains(out, "by hand") {
		t.Errorf("pulled: %s %v", out, err)
	}
	g.wantText("A", "# A\n\nONE\n\ndeux\n\nTHREE\n")
	g.wantFile("docs/a.md", "# A\n\nONE\n\nzwei\n\nTHREE\n")
	_, _ = g.try("git", "merge", "-q", "sheaf")
	g.write("docs/a.md", "# A\n\nONE\n\ndeux, zwei\n\nTHREE\n")
	g.push("merge by hand")
	g.run("sh", "propose.sh")
	g.accept(g.wantOpen(1, 0))
	g.wantText("A", "# A\n\nONE\n\ndeux, zwei\n\nTHREE\n")

	// A document that was made in Sheaf is one document, also after its file was changed.
	g.call("POST", "/api/v1/documents", map[string]any{"title": "New", "content": "# New\n\nfrom Sheaf\n", "project_id": g.document("A")["project_id"]})
	g.run("sh", "pull.sh")
	g.write("docs/New.md", "# New\n\nfrom both\n")
	g.push("change the new one")
	g.run("sh", "propose.sh")
	g.accept(g.wantOpen(1, 0))
	g.wantText("New", "# New\n\nfrom both\n")
	if n := g.call("GET", "/api/v1/documents", nil)["total"]; n != 3.0 {
		t.Errorf("%v documents", n)
	}
}

// D182a: files and documents that are deleted on one side, or changed on the other.
func TestGit_DeletionsAreProposedOrPulled(t *testing.T) {
	t.Parallel()
	g := newRepository(t)
	for _, title := range []string{"C", "D", "E"} {
		g.write("docs/"+strings.ToLower(title)+".md", "# "+title+"\n\ntext\n")
	}
	g.write("docs/c.md", "# C\n\nSee [d](d.md).\n")
	g.push("more")
	g.run("sh", "propose.sh")
	g.accept(g.wantOpen(3, 0))
	g.run("sh", "pull.sh")
	g.accept(g.wantOpen(1, 0)) // the link of c leads to a document that is there now
	if text := g.document("C")["content"].(string); !strings.Contains(text, "document:"+g.document("D")["id"].(string)) {
		t.Errorf("c is %q", text)
	}
	g.run("sh", "pull.sh")
	if out := g.run("sh", "propose.sh"); g.open() != nil {
		t.Errorf("after a pull: %s", out)
	}

	g.run("git", "rm", "-q", "docs/b.md", "docs/c.md")
	g.push("delete b and c")
	g.edit("C", "# C\n\nchanged in Sheaf\n")
	g.run("sh", "propose.sh")
	if p := g.wantOpen(2, 1); p["conflicts"].([]any)[0].(map[string]any)["document_id"] != g.document("C")["id"] {
		t.Errorf("the proposal is %v", p)
	}
	g.run("git", "revert", "--no-edit", "HEAD")
	g.run("git", "push", "-q", "origin", "main")
	g.run("sh", "propose.sh")
	g.wantOpen(0, 0)
	g.run("git", "rm", "-q", "docs/b.md")
	g.push("delete b")
	g.run("sh", "propose.sh")
	g.accept(g.wantOpen(1, 0))
	if g.document("B") != nil {
		t.Error("b is still there")
	}

	g.call("DELETE", "/api/v1/documents/"+g.document("D")["id"].(string), nil)
	g.call("DELETE", "/api/v1/documents/"+g.document("E")["id"].(string), nil)
	g.write("docs/e.md", "# E\n\nchanged here\n")
	g.push("change e")
	g.run("sh", "propose.sh")
	g.accept(g.wantOpen(1, 0)) // e comes back, and d does not
	if g.document("D") != nil || g.document("E") == nil {
		t.Error("the wrong one was restored")
	}
	g.run("sh", "propose.sh")
	g.accept(g.wantOpen(1, 0))
	g.wantText("E", "# E\n\nchanged here\n")
	g.run("sh", "pull.sh")
	g.wantFile("docs/d.md", "")
	g.wantFile("docs/e.md", "# E\n\nchanged here\n")
	g.wantFile("docs/c.md", "# C\n\nchanged in Sheaf\n")
}

// D182a: a branch that is rewritten takes back what was only proposed, and nothing that was accepted. Two runs at once
// leave one proposal.
func TestGit_ARewrittenBranchAndTwoRunsAtOnce(t *testing.T) {
	t.Parallel()
	g := newRepository(t)
	begin := strings.TrimSpace(g.run("git", "rev-parse", "HEAD"))
	g.write("docs/a.md", "# A\n\nfirst\n\ntwo\n\nthree\n")
	g.push("first")
	var runs sync.WaitGroup
	for range 4 {
		runs.Go(func() {
			if out, err := g.try("sh", "propose.sh"); err != nil {
				t.Errorf("a run beside others: %v\n%s", err, out)
			}
		})
	}
	runs.Wait()
	g.accept(g.wantOpen(1, 0))
	g.run("sh", "pull.sh")

	g.write("docs/b.md", "# B\n\nonly proposed\n")
	g.push("second")
	g.run("sh", "propose.sh")
	g.wantOpen(1, 0)
	g.run("git", "reset", "-q", "--hard", begin)
	g.run("git", "push", "-q", "--force", "origin", "main")
	g.run("sh", "propose.sh")
	g.wantOpen(0, 0)
	g.wantText("A", "# A\n\nfirst\n\ntwo\n\nthree\n")
	g.run("sh", "pull.sh")
	g.wantFile("docs/a.md", "# A\n\nfirst\n\ntwo\n\nthree\n")
	g.wantFile("docs/b.md", "# B\n\nSee [a](a.md).\n")
	g.wantOpen(0, 0)
}
