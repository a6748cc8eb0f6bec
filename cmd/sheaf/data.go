package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"sheaf.dev/internal/config"
)

// makeFolder makes the data folder, for its own user alone, unless it exists.
func makeFolder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("the data folder cannot be made (%w): choose another with --data", err)
	}
	return nil
}

// lockFolder takes the folder for one server. The lock ends with the process, or with unlock.
func lockFolder(folder string) (unlock func(), err error) {
	path := filepath.Join(folder, "serve.lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the data folder cannot be used (%w): choose another with --data, or let this user write to it", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return func() { f.Close() }, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("another sheaf serve uses the data folder %s: stop it, or choose another folder with --data", folder)
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// writeFile writes a file, for its own user alone, that is there whole or not at all, also after a
// power cut. It replaces no file: then the error is os.ErrExist.
func writeFile(path string, content []byte) error {
	return writeFileFrom(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// writeFileFrom is writeFile with what a function writes.
func writeFileFrom(path string, write func(io.Writer) error) error {
	folder := filepath.Dir(path)
	f, err := os.CreateTemp(folder, ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	err = write(f)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	// A link, unlike a rename, fails when the name is taken.
	if err := os.Link(f.Name(), path); err != nil {
		return err
	}
	return syncFolder(folder)
}

// syncFolder makes the names in a folder durable.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// warnOfOpenFiles tells when others on this machine can read what is ours. With PostgreSQL the
// folder has nothing but the key, and may be anybody's.
func warnOfOpenFiles(s *config.Settings, log *slog.Logger) {
	ours := []string{filepath.Join(s.Data, masterKeyFile)}
	if s.DatabaseURL == "" {
		ours = append(ours, s.Data)
	}
	for _, path := range ours {
		if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
			log.Warn("others on this machine can read what is Sheaf's alone: run chmod go= on it", "path", path, "mode", info.Mode().Perm().String())
		}
	}
}
