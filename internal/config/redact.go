package config

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// minRedacted is the length from which a secret is searched for in texts. A shorter one would be found in any word.
const minRedacted = 6

// secretForms are texts that are secret wherever they stand: the user of a URL, API keys, secrets of webhooks and
// private keys of age.
var secretForms = regexp.MustCompile(`(://)[^\s@"'?#]+(@)|\b(shf_|whsec_|AGE-SECRET-KEY-)[A-Za-z0-9_+/=-]+`)

// Redactor returns a function that replaces the secrets of these settings, and what looks like a secret, in a text.
// `more` are further secrets, such as the credentials of a bucket.
func (s *Settings) Redactor(more ...string) func(text string) string {
	var secrets []string
	add := func(secret string) {
		if len(secret) >= minRedacted {
			secrets = append(secrets, secret, url.QueryEscape(secret), url.PathEscape(secret))
		}
	}
	for _, secret := range slices.Concat(s.secrets, []string{s.OIDC.ClientSecret.Reveal()}, more) {
		add(secret)
		u, err := url.Parse(secret)
		if err != nil || u.Scheme == "" {
			continue
		}
		if password, has := u.User.Password(); has {
			add(password)
		}
		for name, values := range u.Query() {
			if strings.Contains(strings.ToLower(name), "pass") {
				for _, v := range values {
					add(v)
				}
			}
		}
	}
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // a whole URL before its password
	var pairs []string
	for _, secret := range slices.Compact(secrets) {
		pairs = append(pairs, secret, redacted)
	}
	replace := strings.NewReplacer(pairs...)
	return func(text string) string {
		return secretForms.ReplaceAllString(replace.Replace(text), "${1}${3}"+redacted+"${2}")
	}
}
