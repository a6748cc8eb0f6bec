package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"sheaf.dev/internal/config"
	"sheaf.dev/internal/store"
)

const (
	masterKeyFile    = "master.key"
	masterKeySize    = 32
	masterKeySetting = store.KeyCheckSetting
)

// masterKey returns the key of this database: the one in the settings, or else the one in the data
// folder. A database without a key gets a new one. A key that is not the database's is refused.
func (p *program) masterKey(ctx context.Context, st *store.Store, s *config.Settings) ([]byte, error) {
	key, from, err := localKey(s)
	if errors.Is(err, os.ErrNotExist) {
		return p.newMasterKey(ctx, st, from)
	}
	if err == nil {
		err = adoptKey(ctx, st, key, from)
	}
	return key, err
}

// localKey returns the key in the settings, or else the one in the data folder, and its source. It
// returns os.ErrNotExist if there is neither.
func localKey(s *config.Settings) (key []byte, from string, err error) {
	if s.MasterKey != nil {
		return s.MasterKey.Reveal(), "--master-key", nil
	}
	from = filepath.Join(s.Data, masterKeyFile)
	key, err = readMasterKey(from)
	return key, from, err
}

// newMasterKey makes a key. It writes the file before the database: after a crash between the two,
// the next start uses the key in the file, and no database loses its key.
func (p *program) newMasterKey(ctx context.Context, st *store.Store, path string) ([]byte, error) {
	_, known, err := keyCheck(ctx, st)
	if err != nil {
		return nil, err
	}
	if known {
		return nil, errOtherKey(path + " does not exist")
	}
	key := make([]byte, masterKeySize)
	if _, err := io.ReadFull(p.Random, key); err != nil {
		return nil, fmt.Errorf("make a master key: %w", err)
	}
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	err = writeFile(path, []byte(base64.StdEncoding.EncodeToString(key)+"\n"))
	if errors.Is(err, os.ErrExist) { // another node has just written it
		if key, err = readMasterKey(path); err == nil {
			err = adoptKey(ctx, st, key, path)
		}
		return key, err
	}
	if err != nil {
		return nil, fmt.Errorf("the master key cannot be written: %w", err)
	}
	if err := adoptKey(ctx, st, key, path); err != nil {
		os.Remove(path) // it never encrypted anything
		return nil, err
	}
	return key, nil
}

// readMasterKey reads the key from a file.
func readMasterKey(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the master key cannot be read: %w", err)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(content)))
	if err != nil || len(key) != masterKeySize {
		return nil, fmt.Errorf("%s must hold one line, %d bytes in base64 as `openssl rand -base64 %d` prints them, and does not: put the file back as it was made; a new key opens only a database that has none yet", path, masterKeySize, masterKeySize)
	}
	return key, nil
}

// keyCheck returns the check value of the database's master key.
func keyCheck(ctx context.Context, st *store.Store) (check string, known bool, err error) {
	err = st.Read(ctx, func(r *store.Reader) error {
		check, known, err = r.Setting(masterKeySetting)
		return err
	})
	return check, known, err
}

// adoptKey stores the key's check value if the database has none. If the database has another key,
// it returns an error that names `from`, the source of this one.
func adoptKey(ctx context.Context, st *store.Store, key []byte, from string) error {
	mine, kept := checkValue(key), ""
	err := st.Write(ctx, func(tx *store.Tx) error {
		won, err := tx.KeepSetting(masterKeySetting, mine)
		if kept = mine; err == nil && !won {
			kept, _, err = tx.Setting(masterKeySetting)
		}
		return err
	})
	if err == nil && !hmac.Equal([]byte(kept), []byte(mine)) {
		err = errOtherKey(from + " is another key")
	}
	return err
}

// checkValue returns what the database stores of the key. It identifies the key and reveals nothing
// of it.
func checkValue(key []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("sheaf master key check v1"))
	return hex.EncodeToString(mac.Sum(nil))
}

func errOtherKey(why string) error {
	return fmt.Errorf("this database was made with a master key that is not here: %s; copy %s from the data folder of the node that made it, or give its content as --master-key", why, masterKeyFile)
}
