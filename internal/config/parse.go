package config

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The error of every parser has the form "FAULT; REMEDY".

// parseAddr reads an address to listen on.
func parseAddr(value string) (string, error) {
	_, port, err := net.SplitHostPort(value)
	if err != nil {
		return "", fmt.Errorf("%q is not host:port; write for example 127.0.0.1:8080 or [::1]:8080", value)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("%q has no port from 0 to 65535; write for example 127.0.0.1:8080", value)
	}
	return value, nil
}

// offOr returns a parser that also accepts "off" and an empty text, as the zero value.
func offOr[T any](parse func(string) (T, error)) func(string) (T, error) {
	return func(value string) (off T, err error) {
		if value == "" || value == "off" {
			return off, nil
		}
		return parse(value)
	}
}

// parseConnections reads the number of connections that an address may hold. It returns 0 for auto.
func parseConnections(value string) (int, error) {
	if value == "" || value == "auto" {
		return 0, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > 1_000_000 {
		return 0, fmt.Errorf("%q is not a number from 1 to 1000000; give one, or auto", value)
	}
	return n, nil
}

// parseFolder reads the path of a folder, which need not exist.
func parseFolder(value string) (string, error) {
	if value == "" {
		return "", errors.New("is empty; name a folder; it is created if it does not exist")
	}
	if info, err := os.Stat(value); err == nil && !info.IsDir() {
		return "", fmt.Errorf("%q is not a folder; name a folder; it is created if it does not exist", value)
	}
	return value, nil
}

// maskURL returns the URL with its passwords masked: that of the user, and those that PostgreSQL's
// URLs may have as parameters. No error contains a part of the value. Errors of net/url are not
// wrapped, because they quote the value, which may be the password.
func maskURL(value string, schemes ...string) (string, error) {
	if value == "" {
		return "", nil
	}
	u, err := url.Parse(value)
	if err != nil || !slices.Contains(schemes, u.Scheme) || u.Opaque != "" {
		return "", fmt.Errorf("is not a %s:// URL; write %s://USER:PASSWORD@HOST:PORT/NAME, with special characters "+
			"of the password percent-encoded", schemes[0], schemes[0])
	}
	// An unescaped / ? or # in a password ends the authority early: the rest of the password would
	// look like a path.
	_, rest, _ := strings.Cut(value, "://")
	if end := strings.IndexAny(rest, "/?#"); u.Fragment != "" || end >= 0 && strings.Contains(rest[end:], "@") {
		return "", errors.New("has a '#', or an '@' after the host; percent-encode special characters (%23, %40, %2F)")
	}
	if _, has := u.User.Password(); has {
		u.User = url.UserPassword(u.User.Username(), redacted)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		query, u.RawQuery = nil, redacted // it may contain a password
	}
	for name := range query {
		if strings.Contains(strings.ToLower(name), "pass") {
			query.Set(name, redacted)
			u.RawQuery = query.Encode()
		}
	}
	return u.String(), nil
}

// parseMasterKey accepts both alphabets of base64, with or without padding. Its errors do not
// contain the value.
func parseMasterKey(value string) (SecretBytes, error) {
	if value == "" {
		return nil, nil
	}
	const remedy = "give 32 random bytes in base64, as `openssl rand -base64 32` makes them"
	plain := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(value, "="))
	key, err := base64.RawStdEncoding.Strict().DecodeString(plain)
	if err != nil {
		return nil, errors.New("is not base64; " + remedy)
	}
	if len(key) != 32 {
		return nil, fmt.Errorf("holds %d bytes, not 32; %s", len(key), remedy)
	}
	return key, nil
}

// parsePublicURL reads the address at which clients reach the service.
func parsePublicURL(value string) (*url.URL, error) {
	if value == "" {
		return nil, nil
	}
	const remedy = "write for example https://sheaf.example.com"
	u, err := url.Parse(value)
	switch {
	case err != nil:
		return nil, errors.New("is not a URL; " + remedy) // not quoted, because it may contain a password
	case u.User != nil:
		return nil, errors.New("has a user in it; " + remedy)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%q does not begin with http:// or https://; %s", value, remedy)
	case u.Hostname() == "":
		return nil, fmt.Errorf("%q has no host; %s", value, remedy)
	case strings.ContainsAny(value, "?#"):
		return nil, fmt.Errorf("%q has a query or a fragment; %s", value, remedy)
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	return u, nil
}

// parseIssuer reads the issuer of an OpenID Connect provider. It is not changed in any way, because it is compared.
func parseIssuer(value string) (string, error) {
	if value == "" {
		return "", nil
	}
	const remedy = "write the issuer as the provider's /.well-known/openid-configuration has it, for example https://id.example.com/realms/main"
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Hostname() == "" || u.User != nil || strings.ContainsAny(value, "?#"):
		return "", errors.New("is not the address of a provider; " + remedy) // not quoted, because it may contain a password
	case strings.ContainsAny(value, "{}"):
		return "", fmt.Errorf("%q has a placeholder; write the address of your own tenant, with its id", value)
	case u.Scheme == "https":
		return value, nil
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if u.Scheme != "http" || u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback()) {
		return "", fmt.Errorf("%q does not begin with https://, which only a provider on this machine may do without; %s", value, remedy)
	}
	return value, nil
}

