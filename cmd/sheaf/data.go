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

// makeFolder creates the data folder with mode 0700, unless it exists.
func makeFolder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("the data folder cannot be made (%w): choose another with --data", err)
	}
	return nil
}

// reserveFolder locks the data folder until release is called, unless a server has locked it; then served
// is true. PostgreSQL has locks of its own, so with it served is false.
func reserveFolder(s config.StoreSettings) (served bool, release func()) {
	if s.DatabaseURL != "" {
		return false, func() {}
	}
	unlock, err := lockFolder(s.Data)
	if err != nil {
		return true, func() {}
	}
	return false, unlock
}

// lockFolder locks the folder for one server, until unlock is called or the process ends.
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

// writeFile writes a file with mode 0600, completely or not at all, even if the power fails. If the
// file exists, it returns os.ErrExist.
func writeFile(path string, content []byte) error {
	return writeFileFrom(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// writeFileFrom is writeFile for content that a function writes.
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
	// A link, unlike a rename, fails if the name exists.
	if err := os.Link(f.Name(), path); err != nil {
		return err
	}
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close()) // makes the new name durable
}

// warnOfOpenFiles logs a warning if other users of this machine can read the data folder or the
// key. With PostgreSQL the folder contains only the key, so only the key is checked.
func warnOfOpenFiles(s *config.Settings, log *slog.Logger) {
	ours := []string{filepath.Join(s.Data, masterKeyFile)}
	if s.DatabaseURL == "" {
		ours = append(ours, s.Data)
	}
	for _, path := range ours {
		if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
			log.Warn("other users of this machine can read a file or folder of Sheaf: run chmod go= on it", "path", path, "mode", info.Mode().Perm().String())
		}
	}
}
