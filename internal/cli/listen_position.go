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

// position is the last event that a listener has forwarded, for one workspace of one server. It is
// stored in a file.
type position struct {
	Server    string    `json:"server"`
	Workspace string    `json:"workspace_id"`
	Secret    string    `json:"secret"`
	After     string    `json:"after"` // the id of the event; empty if the log had none
	At        time.Time `json:"at"`    // the time of the event

	path  string
	known bool // an earlier run has stored it
	lock  *os.File
}

// openPosition reads the position of an earlier run, and locks it until close is called, so that
// two listeners do not move one position.
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
	if at.lock, err = os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, fmt.Errorf("the position cannot be kept: %w", err)
	}
	if err := syscall.Flock(int(at.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		at.close()
		return nil, errors.New("another sheaf listen of yours follows this workspace: end it first")
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

// moveTo stores that all events up to this one were forwarded.
func (at *position) moveTo(event string, t time.Time) error {
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
