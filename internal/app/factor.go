package app

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// The second factor of a person is an authenticator app, which shows a code of six digits for each step of 30
// seconds (TOTP, RFC 6238). Who has one signs in with the password and a code:
//
//	the right password ──▶ a pending sign-in, which is not a session ──▶ a code ──▶ a session
//
// One transaction locks the user and the factor, checks a code, and stores either the wrong code or the step of the
// right one. So parallel attempts on several nodes get no more tries, and no code is accepted twice.

const (
	factorStep = 30 // seconds; the step of a time is its Unix time divided by this
	// factorSlack is how many steps before and after the present one have their codes accepted: clocks differ, and
	// typing takes time.
	factorSlack  = 1
	factorSecret = 20 // bytes of a new secret, as RFC 4226 recommends
	// After wrongCodes wrong codes in a row, none is accepted for factorCloses.
	wrongCodes   = 5
	factorCloses = 15 * time.Minute
	// RecoveryCodes is how many recovery codes a person gets at once.
	RecoveryCodes = 10
	recoveryBytes = 10 // of randomness in each: 16 letters
	// pendingLives is how long a pending sign-in waits for a code, and setUpLives for a second factor to be set up: the
	// person may have to install an app.
	pendingLives = 10 * time.Minute
	setUpLives   = 30 * time.Minute
)

// Pending is a sign-in after the right password. It is not a session. The token is only for the person's browser.
type Pending struct {
	Token     string // only its hash is stored. Empty: nothing waits
	ExpiresAt time.Time
	SetUp     bool // the person has no second factor and must set one up
}

var (
	errCode     = sheaf.InvalidField("code", "The code is wrong. Type the code that the app shows now. If codes are always wrong, set the clock of the phone.")
	errCodeUsed = sheaf.InvalidField("code", "This code was used before, and each works once. Wait until the app shows the next one.")
	errRecovery = sheaf.InvalidField("code", "The recovery code is wrong, or was used before.")
	errPending  = unauthorized("The sign-in took too long, or was ended. Give your password again.")
	errFactorOn = &sheaf.Error{Kind: sheaf.Conflict, Code: sheaf.CodeConflict, Text: "A second factor is set up already. Open your account to see it."}
	errNoFactor = &sheaf.Error{Kind: sheaf.Conflict, Code: sheaf.CodeConflict, Text: "No second factor is set up. Open your account to set one up."}
	errOldSetUp = &sheaf.Error{Kind: sheaf.Conflict, Code: sheaf.CodeConflict, Text: "This page was for another sign-in. Scan the new QR code."}
)

// asCode returns the code that a person typed, without the spaces and hyphens that make it readable. app reports whether
// it has the form of a code of the app; all else can only be a recovery code.
func asCode(typed string) (code string, app bool) {
	code = strings.NewReplacer(" ", "", "-", "").Replace(strings.TrimSpace(typed))
	return code, len(code) == 6 && strings.Trim(code, "0123456789") == ""
}

// stepOf returns the step whose code this is, at most factorSlack from now. If there are several, it returns the newest.
func stepOf(secret []byte, code string, now time.Time) (step int64, found bool, err error) {
	present := now.Unix() / factorStep
	for s := present - factorSlack; s <= present+factorSlack; s++ {
		want, err := hotp.GenerateCode(base32.StdEncoding.EncodeToString(secret), uint64(s))
		if err != nil {
			return 0, false, fmt.Errorf("compute a code: %w", err)
		}
		if subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			step, found = s, true
		}
	}
	return step, found, nil
}

