package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// position is how far a listener came, kept for one workspace of one server.
type position struct {
	Server    string    `json:"server"`
	Workspace string    `json:"workspace_id"`
	Secret    string    `json:"secret"`
	After     string    `json:"after"` // the last event; empty when the log had none
	At        time.Time `json:"at"`    // and its time

	path  string
	known bool // an earlier run has kept it
	lock  *os.File
}

// openPosition reads what an earlier run kept, and holds it for this one.
func (p *Program) openPosition(server, workspace string) (*position, error) {
	folder, err := p.profileFolder()
	if err != nil {
		return nil, err
	}
	folder = filepath.Join(folder, "listen")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("the position cannot be kept: %w", err)
	}
	name := sha256.Sum256([]byte(server + "\n" + workspace))
	path := filepath.Join(folder, hex.EncodeToString(name[:12]))
	at := &position{Server: server, Workspace: workspace, path: path + ".json"}
	if at.lock, err = lockListener(path + ".lock"); err != nil {
		return nil, err
	}
	switch err := readPrivate(at.path, at); {
	case err == nil:
		at.known = true
	case !errors.Is(err, os.ErrNotExist):
		at.close()
		return nil, err
	}
	return at, nil
}

// lockListener makes sure that two do not move one position.
func lockListener(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the position cannot be kept: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, errors.New("another sheaf listen of yours follows this workspace: end it first")
	}
	return f, nil
}

// reach notes that everything up to this event is done.
func (at *position) reach(event string, t time.Time) error {
	at.After, at.At = event, t.UTC()
	return at.save()
}

func (at *position) save() error {
	if err := writePrivate(at.path, at); err != nil {
		return fmt.Errorf("the position cannot be kept: %w", err)
	}
	return nil
}

func (at *position) close() { at.lock.Close() }
