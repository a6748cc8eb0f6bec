package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/daemon"
)

func TestMain(m *testing.M) {
	if os.Getenv("REDISTEST_VICTIM") == "1" {
		victim()
	}
	goleak.VerifyTestMain(sheaftest.Patient(m))
}

func ping(address string, within time.Duration) error {
	conn, err := redis.DialURL(address, redis.DialReadTimeout(within))
	if err != nil {
		return err
	}
	_, err = conn.Do("PING")
	return errors.Join(err, conn.Close())
}

func TestServer_StopsRestartsFreezesAndFlushes(t *testing.T) {
	s := Start(t)
	address := s.URL()
	if err := ping(address, daemon.Timeout); err != nil {
		t.Fatal(err)
	}
	s.Do("SET", "k", "v")
	s.Flush()
	if n := s.Do("DBSIZE"); n != int64(0) {
		t.Errorf("%v keys after Flush", n)
	}
	s.Freeze()
	if err := ping(address, 100*time.Millisecond); !os.IsTimeout(err) {
		t.Errorf("frozen: got %v, want a timeout", err)
	}
	s.Thaw()
	if err := ping(address, daemon.Timeout); err != nil {
		t.Errorf("thawed: %v", err)
	}
	s.Stop()
	if err := ping(address, daemon.Timeout); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("stopped: got %v, want a refused connection", err)
	}
	s.Restart()
	if err := ping(address, daemon.Timeout); err != nil || s.URL() != address {
		t.Errorf("restarted at %s instead of %s: %v", s.URL(), address, err)
	}
	s.Freeze() // a frozen server must not outlive the test either
}

func TestServer_DiesWithItsProcess(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		sheaftest.Unable(t, ErrNotInstalled.Error())
	}
	victim := exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), "REDISTEST_VICTIM=1")
	stdout, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	said, err := bufio.NewReader(stdout).ReadString('\n')
	dir, address, found := strings.Cut(strings.TrimSpace(said), " ")
	if err != nil || !found {
		t.Fatalf("the victim said %q: %v", said, err)
	}
	if err := ping(address, daemon.Timeout); err != nil {
		t.Fatal(err)
	}
	_ = victim.Process.Kill()
	_ = victim.Wait()
	sheaftest.Eventually(t, "the server and its folder go with its process", func() bool {
		_, err := os.Stat(dir)
		return os.IsNotExist(err) && errors.Is(ping(address, daemon.Timeout), syscall.ECONNREFUSED)
	})
}

// victim is the process that the test above kills: it prints the folder of its server, and blocks.
func victim() {
	s, err := daemon.Launch(config("redis-server", "secret"))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.Dir, address(s, "secret"))
	time.Sleep(time.Hour) // not select {}: without cgo the runtime would take that for a deadlock, and end
}
