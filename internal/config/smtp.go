package config

import (
	"errors"
	"net/mail"
	"net/url"
	"strings"
)

// SMTP is a mail server.
type SMTP struct {
	Host, Port string
	TLS        bool   // from the first byte; otherwise by STARTTLS
	User       string // empty: no authentication
	Password   Secret
	From       string // the sender's address
}

// parseSMTP reads the URL of a mail server. Its errors do not contain the value, which has a
// password in it.
func parseSMTP(value string) (*SMTP, error) {
	if value == "" {
		return nil, nil
	}
	const remedy = "write smtps://USER:PASSWORD@HOST:PORT?from=ADDRESS, with special characters of the password percent-encoded"
	if _, err := maskSMTP(value); err != nil {
		return nil, errors.New("is not an smtps:// or smtp:// URL; " + remedy)
	}
	u, err := url.Parse(value)
	if err != nil || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.Fragment != "" {
		return nil, errors.New("has no host, or a path; " + remedy)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil || len(query) > 1 || len(query) == 1 && !query.Has("from") {
		return nil, errors.New("has a parameter other than from; " + remedy)
	}
	s := &SMTP{Host: u.Hostname(), Port: u.Port(), TLS: u.Scheme == "smtps", User: u.User.Username(), From: query.Get("from")}
	password, _ := u.User.Password()
	s.Password = Secret(password)
	if s.Port == "" {
		s.Port = map[bool]string{true: "465", false: "587"}[s.TLS]
	}
	if s.From == "" {
		s.From = s.User
	}
	from, err := mail.ParseAddress(s.From)
	if err != nil || from.Address != s.From {
		return nil, errors.New("does not say which address mails are from; add ?from=ADDRESS, or sign in with one")
	}
	return s, nil
}

// maskSMTP is maskURL for the URL of a mail server, whose parameter contains an '@'.
func maskSMTP(value string) (string, error) {
	address, query, has := strings.Cut(value, "?")
	shown, err := maskURL(address, "smtps", "smtp")
	if err == nil && has {
		shown += "?" + query
	}
	return shown, err
}
