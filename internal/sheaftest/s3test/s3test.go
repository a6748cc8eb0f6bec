// Package s3test gives tests a real S3 server of their own, which they may kill, freeze and start
// again (package daemon). It is versitygw, at the version of the module in the folder versitygw, which
// keeps objects as files; it is built once into the user's cache folder.
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

// A Server is an S3 service with one bucket, which is empty at first. What it has acknowledged stays
// over Stop and Restart.
type Server struct {
	*daemon.Server
	secret string
}

// access is the name of the key that every server takes.
const access = "sheaf"

// Start returns a running server, which goes away when the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	program, err := built()
	if err != nil {
		sheaftest.Unable(t, err.Error())
	}
	secret := rand.Text()
	return &Server{daemon.Start(t, config(program, secret)), secret}
}

// shared is the server of all tests of the process that do nothing to it. It runs while there are any:
// what clients keep of it ends with it.
var shared struct {
	mu     sync.Mutex // guards both
	server *Server
	users  int
}

// share returns the shared server for one more user.
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

// release says that a user needs the shared server no more.
func release() error {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.users--; shared.users > 0 {
		return nil
	}
	return shared.server.Close()
}

// Files returns a store in a corner of a bucket that is the test's own, on a server that tests share.
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

// healthy asks the server how it is.
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

// URL returns the bucket's address as --media-url takes it.
func (s *Server) URL() string { return "s3://" + Bucket }

// Env returns the settings by which programs reach the server, in the form of os.Environ. They stay
// the same over Restart.
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

// Objects is the folder in which the bucket's objects are files.
func (s *Server) Objects() string { return objects(s.Dir) }