// checkCode accepts a code of the app, or a recovery code, and uses it up. The transaction has locked the user. If it
// returns a refusal, a wrong code was counted: the transaction must be committed, and change nothing else.
func (a *App) checkCode(tx *store.Tx, by sheaf.Actor, typed string) (refusal, err error) {
	f, found, err := tx.LockFactor(by.User)
	if err != nil {
		return nil, err
	}
	if !found {
		return errNoFactor, nil
	}
	now := a.now()
	closed := f.FailedAt.Add(factorCloses).Sub(now)
	if closed > 0 && f.Failures >= wrongCodes {
		closed = max(closed.Round(time.Second), time.Second)
		return &sheaf.Error{Kind: sheaf.RateLimited, Code: sheaf.CodeRateLimited, RetryAfter: closed,
			Text: fmt.Sprintf("%d wrong codes were given. No code is accepted for 15 minutes: try again in %v.", wrongCodes, closed)}, nil
	}
	if closed <= 0 {
		f.Failures = 0
	}
	refusal, err = a.compareCode(tx, &f, typed)
	if err != nil {
		return nil, err
	}
	if refusal == nil {
		f.Failures = 0
	} else {
		f.Failures, f.FailedAt = f.Failures+1, now
	}
	if err := tx.UpdateFactor(f); err != nil {
		return nil, err
	}
	switch _, app := asCode(typed); {
	case refusal != nil:
		return refusal, a.insertFailure(tx, sheaf.ActionFactorFailed, string(by.User), by.Address)
	case !app:
		return nil, a.auditInstance(tx, by, sheaf.ActionRecoveryCodeUsed, by.User, nil)
	}
	return nil, nil
}

// compareCode returns nil for a right code, which it uses up, and otherwise a refusal.
func (a *App) compareCode(tx *store.Tx, f *store.Factor, typed string) (refusal, err error) {
	code, app := asCode(typed)
	if !app {
		used, err := tx.UseRecoveryCode(f.User, recoveryHash(f.User, code))
		if err != nil || used {
			return nil, err
		}
		return errRecovery, nil
	}
	secret, err := a.webhooks.Box.OpenFactorSecret(string(f.User), f.Secret)
	if err != nil {
		return nil, fmt.Errorf("open the second factor of user %s: %w", f.User, err)
	}
	step, found, err := stepOf(secret, code, a.now())
	switch {
	case err != nil:
		return nil, err
	case !found:
		return errCode, nil
	case step <= f.LastStep:
		return errCodeUsed, nil
	}
	f.LastStep = step
	return nil, nil
}

// recoveryHash returns what is stored of a recovery code. A code has 80 random bits, so that nobody finds it by trying,
// and a fast hash is enough, as for API keys. The id of the user is hashed too: a row does not fit another user.
func recoveryHash(u sheaf.UserID, code string) []byte {
	sum := sha256.Sum256([]byte("sheaf recovery code\n" + string(u) + "\n" + strings.ToUpper(code)))
	return sum[:]
}

// newRecoveryCodes replaces the user's recovery codes, and returns the new ones. Only their hashes are stored.
func (a *App) newRecoveryCodes(tx *store.Tx, u sheaf.UserID) (codes []string, err error) {
	var hashes [][]byte
	for range RecoveryCodes {
		random := make([]byte, recoveryBytes)
		if _, err := io.ReadFull(a.random, random); err != nil {
			return nil, fmt.Errorf("make a recovery code: %w", err)
		}
		code := strings.ToLower(base32.StdEncoding.EncodeToString(random))
		hashes = append(hashes, recoveryHash(u, code))
		codes = append(codes, code[:4]+"-"+code[4:8]+"-"+code[8:12]+"-"+code[12:])
	}
	return codes, tx.SetRecoveryCodes(u, hashes)
}

// FactorOffer is a new secret, which a person adds to their app. It is stored once they confirm it with a code.
type FactorOffer struct {
	URL    string // what the QR code says
	Secret string // the secret in base32
	Sealed string // the secret for the form that confirms it
}

