package config

import (
	"crypto/x509"
	"log/slog"
	"net/netip"
	"net/url"
	"slices"
	"time"
)

// StoreSettings says where the data is.
type StoreSettings struct {
	Data              string // folder of the SQLite file and the master key; need not exist yet
	DatabaseURL       Secret // of PostgreSQL; empty: use SQLite in Data
	DatabaseDirectURL Secret // of the same without the pooler that DatabaseURL leads through; empty: there is none
	MediaURL          string // s3://bucket/prefix; empty: media are in Data, or with PostgreSQL nowhere
}

// Settings is everything that `sheaf serve` can be told. When Load returned no error, every value
// is usable as it is.
type Settings struct {
	StoreSettings

	Addr                  string      // host:port to listen on
	RedisURL              Secret      // empty: limits are this process's own
	MasterKey             SecretBytes // 32 bytes; nil: use the file in Data
	PublicURL             *url.URL    // http or https, no trailing slash, query, fragment or user; nil: none
	FirstRun              FirstRun
	RateLimit             RateLimit
	MaxRecords            MaxRecords
	Quota                 Quota
	DiskReserve           int64               // bytes; 0: none
	MediaMax              int64               // bytes of the largest file; above 0
	MediaScrubRate        int64               // bytes a second that the scrub of media reads; 0: none
	WebhookRetryDelays    []time.Duration     // exactly 3, each above 0
	WebhookTimeout        time.Duration       // 1ms to 5m
	WebhookAllowCIDR      []netip.Prefix      // masked; never IPv4 written as IPv6
	WebhookCAFile         string              // empty: none
	WebhookCAs            []*x509.Certificate // the certificates in WebhookCAFile
	SMTP                  *SMTP               // nil: no mails are sent
	SignatureHeader       string              // an RFC 9110 token that no other header of a delivery uses
	Retention             time.Duration       // at least MinRetention
	TrashRetention        time.Duration       // at least MinRetention; 0 is for ever
	VersionRetention      time.Duration       // at least MinRetention
	DoctorEvery           time.Duration       // at least MinDoctorEvery; 0: never
	MetricsAddr           string              // host:port; empty: no metrics
	TLSCert, TLSKey       string              // both are set and fit each other, or both are empty
	TrustedProxy          []netip.Prefix      // masked; never IPv4 written as IPv6
	ConnectionsPerAddress int                 // 0: a part of all that the server can hold
	ImageHosts            []string            // in lower case, with a port where one was given
	LogFormat             LogFormat
	LogLevel              slog.Level

	described []Setting
}

// FirstRun says where the first start puts its key and its set-up link.
type FirstRun string

// The values of FirstRun.
const (
	FirstRunPrint FirstRun = "print" // on standard output
	FirstRunFile  FirstRun = "file"  // in a file in the data folder
	FirstRunNone  FirstRun = "none"  // nothing is made
)

// LogFormat says how log lines are written.
type LogFormat string

