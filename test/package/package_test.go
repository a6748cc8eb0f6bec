// Package pkg builds the Debian package, installs it with dpkg and starts what was installed as systemd would. All of
// it happens in a copy-on-write view of the machine that is gone afterwards: nothing is installed for real.
package pkg

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sheaf.dev/client"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/proctest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(sheaftest.Patient(m), goleak.Cleanup(proctest.Exit))
}

func TestPackage_InstallsAndStarts(t *testing.T) {
	view := newView(t)
	deb := build(t)
	view.put(deb, "/tmp/sheaf.deb")
	view.run("dpkg", "-i", "/tmp/sheaf.deb")
	view.has(t)

	view.run("sh", "-c", "echo SHEAF_ADDR=127.0.0.1:0 >>/etc/sheaf/sheaf.env")
	unit := parseUnit(t, view.run("cat", "/usr/lib/systemd/system/sheaf.service"))
	url, stop := view.start(unit)
	if got := statusOf(t, url+"/readyz"); got != http.StatusOK {
		t.Errorf("/readyz answers %d", got)
	}
	key := regexp.MustCompile(`shf_[0-9A-Za-z]{46}`).FindString(view.run("cat", "/var/lib/sheaf/first-run.txt"))
	c, err := client.New(client.Config{Server: url, Key: key, HTTP: http.DefaultClient})
	if err != nil {
		t.Fatal(err)
	}
	project, err := c.Projects.Create(t.Context(), client.NewProject{Name: "Handbook"})
	if err != nil || project.Name != "Handbook" {
		t.Fatalf("created %+v, %v", project, err)
	}
	stop()

	// An upgrade keeps the settings, a removal the data, and so does a purge.
	view.run("dpkg", "-i", "/tmp/sheaf.deb")
	view.run("grep", "-q", "^SHEAF_ADDR=127.0.0.1:0$", "/etc/sheaf/sheaf.env")
	view.run("dpkg", "-r", "sheaf")
	view.run("sh", "-c", "test ! -e /usr/bin/sheaf && test -e /etc/sheaf/sheaf.env && test -e /var/lib/sheaf/sheaf.db")
	view.run("dpkg", "--purge", "sheaf")
	view.run("sh", "-c", "test ! -e /etc/sheaf && test -e /var/lib/sheaf/sheaf.db && test -e /var/lib/sheaf/master.key")
}

// build makes the package of the program that the tests run.
func build(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("./scripts/package", t.TempDir())
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), proctest.EnvBinary+"="+proctest.Binary(t))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("scripts/package: %v\n%s", err, errs.String())
	}
	return strings.TrimSpace(string(out))
}

// view is the machine's files as they are, on which whatever is written is kept apart and forgotten.
type view struct {
	t    *testing.T
	pid  string // of who holds its mounts
	root string
}

// mounts makes the view in a mount namespace of its own and holds it until standard input ends. /run is empty in it, as
// in a container: systemd does not run there.
const mounts = `
set -e
mount -t tmpfs -o mode=0755,size=512m none "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay -o lowerdir=/,upperdir="$1/upper",workdir="$1/work" none "$1/root"
mount --rbind /proc "$1/root/proc"
mount --rbind /dev "$1/root/dev"
mount -t tmpfs -o mode=0755 none "$1/root/run"
echo ready
read -r end || true
`

func newView(t *testing.T) *view {
	t.Helper()
	if os.Geteuid() != 0 {
		sheaftest.Unable(t, "only root can mount")
	}
	if _, err := exec.LookPath("dpkg"); err != nil {
		sheaftest.Unable(t, "this machine has no dpkg")
	}
	folder := t.TempDir()
	cmd := exec.Command("unshare", "--mount", "--propagation", "private", "bash", "-c", mounts, "bash", folder)
	cmd.Stderr = os.Stderr
	hold, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		hold.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the view ended with %v", err)
		}
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the view cannot be mounted: %q, %v", line, err)
	}
	return &view{t, fmt.Sprint(cmd.Process.Pid), filepath.Join(folder, "root")}
}

