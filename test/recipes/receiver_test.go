package recipes

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/markdown"
)

const root = "../.."

// Every receiver of the recipes takes what is genuine and refuses what is not, in its own language.
func TestReceivers_TakeOnlyWhatIsGenuine(t *testing.T) {
	var blocks []markdown.Block
	for _, page := range []string{"verify", "chat", "site"} {
		_, more, err := markdown.Read(root, "docs/recipes/"+page+".md")
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, more...)
	}
	found := map[string]int{}
	for _, b := range blocks {
		if !b.Has("receiver") || b.NotRun != "" {
			continue
		}
		found[b.Lang]++
		t.Run(b.Lang+" "+b.Where(), func(t *testing.T) {
			t.Parallel()
			var except []string
			if stripes.MatchString(b.Text) {
				except = append(except, ahead)
			}
			try(t, http.DefaultClient, "http://localhost:"+serve(t, b)+"/hook", secret, except...)
		})
	}
	for lang, least := range map[string]int{"go": 2, "js": 3, "python": 4, "php": 1, "ruby": 1} {
		if found[lang] < least {
			t.Errorf("%d receivers in %s, not %d", found[lang], lang, least)
		}
	}
}

// stripes finds Stripe's library.
var stripes = regexp.MustCompile(`from "stripe"|import stripe`)

// A language is how its receivers are saved and started.
var languages = map[string]struct {
	file    string
	command func(t *testing.T, file, port string) []string
}{
	"go":     {"main.go", goCommand},
	"js":     {"receiver.mjs", func(_ *testing.T, file, _ string) []string { return []string{"node", file} }},
	"python": {"receiver.py", pythonCommand},
	"php": {"receiver.php", func(_ *testing.T, file, port string) []string {
		return []string{"php", "-S", "localhost:" + port, file}
	}},
	"ruby": {"config.ru", rackCommand},
}

// goCommand builds the receiver, so that no other process stands between it and the test.
func goCommand(t *testing.T, file, _ string) []string {
	t.Helper()
	program := filepath.Join(filepath.Dir(file), "receiver")
	build := exec.Command("go", "build", "-o", program, file)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return []string{program}
}

// pythonCommand takes Debian's own Python for a receiver that imports Stripe's library: it is a package of Debian.
func pythonCommand(t *testing.T, file, _ string) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !stripes.Match(b) {
		return []string{"python3", file}
	}
	if err := exec.Command("/usr/bin/python3", "-c", "import stripe").Run(); err != nil {
		sheaftest.Unable(t, "Debian's python3-stripe is missing")
	}
	return []string{"/usr/bin/python3", file}
}

func rackCommand(t *testing.T, file, port string) []string {
	t.Helper()
	rack, err := filepath.Abs("testdata/rack.rb")
	if err != nil {
		t.Fatal(err)
	}
	return []string{"ruby", rack, file, port}
}

// serve starts a receiver and returns its port when it takes connections.
func serve(t *testing.T, b markdown.Block, env ...string) (port string) {
	t.Helper()
	dir, port := t.TempDir(), freePort(t)
	lang := languages[b.Lang]
	file := filepath.Join(dir, lang.file)
	if err := os.WriteFile(file, []byte(b.Text), 0o600); err != nil {
		t.Fatal(err)
	}
	if b.Lang == "js" {
		if err := os.Symlink(filepath.Join(npm(t), "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
	}
	start(t, dir, port, t.Output(), lang.command(t, file, port), env...)
	return port
}

// start runs a program until the test ends and returns when it takes connections. What it prints goes to log.
func start(t *testing.T, dir, port string, log io.Writer, command []string, env ...string) {
	t.Helper()
	need(t, command[0])
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	cmd.Env = append(append(os.Environ(), "SECRET="+secret, "PORT="+port), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	sheaftest.Eventually(t, command[0]+" listens", func() bool {
		c, err := net.Dial("tcp", "localhost:"+port)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
}

func freePort(t *testing.T) string {
	t.Helper()
	port, err := sheaftest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// need ends the test where a program is missing.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		sheaftest.Unable(t, err.Error())
	}
}