// OfferFactor returns the offer that was sealed in the form of the page, or a new one if sealed is empty. It returns
// Conflict if the offer was made for another sign-in. `token` is that of the session, or of the pending sign-in.
func (a *App) OfferFactor(u sheaf.User, token, sealed string) (FactorOffer, error) {
	if sealed != "" {
		secret, err := a.openOffer(u, token, sealed)
		if err != nil {
			return FactorOffer{}, err
		}
		return a.offerFactor(u, secret, sealed)
	}
	secret := make([]byte, factorSecret)
	if _, err := io.ReadFull(a.random, secret); err != nil {
		return FactorOffer{}, fmt.Errorf("make a second factor: %w", err)
	}
	return a.offerFactor(u, secret, base64.RawURLEncoding.EncodeToString(a.webhooks.Box.NewFactorSecret(string(u.ID), hex.EncodeToString(tokenHash(token)), secret)))
}

func (a *App) offerFactor(u sheaf.User, secret []byte, sealed string) (FactorOffer, error) {
	name := u.Name
	if u.Email != nil {
		name = *u.Email
	}
	// Apps show the issuer above the code, and some keep one entry for each issuer and account. So it has the host.
	issuer := "Sheaf"
	if at, err := url.Parse(a.address); err == nil && at.Hostname() != "" {
		issuer += " " + strings.ReplaceAll(at.Hostname(), ":", ".")
	}
	key, err := totp.Generate(totp.GenerateOpts{Issuer: issuer, AccountName: name, Secret: secret})
	if err != nil {
		return FactorOffer{}, fmt.Errorf("make a second factor: %w", err)
	}
	return FactorOffer{URL: key.String(), Secret: key.Secret(), Sealed: sealed}, nil
}

// openOffer returns the secret of an offer.
func (a *App) openOffer(u sheaf.User, token, sealed string) ([]byte, error) {
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return nil, errOldSetUp
	}
	secret, err := a.webhooks.Box.OpenNewFactorSecret(string(u.ID), hex.EncodeToString(tokenHash(token)), raw)
	if err != nil {
		return nil, errOldSetUp
	}
	return secret, nil
}

// NewFactor is what a person sends to set up a second factor.
type NewFactor struct {
	Sealed string // FactorOffer.Sealed
	Code   string // that the app shows for the offer
}

// confirm returns the secret of the offer, and the step of the code.
func (a *App) confirm(u sheaf.User, token string, in NewFactor) (secret []byte, step int64, err error) {
	if secret, err = a.openOffer(u, token, in.Sealed); err != nil {
		return nil, 0, err
	}
	code, _ := asCode(in.Code)
	step, found, err := stepOf(secret, code, a.now())
	if err == nil && !found {
		err = errCode
	}
	return secret, step, err
}

// insertFactor stores the second factor of a user whom the transaction has locked, ends every session of the user, has it
// mailed to the user, and returns the recovery codes. It returns Conflict if the user has one.
func (a *App) insertFactor(tx *store.Tx, u sheaf.UserID, secret []byte, step int64, b Browser) (codes []string, err error) {
	_, found, err := tx.LockFactor(u)
	if err == nil && found {
		err = errFactorOn
	}
	if err != nil {
		return nil, err
	}
	f := store.Factor{User: u, Secret: a.webhooks.Box.FactorSecret(string(u), secret), CreatedAt: a.now(), LastStep: step}
	if err := tx.InsertFactor(f); err != nil {
		return nil, err
	}
	if err := tx.DeleteSessions(u); err != nil {
		return nil, err
	}
	if err := a.auditInstance(tx, b.actor(u), sheaf.ActionFactorAdded, u, nil); err != nil {
		return nil, err
	}
	if err := a.notify(tx, u, sheaf.Letter{About: sheaf.AboutFactor, Address: b.Address, Agent: cleanAgent(b.Agent)}); err != nil {
		return nil, err
	}
	return a.newRecoveryCodes(tx, u)
}

// Factor is the second factor as its person sees it.
type Factor struct {
	On       bool
	Since    time.Time
	Codes    int64 // recovery codes that are left
	Required bool  // nobody signs in without one
}

// Factor returns the state of the person's second factor.
func (a *App) Factor(ctx context.Context, s Session) (Factor, error) {
	return readUnasked(ctx, a, func(r *store.Reader) (Factor, error) {
		f, found, err := r.Factor(s.User.ID)
		out := Factor{On: found, Since: f.CreatedAt, Required: a.secondFactor}
		if err == nil && found {
			out.Codes, err = r.RecoveryCodes(s.User.ID)
		}
		return out, err
	})
}

