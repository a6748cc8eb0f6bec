package docs

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/markdown"
	"sheaf.dev/internal/sheaftest/proctest"
)

// session is a reader at work: a folder, a shell in it, and the programs that go on in other terminals.
type session struct {
	t      *testing.T
	dir    string
	ports  map[string]string // a page's port → the free one that stands for it
	in     io.Writer
	out    *bufio.Scanner
	prints []func() string // what was printed, terminal by terminal
	names  names
}

// open gives the reader a shell. The program is in PATH, unless the pages install it themselves.
func open(t *testing.T, blocks []markdown.Block) *session {
	t.Helper()
	s := &session{t: t, dir: t.TempDir(), ports: map[string]string{}, names: names{}}
	bin := filepath.Join(s.dir, ".bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if !installs(blocks) {
		if err := os.Symlink(proctest.Binary(t), filepath.Join(bin, "sheaf")); err != nil {
			t.Fatal(err)
		}
	}
	address := "127.0.0.1:" + s.port("8080")
	s.start(append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "GOBIN="+bin, "CGO_ENABLED=0",
		"XDG_CONFIG_HOME="+filepath.Join(s.dir, ".config"), "SHEAF_DATA="+filepath.Join(s.dir, "data"),
		"SHEAF_ADDR="+address, "SHEAF_SERVER=http://"+address))
	return s
}

func installs(blocks []markdown.Block) bool {
	for _, b := range blocks {
		if runs(b) && strings.Contains(b.Text, "go install") {
			return true
		}
	}
	return false
}

func (s *session) start(env []string) {
	s.t.Helper()
	bash := exec.Command("bash")
	bash.Dir, bash.Env, bash.Stderr = s.dir, env, s.t.Output()
	bash.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that what it leaves running ends with it
	in, err := bash.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := bash.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := bash.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = syscall.Kill(-bash.Process.Pid, syscall.SIGKILL)
		_ = bash.Wait()
	})
	s.in, s.out = in, bufio.NewScanner(out)
	s.out.Buffer(nil, 1<<22)
	s.run("set -E; trap 'failed=$BASH_COMMAND' ERR")
}

