// Package s3test provides a real S3 server for one test, which may kill, freeze and restart it
// (package daemon). The server is versitygw, which keeps objects as files. The module in the folder
// versitygw pins its version; it is built once into the user's cache folder.
package s3test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"sheaf.dev/internal/media"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/daemon"
)

// Bucket is the name of the bucket that every server has.
const Bucket = "media"

// A Server is an S3 service with one bucket, which is empty at first. Objects survive Stop and
// Restart.
type Server struct {
	*daemon.Server
	secret string
}

// access is the name of the key that every server accepts.
const access = "sheaf"

// Start returns a running server, and removes it when the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	program, err := built()
	if err != nil {
		sheaftest.Unable(t, err.Error())
	}
	secret := rand.Text()
	return &Server{daemon.Start(t, config(program, secret)), secret}
}

// shared is the server of all tests of the process that neither stop nor freeze it. It runs while
// it has users, and is closed with the last one.
var shared struct {
	mu     sync.Mutex // guards both
	server *Server
	users  int
}

// share adds a user of the shared server and returns it.
func share() (*Server, error) {
	program, err := built()
	if err != nil {
		return nil, err
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.users == 0 {
		secret := rand.Text()
		s, err := daemon.Launch(config(program, secret))
		if err != nil {
			return nil, err
		}
		shared.server = &Server{s, secret}
	}
	shared.users++
	return shared.server, nil
}

// release removes a user of the shared server.
func release() error {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.users--; shared.users > 0 {
		return nil
	}
	return shared.server.Close()
}

// Files returns a store for one test: a prefix of its own in a bucket, on the shared server.
func Files(t testing.TB) media.Store {
	t.Helper()
	s, err := share()
	if err != nil {
		sheaftest.Unable(t, err.Error())
	}
	t.Cleanup(func() {
		if err := release(); err != nil {
			t.Errorf("stop the S3 server: %v", err)
		}
	})
	files, err := media.Bucket(s.URL()+"/"+rand.Text(), media.BucketOptions{Getenv: s.Getenv, Spool: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func config(program, secret string) daemon.Config {
	return daemon.Config{
		Name: "versitygw",
		Prepare: func(dir string) error {
			return errors.Join(os.MkdirAll(objects(dir), 0o700), os.Mkdir(metadata(dir), 0o700))
		},
		Command: func(dir, port string) *exec.Cmd {
			return exec.Command(program, net.JoinHostPort("127.0.0.1", port), access, secret, filepath.Dir(objects(dir)), metadata(dir))
		},
		Ready: func(_, port string) error { return healthy(net.JoinHostPort("127.0.0.1", port)) },
	}
}

func objects(dir string) string  { return filepath.Join(dir, "objects", Bucket) }
func metadata(dir string) string { return filepath.Join(dir, "metadata") }

// healthy returns nil if the server answers.
func healthy(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), daemon.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/health", nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("its health is answered with %d", res.StatusCode)
	}
	return nil
}

// URL returns the bucket's address for --media-url.
func (s *Server) URL() string { return "s3://" + Bucket }

// Env returns the environment variables by which programs reach the server. Restart does not change
// them.
func (s *Server) Env() []string {
	var env []string
	for _, name := range []string{"AWS_ENDPOINT_URL_S3", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"} {
		env = append(env, name+"="+s.Getenv(name))
	}
	return env
}

// Getenv is os.Getenv with the settings of Env and nothing else.
func (s *Server) Getenv(name string) string {
	return map[string]string{"AWS_ENDPOINT_URL_S3": "http://" + s.Address(), "AWS_ACCESS_KEY_ID": access,
		"AWS_SECRET_ACCESS_KEY": s.secret, "AWS_REGION": "us-east-1"}[name]
}

// Objects returns the folder with the bucket's objects as files.
func (s *Server) Objects() string { return objects(s.Dir) }
