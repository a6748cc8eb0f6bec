// Package readme runs the README's tour, as a newcomer would paste it, against
// a fresh server, and compares the answers with those that the README shows.
package readme

import (
	"bufio"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the answers into the README")

const path = "../../README.md"

// A step is a block of lines to paste, and the answer that the README shows
// below it.
type step struct{ command, answer string }

func TestTour_AnswersAsTheREADMEShows(t *testing.T) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	shell := openShell(t, serve)
	names := names{}
	out := rewrite(string(text), func(s step) string {
		answer := shell.paste(s.command)
		if *update {
			return answer
		}
		names.compare(t, s, answer)
		return s.answer
	})
	if *update {
		if err := os.WriteFile(path, []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// block is a step as the README writes it: shell lines, then the answer if there
// is one.
var block = regexp.MustCompile("(?s)```sh\n(.*?)\n```(?:\n\n```json\n(.*?)\n```)?")

// rewrite calls run for each step of the tour and puts its result where the
// answer stands.
func rewrite(text string, run func(step) string) string {
	start := strings.Index(text, "## A tour")
	end := start + strings.Index(text[start:], "\n## For operators")
	tour := block.ReplaceAllStringFunc(text[start:end], func(found string) string {
		m := block.FindStringSubmatch(found)
		if strings.HasPrefix(m[1], "export ") {
			return found // what the reader fills in
		}
		out := "```sh\n" + m[1] + "\n```"
		if answer := run(step{m[1], m[2]}); answer != "" {
			out += "\n\n```json\n" + answer + "\n```"
		}
		return out
	})
	return text[:start] + tour + text[end:]
}

// serve starts the program as it is, on an empty folder, and returns its address
// and the key that it prints.
func serve(t *testing.T) (address, key string) {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "sheaf")
	build := exec.Command("go", "build", "-o", program, "../../cmd/sheaf")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	server := exec.Command(program, "serve", "--addr", "127.0.0.1:0", "--data", filepath.Join(dir, "data"))
	stdout, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Signal(os.Interrupt)
		server.Wait()
	})
	key = await(stdout, regexp.MustCompile(`shf_\w+`))
	address = strings.TrimPrefix(await(stderr, regexp.MustCompile(`listening on .*`)), "listening on ")
	if address == "" || key == "" {
		t.Fatal("the server did not start")
	}
	return address, key
}

// await returns the first match in what is printed; the rest is read away.
func await(r io.Reader, pattern *regexp.Regexp) (found string) {
	lines := bufio.NewScanner(r)
	for found == "" && lines.Scan() {
		found = pattern.FindString(lines.Text())
	}
	go io.Copy(io.Discard, r)
	return found
}

// shell is a terminal that the tour's lines are pasted into, one after another.
type shell struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
}

func openShell(t *testing.T, serve func(*testing.T) (address, key string)) *shell {
	t.Helper()
	address, key := serve(t)
	bash := exec.Command("bash")
	bash.Dir = t.TempDir()
	bash.Env = append(os.Environ(), "SHEAF="+address, "KEY="+key)
	in, err := bash.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := bash.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := bash.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		bash.Wait()
	})
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	return &shell{t, in, lines}
}

// paste runs a line and returns what it prints.
func (s *shell) paste(line string) string {
	s.t.Helper()
	const end = "-- end of the answer --"
	if _, err := io.WriteString(s.in, line+"\necho; echo '"+end+"'\n"); err != nil {
		s.t.Fatal(err)
	}
	var printed []string
	for s.out.Scan() {
		if s.out.Text() == end {
			return strings.TrimSpace(strings.Join(printed, "\n"))
		}
		printed = append(printed, s.out.Text())
	}
	s.t.Fatalf("the shell ended at %s", line)
	return ""
}

// changing is what differs from run to run: ids, times, secrets and keys.
var changing = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z|whsec_\w+|shf_\w+`)

// names maps what the README shows to what this run has in its place.
type names map[string]string

// compare fails unless the answer is the README's: the same id in two places
// stands for the same thing, and everything else is equal.
func (n names) compare(t *testing.T, s step, answer string) {
	t.Helper()
	const mark = "…"
	if changing.ReplaceAllString(answer, mark) != changing.ReplaceAllString(s.answer, mark) {
		t.Errorf("$ %s\nthe README shows\n%s\nand the service answers\n%s\n(go test ./test/readme -update writes the README anew)", s.command, s.answer, answer)
		return
	}
	shown, real := changing.FindAllString(s.answer, -1), changing.FindAllString(answer, -1)
	for i := range shown {
		known, ok := n[shown[i]]
		if _, err := time.Parse(time.RFC3339, shown[i]); err == nil {
			continue // two times may fall together in one run and not in another
		}
		if ok && known != real[i] {
			t.Errorf("$ %s\n%s stood for %s and stands for %s now", s.command, shown[i], known, real[i])
		}
		n[shown[i]] = real[i]
	}
}