// parseProviderName reads the name of a provider for people.
func parseProviderName(value string) (string, error) {
	if value = strings.TrimSpace(value); value == "" || utf8.RuneCountInString(value) > 60 || strings.ContainsFunc(value, unicode.IsControl) {
		return "", fmt.Errorf("%q is not a name of 1 to 60 characters; write for example Example Ltd", value)
	}
	return value, nil
}

// oneOf returns a parser that accepts one of these words.
func oneOf[T ~string](choices ...T) func(string) (T, error) {
	return func(value string) (T, error) {
		if !slices.Contains(choices, T(value)) {
			names := strings.Trim(fmt.Sprint(choices), "[]")
			return "", fmt.Errorf("%q is not known; choose one of: %s", value, strings.ReplaceAll(names, " ", ", "))
		}
		return T(value), nil
	}
}

// parseSwitch reads a setting that is on or off.
func parseSwitch(value string) (bool, error) {
	state, err := oneOf(switchOn, switchOff)(value)
	return state == switchOn, err
}

// String returns the limits in the form of the flag.
func (r RateLimit) String() string { return fmt.Sprintf("pro=%d,business=%d", r.Pro, r.Business) }

// String returns the numbers in the form of the flag.
func (m MaxRecords) String() string {
	return fmt.Sprintf("free=%d,pro=%d,business=%d", m.Free, m.Pro, m.Business)
}

// String returns the bytes in the form of the flag.
func (q Quota) String() string {
	return "pro=" + formatBytes(q.Pro) + ",business=" + formatBytes(q.Business)
}

// parseMediaURL reads the address of a bucket, or an empty text.
func parseMediaURL(value string) (string, error) {
	if value == "" {
		return "", nil
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("is not the address of a bucket; write s3://BUCKET or s3://BUCKET/PREFIX, and give the keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	return value, nil
}

// byteUnits are the units of bytes. Each is 1024 times the one before.
var byteUnits = []string{"", "KB", "MB", "GB", "TB"}

// parseBytes reads a number of bytes with an optional unit, KB to TB.
func parseBytes(value string) (int64, error) {
	for i := len(byteUnits) - 1; i >= 0; i-- {
		number, ok := strings.CutSuffix(value, byteUnits[i])
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(number, 10, 64)
		if err == nil && n > math.MaxInt64>>(10*i) {
			err = strconv.ErrRange
		}
		return n << (10 * i), err
	}
	return 0, strconv.ErrSyntax
}

// formatBytes formats a number of bytes with the largest unit that divides it.
func formatBytes(n int64) string {
	unit := 0
	for n > 0 && n%1024 == 0 && unit < len(byteUnits)-1 {
		n, unit = n/1024, unit+1
	}
	return strconv.FormatInt(n, 10) + byteUnits[unit]
}

// parsePlans sets the number of each plan that the value names.
func parsePlans(value string, plans map[string]*int) error {
	return parseEach(value, plans, func(number string) (int, error) {
		n, err := strconv.ParseInt(number, 10, 32)
		return int(n), err
	})
}

// parseEach is parsePlans for numbers that parse reads.
func parseEach[T int | int64](value string, plans map[string]*T, parse func(string) (T, error)) error {
	var problems []error
	for item := range strings.SplitSeq(value, ",") {
		plan, number, _ := strings.Cut(item, "=")
		plan, number = strings.TrimSpace(plan), strings.TrimSpace(number)
		n, err := parse(number)
		target, open := plans[plan]
		switch {
		case !open:
			problems = append(problems, fmt.Errorf("%q names no plan, or one for the second time; write for example pro=100,business=500", item))
			continue
		case err != nil || n < 0:
			problems = append(problems, fmt.Errorf("%q has no whole number from 0; write for example %s=100, or %s=0 for no limit", item, plan, plan))
		default:
			*target = n
		}
		delete(plans, plan)
	}
	return errors.Join(problems...)
}

// ParseDuration reads a duration of a setting or a flag: as Go writes it, or a whole number of days, such as 7d.
func ParseDuration(value string) (time.Duration, error) {
	if days, is := strings.CutSuffix(value, "d"); is {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil // less than 180 years
		}
	}
	d, err := time.ParseDuration(value)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration; write a number and a unit, for example 500ms, 10s, 24h or 30d", value)
	}
	return d, nil
}

// durationBetween returns a parser of durations from least to most. If most is 0, there is no upper
// limit.
func durationBetween(least, most time.Duration) func(string) (time.Duration, error) {
	return func(value string) (time.Duration, error) {
		d, err := ParseDuration(value)
		switch {
		case err != nil:
			return 0, err
		case d < least:
			return 0, fmt.Errorf("%q is too short; give at least %v", value, least)
		case most > 0 && d > most:
			return 0, fmt.Errorf("%q is too long; give at most %v", value, most)
		}
		return d, nil
	}
}