// command runs in the view.
func (v *view) command(args ...string) *exec.Cmd {
	cmd := exec.Command("nsenter", append([]string{"--target", v.pid, "--mount", "chroot", v.root}, args...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive"}
	return cmd
}

// run must succeed; it returns the standard output.
func (v *view) run(args ...string) string {
	v.t.Helper()
	cmd := v.command(args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		v.t.Fatalf("%q: %v\n%s%s", args, err, out, errs.String())
	}
	return string(out)
}

func (v *view) put(file, path string) {
	v.t.Helper()
	content, err := os.Open(file)
	if err != nil {
		v.t.Fatal(err)
	}
	defer content.Close()
	cmd := v.command("sh", "-c", "cat >"+path)
	cmd.Stdin = content
	if out, err := cmd.CombinedOutput(); err != nil {
		v.t.Fatalf("%v\n%s", err, out)
	}
}

// has checks what the package has installed.
func (v *view) has(t *testing.T) {
	t.Helper()
	for path, want := range map[string]string{
		"/usr/bin/sheaf":                               "755 root",
		"/usr/lib/systemd/system/sheaf.service":        "644 root",
		"/etc/sheaf/sheaf.env":                         "600 root",
		"/var/lib/sheaf":                               "700 sheaf",
		"/usr/share/bash-completion/completions/sheaf": "644 root",
		"/usr/share/doc/sheaf/copyright":               "644 root",
		"/usr/share/doc/sheaf/README.md":               "644 root",
		"/usr/share/doc/sheaf/docs/metrics.md":         "644 root",
		"/usr/share/doc/sheaf/deploy/alerts.yml":       "644 root",
		"/usr/share/doc/sheaf/deploy/grafana.json":     "644 root",
	} {
		if got := strings.TrimSpace(v.run("stat", "-c", "%a %U", path)); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	if got := v.run("getent", "passwd", "sheaf"); !strings.HasSuffix(got, ":/var/lib/sheaf:/usr/sbin/nologin\n") {
		t.Errorf("the user is %s", got)
	}
	if got := v.run("dpkg-query", "-W", "-f", "${Conffiles}", "sheaf"); !strings.Contains(got, "/etc/sheaf/sheaf.env") {
		t.Errorf("the files that an upgrade keeps: %s", got)
	}
	v.run("bash", "-c", "source /usr/share/bash-completion/completions/sheaf && complete -p sheaf")
	v.run("sh", "-c", "sheaf version")
	v.links(t)
}

// links checks that what the installed pages link to is installed too; the packages for programmers are not.
func (v *view) links(t *testing.T) {
	t.Helper()
	const root = "/usr/share/doc/sheaf"
	link := regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	pages := strings.Fields(v.run("find", root+"/docs", root+"/README.md", "-name", "*.md"))
	if len(pages) < 20 {
		t.Errorf("only %d pages are installed", len(pages))
	}
	for _, page := range pages {
		for _, found := range link.FindAllStringSubmatch(v.run("cat", page), -1) {
			target := filepath.Join(filepath.Dir(page), found[1])
			if inSource.MatchString(target) {
				continue
			}
			if _, err := os.Stat("/proc/" + v.pid + "/root" + v.root + target); err != nil {
				t.Errorf("%s links to %s, which is not installed", page, found[1])
			}
		}
	}
}

// inSource is what a reader of the package has no use for without the source.
var inSource = regexp.MustCompile(`^/usr/share/doc/sheaf/(bench|proof|client|webhook|CONTRIBUTING.md|LICENSE)\b`)

// unit is what systemd would start.
type unit struct {
	user, folder, environmentFile string
	environment, command          []string
}

func parseUnit(t *testing.T, text string) (u unit) {
	t.Helper()
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch name {
		case "User":
			u.user = value
		case "WorkingDirectory":
			u.folder = value
		case "EnvironmentFile":
			u.environmentFile = strings.TrimPrefix(value, "-")
		case "Environment":
			u.environment = append(u.environment, value)
		case "ExecStart":
			u.command = strings.Fields(value)
		}
	}
	if u.user == "" || u.folder == "" || u.environmentFile == "" || len(u.command) == 0 {
		t.Fatalf("the unit says %+v", u)
	}
	return u
}

// start runs the unit's command with its user, its folder and its environment, and returns where it listens.
func (v *view) start(u unit) (url string, stop func()) {
	v.t.Helper()
	script := `set -a; . ` + u.environmentFile + `; set +a; cd ` + u.folder + `; exec setpriv --reuid=` + u.user + ` --regid=` + u.user + ` --init-groups "$@"`
	args := append([]string{"env"}, u.environment...)
	cmd := v.command(append(append(args, "sh", "-c", script, "sh"), u.command...)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		v.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	lines := bufio.NewReader(stderr)
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		rest, _ := io.ReadAll(lines)
		if err := cmd.Wait(); err != nil {
			v.t.Errorf("the program ended with %v: %s", err, rest)
		}
	}
	var said strings.Builder
	for {
		line, err := lines.ReadString('\n')
		said.WriteString(line)
		if url, found := strings.CutPrefix(strings.TrimSpace(line), "listening on "); found {
			return url, stop
		}
		if err != nil {
			v.t.Fatalf("the program did not start: %v, %s", cmd.Wait(), said.String())
		}
	}
}

func statusOf(t *testing.T, url string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode
}
