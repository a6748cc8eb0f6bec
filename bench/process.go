package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a server under test, or one that tests.
type process struct {
	name  string
	cmd   *exec.Cmd
	addr  string // where it serves
	stats string // where it tells what it has allocated; empty: it does not
	ended chan struct{}
	err   error // why it ended
	log   string
}

// withParent has a child whose parent was killed go with it.
var withParent = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}

// start runs a program whose output goes to a file, as an operator's would.
func (b *bench) start(name, program string, env []string, args ...string) (*process, error) {
	log := filepath.Join(b.dir, name+".log")
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = withParent
	p := &process{name: name, cmd: cmd, ended: make(chan struct{}), log: log}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = cmd.Wait()
		close(p.ended)
	}()
	b.running = append(b.running, p)
	return p, nil
}

// stop ends it in order.
func (p *process) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(30 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("%s did not stop", p.name)
	}
	return nil
}

// ready waits until the path is answered with 200, and returns how long that took.
func (p *process) ready(path string) (time.Duration, error) {
	began := time.Now()
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for time.Since(began) < time.Minute {
		answer, err := client.Get("http://" + p.addr + path)
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return time.Since(began), nil
			}
		}
		select {
		case <-p.ended:
			return 0, p.failure(errors.New("it ended"))
		case <-time.After(time.Millisecond):
		}
	}
	return 0, p.failure(errors.New("it was not ready within a minute"))
}

// failure adds the end of what it wrote.
func (p *process) failure(err error) error {
	log, _ := os.ReadFile(p.log)
	return fmt.Errorf("%s: %w\n%s", p.name, err, log[max(0, len(log)-2000):])
}

// ticks is what the kernel counts a process's time in, a second.
const ticks = 100

// cpu is the time that it has used, in user and kernel mode.
func (p *process) cpu() time.Duration {
	_, own, _ := cpuOf(p.cmd.Process.Pid)
	return own
}

// cpuOf returns the parent of a process, its processor time, and that of its children that have ended.
func cpuOf(pid int) (parent int, own, gone time.Duration) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 15 {
		return 0, 0, 0
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(fields[i], 10, 64)
		return n
	}
	return int(number(1)), time.Duration(number(11)+number(12)) * time.Second / ticks, time.Duration(number(13)+number(14)) * time.Second / ticks
}

// cpuOfTree returns the processor time of a process and its children, including those that have ended: all
// of PostgreSQL.
func cpuOfTree(pid int) time.Duration {
	_, own, gone := cpuOf(pid)
	all := own + gone
	names, _ := filepath.Glob("/proc/[0-9]*")
	for _, name := range names {
		child, _ := strconv.Atoi(filepath.Base(name))
		if parent, own, gone := cpuOf(child); parent == pid {
			all += own + gone
		}
	}
	return all
}

// ownCPU is the time that this process has used.
func ownCPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// memory returns its resident memory now and at its highest, in bytes.
func (p *process) memory() (now, most int64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	for line := range strings.Lines(string(text)) {
		var kb int64
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kb); n == 1 {
			now = kb << 10
		}
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kb); n == 1 {
			most = kb << 10
		}
	}
	return now, most
}

// metrics is what it tells of itself.
func (p *process) metrics() (text string, err error) {
	err = persist(func() error {
		answer, err := patient.Get("http://" + p.stats + "/metrics")
		if err != nil {
			return stalledIf(true, err)
		}
		defer answer.Body.Close()
		all, err := io.ReadAll(answer.Body)
		text = string(all)
		return stalledIf(err != nil, err)
	})
	return text, err
}

// metric returns a figure from the metrics of a process, by its name and labels.
func metric(text, name string) (value float64, known bool) {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			return v, err == nil
		}
	}
	return 0, false
}

// allocated returns the number of bytes that the process has allocated on its heap since it began; 0 if it
// does not report that.
func (p *process) allocated() float64 {
	if p.stats == "" {
		return 0
	}
	text, err := p.metrics()
	if err != nil {
		return 0
	}
	n, _ := metric(text, "go_memstats_alloc_bytes_total")
	return n
}

// freeAddr is an address on loopback that nobody listens on.
func freeAddr() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	return l.Addr().String()
}