// zeroOr returns a parser that also accepts 0.
func zeroOr(parse func(string) (time.Duration, error)) func(string) (time.Duration, error) {
	return func(value string) (time.Duration, error) {
		if value == "0" {
			return 0, nil
		}
		d, err := parse(value)
		if err != nil {
			err = fmt.Errorf("%w, or 0 for ever", err)
		}
		return d, err
	}
}

// parseRetryDelays reads the three pauses between the attempts of a delivery.
func parseRetryDelays(value string) ([]time.Duration, error) {
	const remedy = "give the three delays before attempts 2 to 4, for example 1s,10s,60s"
	items := strings.Split(value, ",")
	if len(items) != 3 {
		return nil, fmt.Errorf("%q has %d values, not 3; %s", value, len(items), remedy)
	}
	var delays []time.Duration
	var problems []error
	for _, item := range items {
		d, err := ParseDuration(strings.TrimSpace(item))
		if err == nil && d <= 0 {
			err = fmt.Errorf("%q is not above zero; %s", item, remedy)
		}
		delays, problems = append(delays, d), append(problems, err)
	}
	return delays, errors.Join(problems...)
}

// parsePrefixes reads CIDRs and single addresses. IPv4 prefixes in IPv6 form become IPv4, because
// netip does not match one with the other.
func parsePrefixes(value string) ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	var problems []error
	for item := range strings.SplitSeq(value, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(item)
		if addr, addrErr := netip.ParseAddr(item); addrErr == nil && addr.Zone() == "" {
			prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%q is not a CIDR; write for example 10.0.0.0/8 or fd00::/8", item))
			continue
		}
		if addr := prefix.Addr(); addr.Is4In6() && prefix.Bits() >= 96 {
			prefix = netip.PrefixFrom(addr.Unmap(), prefix.Bits()-96)
		}
		prefixes = append(prefixes, prefix.Masked())
	}
	return prefixes, errors.Join(problems...)
}

// parseHosts reads host names, each with an optional port.
func parseHosts(value string) ([]string, error) {
	var hosts []string
	var problems []error
	for item := range strings.SplitSeq(value, ",") {
		item = strings.ToLower(strings.TrimSpace(item))
		if item == "" {
			continue
		}
		u, err := url.Parse("https://" + item)
		if err != nil || u.Host != item || u.Hostname() == "" || strings.Trim(u.Hostname(), "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" {
			problems = append(problems, fmt.Errorf("%q is not a host; write for example images.example.com", item))
			continue
		}
		hosts = append(hosts, item)
	}
	return hosts, errors.Join(problems...)
}

// Roots returns the certificates to trust in TLS: the machine's roots and these. It returns nil,
// which means only the machine's roots, if there are none.
func Roots(more []*x509.Certificate) (*x509.CertPool, error) {
	if len(more) == 0 {
		return nil, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, err
	}
	for _, c := range more {
		pool.AddCert(c)
	}
	return pool, nil
}

// ReadCertificates returns the certificates of a PEM file. For an empty path it returns none.
func ReadCertificates(path string) ([]*x509.Certificate, error) {
	if path == "" {
		return nil, nil
	}
	rest, err := readSmallFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot be read (%w); name a readable file of PEM certificates", err)
	}
	var certificates []*x509.Certificate
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%q has a broken certificate (%w); name a file of PEM certificates", path, err)
		}
		certificates = append(certificates, certificate)
	}
	if len(certificates) == 0 {
		return nil, fmt.Errorf("%q has no certificate in it; name a file of PEM certificates", path)
	}
	return certificates, nil
}

// parseHeaderName reads the name of a header: a token of RFC 9110, section 5.6.2. It refuses the
// headers that a delivery or its connection already uses.
func parseHeaderName(value string) (string, error) {
	const remedy = "write for example X-Service-Signature"
	if value == "" || len(value) > 100 || strings.ContainsFunc(value, func(r rune) bool {
		return !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') &&
			!strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	}) {
		return "", fmt.Errorf("%q is not a header's name; %s", value, remedy)
	}
	name := strings.ToLower(value)
	for _, prefix := range []string{"content-", "proxy-", "x-forwarded-", "webhook-"} {
		if strings.HasPrefix(name, prefix) {
			return "", fmt.Errorf("%q is taken: %s* headers have another meaning; %s", value, prefix, remedy)
		}
	}
	if slices.Contains([]string{
		"host", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "accept-encoding", "date",
		"user-agent", "cookie", "expect", "forwarded", "authorization", "idempotency-key", "x-idempotency-key",
	}, name) {
		return "", fmt.Errorf("%q is taken: this header has another meaning; %s", value, remedy)
	}
	return value, nil
}

// parseLogLevel reads the lowest level that is logged.
func parseLogLevel(value string) (slog.Level, error) {
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}
	level, ok := levels[value]
	if !ok {
		return 0, fmt.Errorf("%q is not known; choose one of: debug, info, warn, error", value)
	}
	return level, nil
}
