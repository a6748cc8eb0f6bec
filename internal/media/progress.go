package media

import (
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
)

// Progress is how far an upload has got. Callers store it unchanged between two calls of Append.
// The zero value is an upload that has not begun.
type Progress struct {
	Offset int64  // number of bytes stored so far
	State  []byte // what Append needs to continue: fewer than MaxState opaque bytes
}

// MaxState bounds Progress.State.
const MaxState = 256

// SHA256 returns the hash of all bytes stored so far.
func (p Progress) SHA256() (sum [sha256.Size]byte, err error) {
	r, err := p.resume()
	if err != nil {
		return sum, err
	}
	return r.sum(), nil
}

// running is a Progress in use. Append hashes what it takes, so that a large upload need not be
// read again to find its key.
type running struct {
	hash hash.Hash
	// last is the start of the newest part in a bucket, and before is the hash of all bytes before
	// it. A folder has no parts.
	last   int64
	before [sha256.Size]byte
}

// stateForm is the first byte of a state: the version of its form.
const stateForm = 1

const stateHead = 1 + 8 + sha256.Size

func (p Progress) resume() (*running, error) {
	r := &running{hash: sha256.New()}
	if len(p.State) == 0 {
		if p.Offset != 0 {
			return nil, fmt.Errorf("an upload of %d bytes has no state", p.Offset)
		}
		r.before = r.sum()
		return r, nil
	}
	if len(p.State) < stateHead || p.State[0] != stateForm {
		return nil, errors.New("the state of an upload is of a form that this program does not know")
	}
	r.last = int64(binary.BigEndian.Uint64(p.State[1:]))
	copy(r.before[:], p.State[9:])
	if err := r.hash.(encoding.BinaryUnmarshaler).UnmarshalBinary(p.State[stateHead:]); err != nil {
		return nil, fmt.Errorf("read the state of an upload: %w", err)
	}
	return r, nil
}

// at returns the progress at `offset` bytes.
func (r *running) at(offset int64) (Progress, error) {
	state := append([]byte{stateForm}, binary.BigEndian.AppendUint64(nil, uint64(r.last))...)
	state = append(state, r.before[:]...)
	state, err := r.hash.(encoding.BinaryAppender).AppendBinary(state)
	return Progress{Offset: offset, State: state}, err
}

func (r *running) sum() [sha256.Size]byte { return [sha256.Size]byte(r.hash.Sum(nil)) }
