package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgresBin returns the folder with the programs of the newest PostgreSQL that is installed.
func postgresBin() (string, error) {
	bins, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(bins) == 0 {
		return "", errors.New("PostgreSQL is not installed: ./scripts/test installs it")
	}
	return slices.Max(bins), nil
}

// startPostgres runs the newest PostgreSQL that is installed, on a cluster of its own with PostgreSQL's own settings:
// unlike the one of the tests, it flushes every commit to the disk. It returns the URL of an empty database.
func (b *bench) startPostgres() (string, error) {
	bin, err := postgresBin()
	if err != nil {
		return "", err
	}
	owner, err := postgresOwner()
	if err != nil {
		return "", err
	}
	// Its own user must be able to reach it, so it is not below the run's folder.
	dir, err := os.MkdirTemp("/var/tmp", "sheaf-bench-pg-")
	if err != nil {
		return "", err
	}
	b.closers = append(b.closers, func() error { return os.RemoveAll(dir) })
	if owner != nil {
		if err := os.Chown(dir, int(owner.Uid), int(owner.Gid)); err != nil {
			return "", err
		}
	}
	run := func(program string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, program), args...)
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner, Pdeathsig: syscall.SIGINT}
		return cmd
	}
	data := filepath.Join(dir, "data")
	if out, err := run("initdb", "-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C").CombinedOutput(); err != nil {
		return "", fmt.Errorf("initdb: %w\n%s", err, out)
	}
	_, port, _ := net.SplitHostPort(freeAddr())
	return b.servePostgres(run("postgres", "-D", data, "-k", dir, "-p", port, "-c", "listen_addresses=127.0.0.1"), port)
}

func (b *bench) servePostgres(cmd *exec.Cmd, port string) (string, error) {
	if err := cmd.Start(); err != nil {
		return "", err
	}
	b.postmaster = cmd.Process.Pid
	b.closers = append(b.closers, func() error {
		_ = cmd.Process.Signal(syscall.SIGINT)
		return cmd.Wait()
	})
	url := "postgres://postgres@127.0.0.1:" + port + "/postgres?sslmode=disable"
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, url)
		if err == nil {
			return url, conn.Close(ctx)
		}
		if ctx.Err() != nil {
			return "", fmt.Errorf("PostgreSQL did not start: %w", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// postgresOwner is the user of the server: PostgreSQL refuses to run as root.
func postgresOwner() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
