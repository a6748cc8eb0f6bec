package clients

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/markdown"
	"sheaf.dev/internal/sheaftest/proctest"
)

// The blocks of a README are one program, in their order, and print what the page shows. Its receiver, a program of its own,
// takes what is genuine and nothing else.
func TestPython_ReadmeIsTrue(t *testing.T) {
	t.Parallel()
	readme(t, "python", "python", "page.py", pythonEnv(t), func(string) []string { return []string{python(t)} })
}

// The examples of two clients, run against one server, each print what their page shows: no Idempotency-Key is in both.
func TestReadmes_ShareNoIdempotencyKey(t *testing.T) {
	t.Parallel()
	key, seen := regexp.MustCompile(`(?:idempotency_key=|idempotencyKey: )"([^"]+)"`), map[string]string{}
	for _, folder := range []string{"python", "typescript"} {
		text, err := os.ReadFile(in(t, folder, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		found := key.FindAllStringSubmatch(string(text), -1)
		if len(found) == 0 {
			t.Errorf("the page of %s shows no key", folder)
		}
		for _, m := range found {
			if other := seen[m[1]]; other != "" && other != folder {
				t.Errorf("%s is a key in the pages of %s and %s", m[1], other, folder)
			}
			seen[m[1]] = folder
		}
	}
}

// readme runs the blocks of a language in clients/FOLDER/README.md, each program in a folder that prepare fills.
func readme(t *testing.T, folder, lang, file string, env []string, prepare func(dir string) []string) {
	t.Helper()
	_, blocks, err := markdown.Read(root, "clients/"+folder+"/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var program, shown strings.Builder
	receivers := 0
	for _, b := range blocks {
		switch {
		case b.NotRun != "":
		case b.Has("receiver"):
			receivers++
			t.Run("receiver", func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				receives(t, save(t, dir, file, b.Text), env, prepare(dir))
			})
		case b.Lang == lang:
			program.WriteString(b.Text)
		case b.Lang == "text":
			shown.WriteString(b.Text)
		default:
			t.Errorf("%s: nobody runs this", b.Where())
		}
	}
	if receivers == 0 || shown.Len() == 0 {
		t.Errorf("%d receivers, and %d characters are shown", receivers, shown.Len())
	}
	t.Run("blocks", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		prints(t, save(t, dir, file, program.String()), env, prepare(dir), shown.String())
	})
}

func save(t *testing.T, dir, file, text string) string {
	t.Helper()
	path := filepath.Join(dir, file)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// prints compares what a program prints, beside a server.
func prints(t *testing.T, path string, env, command []string, want string) {
	t.Helper()
	p := proctest.New(t)
	key := p.Workspace(t, "readme")
	server := p.Start(t)
	var failure bytes.Buffer
	cmd := exec.CommandContext(t.Context(), command[0], append(command[1:], path)...)
	cmd.Env = append(append(os.Environ(), env...), "SHEAF="+server.URL, "KEY="+key)
	cmd.Dir, cmd.Stderr = filepath.Dir(path), &failure
	out, err := cmd.Output()
	if err != nil || string(out) != want {
		t.Errorf("%v: it printed\n%s\nand not\n%s\n%s", err, out, want, &failure)
	}
}

// receives sends trials to a receiver.
func receives(t *testing.T, path string, env, command []string) {
	t.Helper()
	port, err := sheaftest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	const secret = "whsec_dGhlLW9uZS1hbmQtb25seS1zZWNyZXQtb2YtdGhlLXJlY2lwZXMtYWJj"
	cmd := exec.Command(command[0], append(command[1:], path)...)
	cmd.Env = append(append(os.Environ(), env...), "SECRET="+secret, "PORT="+port)
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Dir(path), t.Output(), t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	sheaftest.Eventually(t, "it listens", func() bool {
		c, err := net.Dial("tcp", "localhost:"+port)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	for _, each := range trials(secret, time.Now()) {
		if each.want == "BadSecret" || each.exact {
			continue // its secret is its own, and its clock goes on
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost:"+port+"/hook", strings.NewReader(each.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Close = true
		for name, value := range each.headers {
			r.Header.Set(name, value)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", each.name, err)
		}
		_ = res.Body.Close()
		if taken := res.StatusCode/100 == 2; taken != (each.want == "") || !taken && res.StatusCode/100 != 4 {
			t.Errorf("%s: it answers %d", each.name, res.StatusCode)
		}
	}
}
