package seal

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"io"
	"strconv"
)

// grantBytes is how much a source of a token yields. A token takes about 54 bytes, more if it is unlucky.
const grantBytes = 1024

// GrantToken returns the source of a token of a grant: the same bytes whenever it is asked for with the same arguments.
// So a refresh can be repeated, and gets the same tokens, though no token is stored. kind is "access" or "refresh", and
// rotation counts the pairs of tokens. Only with both the salt, which is stored, and the master key can a token be made.
func (b *Box) GrantToken(grant string, salt []byte, kind string, rotation int64) io.Reader {
	out, err := hkdf.Key(sha256.New, b.key, salt, "grants/"+grant+"/"+kind+"/"+strconv.FormatInt(rotation, 10), grantBytes)
	if err != nil {
		panic("seal: a token was not derived: " + err.Error()) // only if it were too long
	}
	return bytes.NewReader(out)
}
