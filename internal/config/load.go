package config

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode"
)

// Problems is the error of Load: one line for each problem, with the flag, the fault, the remedy
// and the source of the value. No line contains a secret.
type Problems []string

// Error returns the lines.
func (p Problems) Error() string { return strings.Join(p, "\n") }

// LookupEnv looks up an environment variable, as os.LookupEnv does.
type LookupEnv func(name string) (value string, found bool)

// Load finds, checks and converts every setting. The error is nil, or Problems with all problems.
// The settings are never nil, so that they can be described even then, but a setting with a problem
// must not be used. Load reads the files that settings name, and changes nothing.
func (f Serve) Load(env LookupEnv) (*Settings, error) {
	l := newLoader(flagValues(f), env)
	for _, setting := range table {
		l.load(setting)
	}
	l.checkDirect()
	l.checkKeyPair()
	l.checkOIDC()
	l.checkBackup()
	return &l.settings, l.err()
}

// Load is Serve's Load for commands that need only the location of the data. It does not report
// problems of other settings, except unknown keys of the file.
func (f Store) Load(env LookupEnv) (StoreSettings, error) {
	l := newLoader(flagValues(f), env)
	for _, setting := range table {
		switch setting.name {
		case "data", "database-url", "database-direct-url", "media-url":
			l.load(setting)
		}
	}
	l.checkDirect()
	return l.settings.StoreSettings, l.err()
}

// loader collects the settings and their problems.
type loader struct {
	flags    map[string]string
	env      LookupEnv
	path     string // path of the configuration file
	file     map[string]string
	settings Settings
	problems Problems
}

// newLoader reads the configuration file, if there is one, and describes it as the first setting.
func newLoader(flags map[string]string, env LookupEnv) *loader {
	l := &loader{flags: flags, env: env}
	path, source, _ := l.find(statements["config"])
	l.describe("config", path, source)
	if path == "" {
		return l
	}
	l.path = path
	content, err := readSmallFile(path)
	if err != nil {
		l.complain("--config", source, fmt.Errorf("cannot be read (%w); name a readable file, or none", err))
		return l
	}
	values, problems := parseFile(string(content))
	l.file = values
	l.complain("--config", "file "+path, problems...)
	return l
}

// load finds one setting and stores it.
func (l *loader) load(s setting) {
	stated := statements[s.name]
	value, source, err := l.find(stated)
	if stated.secret && value != "" {
		l.settings.secrets = append(l.settings.secrets, value)
	}
	var shown string
	if err == nil {
		shown, err = s.set(&l.settings, value)
	}
	if err != nil {
		problems := []error{err}
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			problems = joined.Unwrap()
		}
		l.complain("--"+s.name, source, problems...)
		shown = value
		if stated.secret {
			shown = redacted
		}
	}
	l.describe(s.name, shown, source)
}

// find returns the text of a setting, and its source.
func (l *loader) find(s statement) (value, source string, err error) {
	if value, set := l.flags[s.Name]; set {
		return value, "flag", nil
	}
	name := s.Env()
	value, _ = l.env(name)
	if s.secret {
		if path, _ := l.env(name + "_FILE"); path != "" {
			return l.findInFile(name, value, path)
		}
	}
	if value != "" {
		return value, "environment " + name, nil
	}
	if value, set := l.file[s.Name]; set {
		return value, "file " + l.path, nil
	}
	return s.Default, "default", nil
}

// findInFile returns the secret in the file at path, which the variable name+"_FILE" names. One
// newline at its end, which editors add, is not part of the secret.
func (l *loader) findInFile(name, value, path string) (secret, source string, err error) {
	source = "file from " + name + "_FILE"
	if value != "" {
		return "", source, fmt.Errorf("is given twice; unset %s or %s_FILE", name, name)
	}
	content, err := readSmallFile(path)
	if err != nil {
		remedy := fmt.Sprintf("let %s_FILE name a readable file", name)
		if name == "SHEAF_MASTER_KEY" && errors.Is(err, fs.ErrNotExist) {
			remedy += fmt.Sprintf(", or for a new database make it: (umask 077; openssl rand -base64 32 > %q)", path)
		}
		return "", source, fmt.Errorf("cannot be read (%w); %s", err, remedy)
	}
	secret, ended := strings.CutSuffix(string(content), "\n")
	if ended {
		secret = strings.TrimSuffix(secret, "\r")
	}
	if secret == "" {
		return "", source, fmt.Errorf("is empty; write the value into %q", path)
	}
	return secret, source, nil
}

