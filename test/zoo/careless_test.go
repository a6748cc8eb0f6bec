package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/proctest"
)

// careless is the control: a sender as many are written, the standard client and the whole answer read, pointed at
// the endpoints on its standard input. It writes the name of each one that it is done with.
func careless() {
	roots, err := os.ReadFile(os.Getenv("ZOO_CA"))
	if err != nil {
		panic(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(roots)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	var all []place
	if err := json.NewDecoder(os.Stdin).Decode(&all); err != nil {
		panic(err)
	}
	var wg sync.WaitGroup
	for _, p := range all {
		wg.Go(func() {
			send(client, p.URL)
			fmt.Println(p.Name)
		})
	}
	wg.Wait()
}

func send(client *http.Client, url string) {
	res, err := client.Post(url, "application/json", strings.NewReader(`{"id":"evt_1"}`))
	if err != nil {
		return
	}
	defer res.Body.Close()
	_, _ = io.ReadAll(res.Body)
}

// carelessly runs the control against some of the endpoints until enough says that it was caught, or for ever.
func carelessly(t *testing.T, z *zoo, some []place, enough func(pid, done int) bool) (caught bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asProgram+"=careless", "ZOO_CA="+z.ca)
	in, err := json.Marshal(some)
	if err != nil {
		t.Fatal(err)
	}
	var out lines
	cmd.Stdin, cmd.Stdout = bytes.NewReader(in), &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	return sheaftest.Within(10*time.Minute, func() bool { return enough(cmd.Process.Pid, out.count()) })
}

// overruns reports whether the careless sender still waits for somebody when the program, over the same deadline, is done
// with them all.
func overruns(t *testing.T, z *zoo, done <-chan struct{}) (late bool) {
	some := z.only(func(name string) bool { return !floods(name) })
	carelessly(t, z, some, func(_, ended int) bool {
		select {
		case <-done:
			late = ended < len(some)
			return true
		default:
			return false
		}
	})
	return late
}

// swells reports whether it takes more memory than a sender may; it is stopped there.
func swells(t *testing.T, z *zoo) bool {
	return carelessly(t, z, z.only(floods), func(pid, _ int) bool {
		used, err := proctest.Memory(pid)
		return err == nil && used > mayUse
	})
}

// floods tells which behaviours send without end.
func floods(name string) bool {
	return strings.HasPrefix(name, "endless-") || strings.HasSuffix(name, "-flood") || name == "gzip-bomb"
}

// lines counts those that are written to it.
type lines struct {
	mu sync.Mutex // guards n
	n  int
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n += bytes.Count(b, []byte("\n"))
	return len(b), nil
}

func (l *lines) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}
