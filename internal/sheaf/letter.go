package sheaf

import (
	"encoding/json"
	"fmt"
)

// LetterKind is the queue in which a mail to a person waits.
type LetterKind string

// The kinds of mails to people.
const (
	LetterInvitation LetterKind = "invitation" // the link of an invitation
	LetterReset      LetterKind = "reset"      // a link to choose a new password
	LetterNotice     LetterKind = "notice"     // something that happened to the person's account
)

// LetterAbout is what a notice is about.
type LetterAbout string

// What notices are about.
const (
	AboutKey       LetterAbout = "key"        // an API key was created in the person's name
	AboutApp       LetterAbout = "app"        // an app was connected in the person's name
	AboutFactor    LetterAbout = "factor"     // a second factor was set up
	AboutFactorOff LetterAbout = "factor-off" // the second factor was removed
	AboutSignIn    LetterAbout = "sign-in"    // a sign-in from a browser that is not known
)

// Letter is what a mail to a person needs and is stored nowhere else. It is stored sealed.
type Letter struct {
	Token   string      `json:"token,omitempty"`   // of the link of an invitation
	About   LetterAbout `json:"about,omitempty"`   // what a notice is about
	Address string      `json:"address,omitempty"` // of the client that caused the mail
	Agent   string      `json:"agent,omitempty"`   // its User-Agent header
	// Of a notice about a new key or app: its workspace, its name, and the name of the key that created it.
	Workspace WorkspaceID `json:"workspace,omitempty"`
	Key       string      `json:"key,omitempty"`
	WithKey   string      `json:"with_key,omitempty"`
}

// Bytes returns the letter in the form in which it is sealed.
func (l Letter) Bytes() []byte {
	b, err := json.Marshal(l)
	if err != nil {
		panic("sheaf: a letter did not encode: " + err.Error())
	}
	return b
}

// ReadLetter reads what Bytes returned.
func ReadLetter(b []byte) (l Letter, err error) {
	if err := json.Unmarshal(b, &l); err != nil {
		return l, fmt.Errorf("read a letter: %w", err)
	}
	return l, nil
}