// The values of LogFormat.
const (
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// MaxRecords is how many projects, folders and documents a workspace may have together, by its
// plan; 0 is any number.
type MaxRecords struct {
	Free, Pro, Business int
}

// Quota is how many bytes a workspace may store, by its plan; 0 is any number.
type Quota struct {
	Pro, Business int64
}

// RateLimit is the number of requests per minute that one key may make, by the plan of its
// workspace; 0 is no limit.
type RateLimit struct {
	Pro, Business int
}

// MinRetention is the shortest time that events, deliveries and deleted documents can be kept. It is this low so that
// removal can be watched; nobody wants it in production.
const MinRetention = time.Second

// MinDoctorEvery is the shortest time between two looks at the stored data: each reads all of it.
const MinDoctorEvery = time.Second

// Setting is one line of `sheaf config`.
type Setting struct {
	Name   string // of the flag, without dashes
	Value  string // as it is in force; empty for none; secrets read `redacted`, of a URL only the password does
	Source string // "flag", "environment SHEAF_ADDR", "file sheaf.conf", "file from SHEAF_MASTER_KEY_FILE", "default"
}

// Describe returns every setting, always in the same order. A value that Load complained of is
// shown as it was given, a wrong secret as `redacted`.
func (s *Settings) Describe() []Setting {
	return slices.Clone(s.described)
}

// Default reports whether nobody has said anything of the setting.
func (s *Settings) Default(name string) bool {
	return slices.ContainsFunc(s.described, func(d Setting) bool { return d.Name == name && d.Source == "default" })
}

// setting is how one setting is judged and kept.
type setting struct {
	name string // of its statement
	// set keeps the value and returns it as Describe shows it, or an error "FAULT; REMEDY"; several
	// are joined.
	set func(s *Settings, value string) (shown string, err error)
}

// table lists every setting but `config`, in the order of Describe.
var table = []setting{
	{name: "addr", set: func(s *Settings, v string) (string, error) {
		return keep(&s.Addr, v, parseAddr)
	}},
	{name: "data", set: func(s *Settings, v string) (string, error) {
		return keep(&s.Data, v, parseFolder)
	}},
	{name: "database-url", set: func(s *Settings, v string) (string, error) {
		s.DatabaseURL = Secret(v)
		return maskURL(v, "postgres", "postgresql")
	}},
	{name: "database-direct-url", set: func(s *Settings, v string) (string, error) {
		s.DatabaseDirectURL = Secret(v)
		return maskURL(v, "postgres", "postgresql")
	}},
	{name: "media-url", set: func(s *Settings, v string) (string, error) {
		return keep(&s.MediaURL, v, parseMediaURL)
	}},
	{name: "redis-url", set: func(s *Settings, v string) (string, error) {
		s.RedisURL = Secret(v)
		return maskURL(v, "redis", "rediss", "redis-sentinel", "rediss-sentinel")
	}},
	{name: "master-key", set: func(s *Settings, v string) (shown string, err error) {
		if s.MasterKey, err = parseMasterKey(v); s.MasterKey != nil {
			shown = redacted
		}
		return shown, err
	}},
	{name: "public-url", set: func(s *Settings, v string) (shown string, err error) {
		if s.PublicURL, err = parsePublicURL(v); s.PublicURL != nil {
			shown = s.PublicURL.String()
		}
		return shown, err
	}},
	{name: "first-run", set: func(s *Settings, v string) (string, error) {
		return keep(&s.FirstRun, v, oneOf(FirstRunPrint, FirstRunFile, FirstRunNone))
	}},
	{name: "rate-limit", set: func(s *Settings, v string) (shown string, err error) {
		s.RateLimit, err = parseRateLimit(v)
		return s.RateLimit.String(), err // with the plans that v does not name
	}},
	{name: "max-records", set: func(s *Settings, v string) (shown string, err error) {
		s.MaxRecords, err = parseMaxRecords(v)
		return s.MaxRecords.String(), err
	}},
	{name: "quota", set: func(s *Settings, v string) (shown string, err error) {
		s.Quota, err = parseQuota(v)
		return s.Quota.String(), err
	}},
	{name: "disk-reserve", set: func(s *Settings, v string) (shown string, err error) {
		s.DiskReserve, err = parseReserve(v)
		return formatBytes(s.DiskReserve), err
	}},
	{name: "media-max", set: func(s *Settings, v string) (shown string, err error) {
		s.MediaMax, err = parseMediaMax(v)
		return formatBytes(s.MediaMax), err
	}},
	{name: "media-scrub-rate", set: func(s *Settings, v string) (shown string, err error) {
		s.MediaScrubRate, err = parseScrubRate(v)
		return formatBytes(s.MediaScrubRate), err
	}},
	{name: "webhook-retry-delays", set: func(s *Settings, v string) (string, error) {
		return keep(&s.WebhookRetryDelays, v, parseRetryDelays)
	}},
	{name: "webhook-timeout", set: func(s *Settings, v string) (string, error) {
		return keep(&s.WebhookTimeout, v, durationBetween(time.Millisecond, 5*time.Minute))
	}},
	{name: "webhook-allow-cidr", set: func(s *Settings, v string) (string, error) {
		return keep(&s.WebhookAllowCIDR, v, parsePrefixes)
	}},
	{name: "webhook-ca-file", set: func(s *Settings, v string) (string, error) {
		s.WebhookCAFile = v
		return keep(&s.WebhookCAs, v, ReadCertificates)
	}},
	{name: "smtp-url", set: func(s *Settings, v string) (shown string, err error) {
		if s.SMTP, err = parseSMTP(v); s.SMTP == nil || err != nil {
			return "", err
		}
		return maskSMTP(v)
	}},
	{name: "signature-header", set: func(s *Settings, v string) (string, error) {
		return keep(&s.SignatureHeader, v, parseHeaderName)
	}},
	{name: "retention", set: func(s *Settings, v string) (string, error) {
		return keep(&s.Retention, v, durationBetween(MinRetention, 0))
	}},
	{name: "trash-retention", set: func(s *Settings, v string) (string, error) {
		return keep(&s.TrashRetention, v, zeroOr(durationBetween(MinRetention, 0)))
	}},
	{name: "version-retention", set: func(s *Settings, v string) (string, error) {
		return keep(&s.VersionRetention, v, durationBetween(MinRetention, 0))
	}},
	{name: "doctor-every", set: func(s *Settings, v string) (string, error) {
		return keep(&s.DoctorEvery, v, offOr(durationBetween(MinDoctorEvery, 0)))
	}},
	{name: "metrics-addr", set: func(s *Settings, v string) (string, error) {
		return keep(&s.MetricsAddr, v, offOr(parseAddr))
	}},
	{name: "tls-cert", set: func(s *Settings, v string) (string, error) {
		s.TLSCert = v
		return v, nil // judged together with its key
	}},
	{name: "tls-key", set: func(s *Settings, v string) (string, error) {
		s.TLSKey = v
		return v, nil
	}},
	{name: "trusted-proxy", set: func(s *Settings, v string) (string, error) {
		return keep(&s.TrustedProxy, v, parsePrefixes)
	}},
	{name: "connections-per-address", set: func(s *Settings, v string) (string, error) {
		return keep(&s.ConnectionsPerAddress, v, parseConnections)
	}},
	{name: "image-hosts", set: func(s *Settings, v string) (string, error) {
		return keep(&s.ImageHosts, v, parseHosts)
	}},
	{name: "log-format", set: func(s *Settings, v string) (string, error) {
		return keep(&s.LogFormat, v, oneOf(LogText, LogJSON))
	}},
	{name: "log-level", set: func(s *Settings, v string) (string, error) {
		return keep(&s.LogLevel, v, parseLogLevel)
	}},
}

// keep parses the value into field and shows it as it was given.
func keep[T any](field *T, value string, parse func(string) (T, error)) (shown string, err error) {
	*field, err = parse(value)
	return value, err
}
