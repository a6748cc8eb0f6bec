package config

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode"
)

// Problems is the error of Load: one line for each problem, which names the flag, the fault, the
// remedy and where the value came from. No line holds a secret.
type Problems []string

// Error returns the lines.
func (p Problems) Error() string { return strings.Join(p, "\n") }

// LookupEnv finds an environment variable; os.LookupEnv is one.
type LookupEnv func(name string) (value string, found bool)

// Load finds, judges and converts every setting. The error is nil or Problems, with everything that
// is wrong. The settings are never nil, so that they can be described even then; those with a
// problem must not be used. It reads the files that settings name and changes nothing.
func (f Serve) Load(env LookupEnv) (*Settings, error) {
	l := begin(given(f), env)
	for _, setting := range table {
		l.load(setting)
	}
	l.checkDirect()
	l.checkKeyPair()
	return &l.settings, l.err()
}

// Load is Serve's Load for commands that need to know only where the data is. Problems of settings
// that it does not return are not reported, except keys of the file that do not exist.
func (f Store) Load(env LookupEnv) (StoreSettings, error) {
	l := begin(given(f), env)
	for _, setting := range table {
		switch setting.name {
		case "data", "database-url", "database-direct-url", "media-url":
			l.load(setting)
		}
	}
	l.checkDirect()
	return l.settings.StoreSettings, l.err()
}

// loader gathers the settings and their problems.
type loader struct {
	flags    map[string]string
	env      LookupEnv
	path     string // of the configuration file
	file     map[string]string
	settings Settings
	problems Problems
}

// begin reads the configuration file, if there is one, and describes it as the first setting.
func begin(flags map[string]string, env LookupEnv) *loader {
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

// load finds one setting and keeps it.
func (l *loader) load(s setting) {
	stated := statements[s.name]
	value, source, err := l.find(stated)
	var shown string
	if err == nil {
		shown, err = s.set(&l.settings, value)
	}
	if err != nil {
		l.complain("--"+s.name, source, split(err)...)
		shown = value
		if stated.secret {
			shown = redacted
		}
	}
	l.describe(s.name, shown, source)
}

// find returns the value that is in force, as text, and where it came from.
func (l *loader) find(s statement) (value, source string, err error) {
	if value, given := l.flags[s.Name]; given {
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
	if value, given := l.file[s.Name]; given {
		return value, "file " + l.path, nil
	}
	return s.Default, "default", nil
}

// findInFile returns the secret in the file at path, which the variable name+"_FILE" holds. One
// newline at its end, as editors leave it, does not belong to the secret.
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

// checkDirect judges --database-direct-url, which means nothing by itself.
func (l *loader) checkDirect() {
	if l.settings.DatabaseDirectURL != "" && l.settings.DatabaseURL == "" {
		l.complain("--database-direct-url", l.source("database-direct-url"),
			errors.New("is given alone; give --database-url too, which leads to the same PostgreSQL through the pooler, or give only that"))
	}
}

// checkKeyPair judges --tls-cert and --tls-key, which are right or wrong together.
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

// source returns where a setting that is already loaded came from.
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

// complain adds a line for each problem. Whatever a problem quotes, it stays one line.
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

// err returns the problems as an error, a true nil when there are none.
func (l *loader) err() error {
	if len(l.problems) == 0 {
		return nil
	}
	return l.problems
}

// split undoes errors.Join.
func split(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}