// page runs a page from its first block to its last.
func (s *session) page(page, text string, blocks []markdown.Block) {
	s.t.Helper()
	var last string // what the commands above printed
	out, kept := "", 0
	for _, b := range blocks {
		switch {
		case b.NotRun != "" || b.RunBy != "":
		case b.Has("file"):
			s.save(b)
		case b.Lang == "sh" && b.Has("background"):
			s.beside(b)
		case b.Lang == "sh":
			last = s.run(s.fill(b.Text))
			s.await(b)
		case b.Answer && *update && strings.Contains(b.Text, folded) && stillTrue(b, s.unfill(last)):
		case b.Answer && *update:
			out += text[kept:b.Start] + s.unfill(last) + "\n"
			kept = b.End
		case b.Answer:
			s.names.compare(s.t, b, s.unfill(last))
		}
	}
	if *update {
		if err := os.WriteFile(filepath.Join(root, page), []byte(out+text[kept:]), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
}

// stillTrue reports whether a folded answer is as it was: what somebody folded by hand is not written anew then.
func stillTrue(b markdown.Block, answer string) bool {
	_, same := match(b.Text[:max(len(b.Text)-1, 0)], answer)
	return same
}

// serve starts a server as the quick start does, and tells the shell its address and key.
func (s *session) serve() {
	s.t.Helper()
	s.beside(markdown.Block{Text: "sheaf serve", Attr: map[string]string{"background": "listening on"}})
	s.run("export SHEAF=$SHEAF_SERVER KEY=" + s.printed("shf_") + "; export SHEAF_API_KEY=$KEY")
}

func (s *session) save(b markdown.Block) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, b.Attr["file"]), []byte(s.fill(b.Text)), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// beside starts what goes on in another terminal and waits for what it prints when it is ready.
func (s *session) beside(b markdown.Block) {
	s.t.Helper()
	log := filepath.Join(s.dir, fmt.Sprintf(".terminal-%d", len(s.prints)))
	read := func() string {
		b, _ := os.ReadFile(log)
		return string(b)
	}
	commands := s.fill(b.Text)
	if strings.HasPrefix(commands, "go ") {
		commands = "cd " + s.clone() + "\n" + commands
	}
	s.run("{\n" + commands + "\n} >" + log + " 2>&1 &")
	s.prints = append(s.prints, read)
	ready := s.fill(b.Attr["background"])
	defer func() {
		if s.t.Failed() {
			s.t.Logf("%s printed\n%s", b.Where(), read())
		}
	}()
	sheaftest.Eventually(s.t, b.Where()+" prints "+ready, func() bool { return strings.Contains(read(), ready) })
}

// await waits until another terminal shows what the commands lead to there.
func (s *session) await(b markdown.Block) {
	s.t.Helper()
	if !b.Has("shows") {
		return
	}
	sheaftest.Eventually(s.t, b.Where()+" shows "+b.Attr["shows"], func() bool {
		for _, printed := range s.prints {
			if strings.Contains(printed(), b.Attr["shows"]) {
				return true
			}
		}
		return false
	})
}

// run pastes commands and returns what they print. One that fails is the page's error.
func (s *session) run(commands string) string {
	s.t.Helper()
	const end = "-- end of the answer --"
	if strings.HasPrefix(commands, "go ") { // a terminal in the clone
		commands = "pushd " + s.clone() + " >/dev/null\n" + commands + "\npopd >/dev/null"
	}
	if _, err := io.WriteString(s.in, "failed=\n"+commands+"\necho; echo \""+end+"$failed\"\n"); err != nil {
		s.t.Fatalf("the shell ended before %s", commands)
	}
	var lines []string
	for s.out.Scan() {
		failed, found := strings.CutPrefix(s.out.Text(), end)
		if !found {
			lines = append(lines, s.out.Text())
			continue
		}
		printed := strings.TrimSpace(strings.Join(lines, "\n"))
		if failed != "" {
			s.t.Errorf("failed: %s\nin\n%s\nwhich printed\n%s", failed, commands, printed)
		}
		s.prints = append(s.prints, func() string { return printed })
		return printed
	}
	s.t.Fatalf("the shell ended at %s", commands)
	return ""
}

func (s *session) clone() string {
	dir, err := filepath.Abs(root)
	if err != nil {
		s.t.Fatal(err)
	}
	return dir
}

var (
	// port is what a page writes where the reader's machine has a port.
	port = regexp.MustCompile(`\b(8080|8081|9090|3000|3001|1880)\b`)
	// blank is what the reader fills in, from what was printed.
	blank = regexp.MustCompile(`\b(shf_|whsec_)…`)
)

// fill does what the reader does: put in what was printed, and free ports.
func (s *session) fill(text string) string {
	text = port.ReplaceAllStringFunc(text, s.port)
	return blank.ReplaceAllStringFunc(text, func(found string) string { return s.printed(strings.TrimSuffix(found, "…")) })
}

// unfill puts the page's ports back.
func (s *session) unfill(text string) string {
	for shown, free := range s.ports {
		text = strings.ReplaceAll(text, ":"+free, ":"+shown)
	}
	return text
}

// port returns the free port that stands for one of the page.
func (s *session) port(shown string) string {
	if free, ok := s.ports[shown]; ok {
		return free
	}
	free, err := sheaftest.FreePort()
	if err != nil {
		s.t.Fatal(err)
	}
	s.ports[shown] = free
	return free
}

// printed returns the last word with this beginning that any terminal shows.
func (s *session) printed(prefix string) string {
	s.t.Helper()
	word := regexp.MustCompile(prefix + `\w{20,}`)
	for i := len(s.prints) - 1; i >= 0; i-- {
		if found := word.FindAllString(s.prints[i](), -1); found != nil {
			return found[len(found)-1]
		}
	}
	s.t.Fatalf("nothing printed has a %s…", prefix)
	return ""
}