// SetUpFactor sets up the second factor of a person who is signed in, ends every session of the person, and returns a
// new one, with the recovery codes. It returns Invalid for a wrong code, Unauthorized or RateLimited for a wrong
// password, as ChangePassword does, and Conflict if the person has a second factor or the offer is of another session.
func (a *App) SetUpFactor(ctx context.Context, s Session, in NewFactor, password string, b Browser) (NewSession, []string, error) {
	secret, step, err := a.confirm(s.User, s.token, in)
	if err != nil {
		return NewSession{}, nil, err
	}
	if err := a.checkPasswordAgain(ctx, s, password); err != nil {
		return NewSession{}, nil, err
	}
	var out NewSession
	var codes []string
	err = a.writeUnasked(ctx, func(tx *store.Tx) error {
		if err := samePassword(tx, s.User); err != nil {
			return err
		}
		if codes, err = a.insertFactor(tx, s.User.ID, secret, step, b); err != nil {
			return err
		}
		out, err = a.openSession(tx, s.User, b)
		return err
	})
	return out, codes, err
}

// NewRecoveryCodes replaces the person's recovery codes. `proof` is the password, or a code of the app. It returns
// Invalid for a wrong code, Unauthorized or RateLimited for a wrong password, and Conflict without a second factor.
func (a *App) NewRecoveryCodes(ctx context.Context, s Session, proof string) ([]string, error) {
	var codes []string
	err := a.withProof(ctx, s, proof, func(tx *store.Tx) (err error) {
		if err := a.auditInstance(tx, s.actor(), sheaf.ActionRecoveryCodesReplaced, s.User.ID, nil); err != nil {
			return err
		}
		codes, err = a.newRecoveryCodes(tx, s.User.ID)
		return err
	})
	return codes, err
}

// TurnOffFactor removes the person's second factor, ends every session of the person, and returns a new one. If a second
// factor is required, it returns a pending sign-in instead, in which the person sets up another. The errors are those of
// NewRecoveryCodes.
func (a *App) TurnOffFactor(ctx context.Context, s Session, proof string, b Browser) (NewSession, error) {
	var out NewSession
	err := a.withProof(ctx, s, proof, func(tx *store.Tx) error {
		if _, err := tx.DeleteFactor(s.User.ID); err != nil {
			return err
		}
		if err := tx.DeleteSessions(s.User.ID); err != nil {
			return err
		}
		err := a.auditInstance(tx, b.actor(s.User.ID), sheaf.ActionFactorRemoved, s.User.ID, nil)
		if err != nil {
			return err
		}
		if err := a.notify(tx, s.User.ID, sheaf.Letter{About: sheaf.AboutFactorOff, Address: b.Address, Agent: cleanAgent(b.Agent)}); err != nil {
			return err
		}
		b.Expected = true // the person was signed in
		out, err = a.enter(tx, s.User, b, "")
		return err
	})
	return out, err
}

// withProof runs act in a transaction that has locked the user, if the proof is the password or a code of the app.
func (a *App) withProof(ctx context.Context, s Session, proof string, act func(tx *store.Tx) error) error {
	_, app := asCode(proof) // a password is longer
	if !app {
		if err := a.checkPasswordAgain(ctx, s, proof); err != nil {
			return err
		}
	}
	var refusal error
	err := a.writeUnasked(ctx, func(tx *store.Tx) (err error) {
		refusal = nil
		if err := samePassword(tx, s.User); err != nil {
			return err
		}
		if app {
			if refusal, err = a.checkCode(tx, s.actor(), proof); err != nil || refusal != nil {
				return err
			}
		} else if _, found, err := tx.LockFactor(s.User.ID); err != nil || !found {
			return firstError(err, errNoFactor)
		}
		return act(tx)
	})
	return firstError(err, refusal)
}