// checkDirect reports --database-direct-url without --database-url.
func (l *loader) checkDirect() {
	if l.settings.DatabaseDirectURL != "" && l.settings.DatabaseURL == "" {
		l.complain("--database-direct-url", l.source("database-direct-url"),
			errors.New("is given alone; give --database-url too, which leads to the same PostgreSQL through the pooler, or give only that"))
	}
}

// checkKeyPair checks --tls-cert and --tls-key together.
func (l *loader) checkKeyPair() {
	cert, key := l.settings.TLSCert, l.settings.TLSKey
	switch {
	case cert == "" && key == "":
	case key == "":
		l.complain("--tls-cert", l.source("tls-cert"), errors.New("is given alone; give --tls-key too, or neither"))
	case cert == "":
		l.complain("--tls-key", l.source("tls-key"), errors.New("is given alone; give --tls-cert too, or neither"))
	default:
		if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
			l.complain("--tls-cert, --tls-key", l.source("tls-cert"),
				fmt.Errorf("cannot be used (%w); name a PEM certificate and its PEM key, readable by this user", err))
		}
	}
}

// checkOIDC checks the settings of the provider together, and reads the file with the client's secret.
func (l *loader) checkOIDC() {
	o := &l.settings.OIDC
	if from := l.source("oidc-client-secret-file"); o.SecretFile != "" && !strings.HasPrefix(from, "environment") { // the variable was read by find
		if o.ClientSecret != "" {
			l.complain("--oidc-client-secret-file", from, errors.New("is given besides --oidc-client-secret; give one of them"))
		} else if content, err := readSmallFile(o.SecretFile); err != nil {
			l.complain("--oidc-client-secret-file", from, fmt.Errorf("cannot be read (%w); name a readable file", err))
		} else if o.ClientSecret = Secret(strings.TrimRight(string(content), "\r\n")); o.ClientSecret == "" {
			l.complain("--oidc-client-secret-file", from, fmt.Errorf("is empty; write the value into %q", o.SecretFile))
		}
	}
	issuer := l.text("oidc-issuer")
	switch {
	case issuer == "" && !l.settings.PasswordSignIn && l.text("password-sign-in") == switchOff:
		l.complain("--password-sign-in", l.source("password-sign-in"), errors.New("is off, so nobody could sign in; give --oidc-issuer too, or leave passwords on"))
	case issuer == "":
		for _, name := range []string{"oidc-client-id", "oidc-client-secret", "oidc-client-secret-file"} {
			if l.text(name) != "" {
				l.complain("--"+name, l.source(name), errors.New("is given alone; give --oidc-issuer too, or neither"))
				break
			}
		}
	case o.ClientID == "":
		l.complain("--oidc-issuer", l.source("oidc-issuer"), errors.New("is given alone; give --oidc-client-id too, or neither"))
	}
}

// checkBackup reports a bucket for backups that nobody could encrypt.
func (l *loader) checkBackup() {
	if l.text("backup-to") != "" && l.text("backup-recipient") == "" {
		l.complain("--backup-to", l.source("backup-to"), errors.New("is given without a recipient; give --backup-recipient too, the public key that age-keygen prints"))
	}
}

// text returns what Describe shows for a setting that was loaded before.
func (l *loader) text(name string) string {
	for _, d := range l.settings.described {
		if d.Name == name {
			return d.Value
		}
	}
	return ""
}

// source returns the source of a setting that was loaded before.
func (l *loader) source(name string) string {
	for _, d := range l.settings.described {
		if d.Name == name {
			return d.Source
		}
	}
	return ""
}

func (l *loader) describe(name, value, source string) {
	l.settings.described = append(l.settings.described, Setting{Name: name, Value: value, Source: source})
}

// complain adds a line for each problem. Control characters in a quoted value become spaces, so it
// stays one line.
func (l *loader) complain(what, source string, problems ...error) {
	for _, problem := range problems {
		line := fmt.Sprintf("%s: %v (%s)", what, problem, source)
		l.problems = append(l.problems, strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return ' '
			}
			return r
		}, line))
	}
}

// err returns the problems as an error. If there are none, it returns a nil interface.
func (l *loader) err() error {
	if len(l.problems) == 0 {
		return nil
	}
	return l.problems
}
