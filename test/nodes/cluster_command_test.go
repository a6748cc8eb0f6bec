//go:build cluster

package nodes

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/proctest"
)

// However the command of `make cluster` ends, by Ctrl-C or killed, its servers and their folders are gone.
func TestCluster_LeavesNothingBehind(t *testing.T) {
	command := filepath.Join(t.TempDir(), "cluster")
	if out, err := exec.Command("go", "build", "-o", command, "sheaf.dev/scripts/cluster").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, end := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		t.Run(end.String(), func(t *testing.T) {
			folders := endedBy(t, command, end)
			if len(folders) != 17 { // etcd, Patroni, Redis, Sentinel and Sheaf three times, haproxy and pgbouncer
				t.Fatalf("the command named the folders of %d servers", len(folders))
			}
			within(t, patience, "the folders are gone", func() bool { return len(existing(folders)) == 0 })
			within(t, patience, "the servers are gone", func() bool { return len(working(folders)) == 0 })
		})
	}
}

// endedBy starts the command, sees its servers run, ends it by a signal, and returns the folders that it named.
func endedBy(t *testing.T, command string, end syscall.Signal) (folders []string) {
	t.Helper()
	var out sheaftest.Output
	cmd := exec.Command(command, "-binary", proctest.Binary(t))
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	within(t, patience, "the cluster serves", func() bool {
		select {
		case <-ended:
			t.Fatalf("the command ended: %s", out.String())
		default:
		}
		return strings.Contains(out.String(), "Ctrl-C stops all of it.")
	})
	for _, word := range strings.Fields(out.String()) {
		if strings.HasPrefix(word, os.TempDir()) {
			folders = append(folders, word)
		}
	}
	if n := len(working(folders)); n < len(folders) {
		t.Errorf("%d processes work in %d folders: they would not be seen", n, len(folders))
	}
	if err := syscall.Kill(-cmd.Process.Pid, end); err != nil { // as a terminal does
		t.Fatal(err)
	}
	<-ended
	return folders
}

// existing returns those of the folders that are there.
func existing(folders []string) (found []string) {
	for _, folder := range folders {
		if _, err := os.Stat(folder); err == nil {
			found = append(found, folder)
		}
	}
	return found
}

// working returns the processes whose working folder is one of these, or below it, or was before it was removed.
func working(folders []string) (found []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range all {
		at, err := os.Readlink(link)
		for _, folder := range folders {
			if err == nil && strings.HasPrefix(at+"/", folder+"/") || strings.HasPrefix(at, folder+" (deleted)") {
				found = append(found, link)
			}
		}
	}
	return found
}
