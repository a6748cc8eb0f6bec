package config

import (
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"slices"
	"time"
)

// StoreSettings is the location of the data.
type StoreSettings struct {
	Data              string // folder of the SQLite file and the master key; need not exist yet
	DatabaseURL       Secret // URL of PostgreSQL; empty: SQLite in Data is used
	DatabaseDirectURL Secret // URL of the same database without a pooler; empty: DatabaseURL has no pooler
	MediaURL          string // s3://bucket/prefix; empty: media are in Data, or with PostgreSQL cannot be stored
}

// Settings has all settings of `sheaf serve`. If Load returned no error, every value is valid.
type Settings struct {
	StoreSettings

	Addr                  string      // host:port to listen on
	RedisURL              Secret      // empty: this process counts limits alone
	MasterKey             SecretBytes // 32 bytes; nil: use the file in Data
	PublicURL             *url.URL    // http or https, no trailing slash, query, fragment or user; nil: none
	FirstRun              FirstRun
	PlanChanges           PlanChanges
	RequireSecondFactor   bool // of everybody who signs in to the console
	PasswordSignIn        bool // false only with OIDC
	OIDC                  OIDC
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
	ProposalRetention     time.Duration       // at least MinRetention
	AuditRetention        time.Duration       // at least MinRetention
	DoctorEvery           time.Duration       // at least MinDoctorEvery; 0: never
	BackupTo              string              // s3://bucket/prefix; empty: the server makes no backups
	BackupEvery           time.Duration       // at least MinBackupEvery
	BackupKeep            BackupKeep
	BackupRecipients      []string       // public keys of age; not empty with BackupTo
	MetricsAddr           string         // host:port; empty: no metrics
	TLSCert, TLSKey       string         // both are set and match, or both are empty
	TrustedProxy          []netip.Prefix // masked; never IPv4 written as IPv6
	ConnectionsPerAddress int            // 0: a share of all connections
	CORSOrigins           []string       // as browsers send them; "*" stands alone
	ImageHosts            []string       // in lower case, with an optional port
	LogFormat             LogFormat
	LogLevel              slog.Level

	described []Setting
	secrets   []string // the texts of all settings that are secret
}

// FirstRun says where the first start puts its key and its set-up link.
type FirstRun string

// The values of FirstRun.
const (
	FirstRunPrint FirstRun = "print" // on standard output
	FirstRunFile  FirstRun = "file"  // in a file in the data folder
	FirstRunNone  FirstRun = "none"  // nothing is made
)

// PlanChanges says who may change the plan of a workspace.
type PlanChanges string

// The values of PlanChanges.
const (
	PlansByOwner    PlanChanges = "owner"    // an owner, in the console; the operator always may
	PlansByOperator PlanChanges = "operator" // the operator alone, with the command line
)

// OIDC is the sign-in at an OpenID Connect provider.
type OIDC struct {
	Issuer       string // empty: there is none, and the other fields do not matter
	ClientID     string
	ClientSecret Secret
	SecretFile   string // from which ClientSecret was read; empty: from none
	Name         string
	TrustEmail   bool
}

// LogFormat says how log lines are written.
type LogFormat string

// The values of LogFormat.
const (
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// MaxRecords bounds the projects, folders and documents of a workspace together, by its plan; 0
// means no limit.
type MaxRecords struct {
	Free, Pro, Business int
}

// Quota bounds the bytes that a workspace stores, by its plan; 0 means no limit.
type Quota struct {
	Pro, Business int64
}

// RateLimit is the number of requests that one key may make in a minute, by the plan of its
// workspace; 0 means no limit.
type RateLimit struct {
	Pro, Business int
}

// MinRetention is the shortest time for which events, deliveries and deleted documents can be kept.
// It is so low only to make deletion easy to try out.
const MinRetention = time.Second

// MinDoctorEvery is the shortest interval of checks of the stored data. Each check reads all of it.
const MinDoctorEvery = time.Second

// MinBackupEvery is the shortest interval of backups into a bucket. Each writes all rows.
const MinBackupEvery = time.Minute

// BackupKeep says which backups stay in a bucket: the newest Count, and all that are younger than Age.
type BackupKeep struct {
	Count int // at least 1
	Age   time.Duration
}

// Setting is one line of `sheaf config`.
type Setting struct {
	Name   string // name of the flag, without dashes
	Value  string // empty for none; a secret is `redacted`, and so is the password of a URL
	Source string // "flag", "environment SHEAF_ADDR", "file sheaf.conf", "file from SHEAF_MASTER_KEY_FILE", "default"
}

// Describe returns every setting, always in the same order. A value with a problem is returned as
// it was written, an invalid secret as `redacted`.
func (s *Settings) Describe() []Setting {
	return slices.Clone(s.described)
}

// Default reports whether the setting has its default because no source has a value.
func (s *Settings) Default(name string) bool {
	return slices.ContainsFunc(s.described, func(d Setting) bool { return d.Name == name && d.Source == "default" })
}

// setting says how one setting is checked and stored.
type setting struct {
	name string // of its statement
	// set stores the value and returns the text for Describe, or an error "FAULT; REMEDY". Several
	// errors are joined.
	set func(s *Settings, value string) (shown string, err error)
}

// table lists every setting except `config`, in the order of Describe.
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
	{name: "plan-changes", set: func(s *Settings, v string) (string, error) {
		return keep(&s.PlanChanges, v, oneOf(PlansByOwner, PlansByOperator))
	}},
	{name: "require-second-factor", set: func(s *Settings, v string) (string, error) {
		return keep(&s.RequireSecondFactor, v, parseSwitch)
	}},
	{name: "password-sign-in", set: func(s *Settings, v string) (string, error) {
		return keep(&s.PasswordSignIn, v, parseSwitch)
	}},
	{name: "oidc-issuer", set: func(s *Settings, v string) (string, error) {
		return keep(&s.OIDC.Issuer, v, parseIssuer)
	}},
	{name: "oidc-client-id", set: func(s *Settings, v string) (string, error) {
		s.OIDC.ClientID = v
		return v, nil // checkOIDC checks it
	}},
	{name: "oidc-client-secret", set: func(s *Settings, v string) (shown string, err error) {
		if s.OIDC.ClientSecret = Secret(v); v != "" {
			shown = redacted
		}
		return shown, nil
	}},
	{name: "oidc-client-secret-file", set: func(s *Settings, v string) (string, error) {
		s.OIDC.SecretFile = v
		return v, nil // checkOIDC reads it
	}},
	{name: "oidc-name", set: func(s *Settings, v string) (string, error) {
		return keep(&s.OIDC.Name, v, parseProviderName)
	}},
	{name: "oidc-trust-email", set: func(s *Settings, v string) (string, error) {
		return keep(&s.OIDC.TrustEmail, v, parseSwitch)
	}},
	{name: "rate-limit", set: func(s *Settings, v string) (shown string, err error) {
		s.RateLimit = RateLimit{Pro: 100, Business: 500} // the defaults of plans that v does not name
		err = parsePlans(v, map[string]*int{"pro": &s.RateLimit.Pro, "business": &s.RateLimit.Business})
		return s.RateLimit.String(), err
	}},
	{name: "max-records", set: func(s *Settings, v string) (shown string, err error) {
		s.MaxRecords = MaxRecords{Free: 10_000, Pro: 250_000, Business: 2_500_000}
		err = parsePlans(v, map[string]*int{"free": &s.MaxRecords.Free, "pro": &s.MaxRecords.Pro, "business": &s.MaxRecords.Business})
		return s.MaxRecords.String(), err
	}},
	{name: "quota", set: func(s *Settings, v string) (shown string, err error) {
		s.Quota = Quota{Pro: 10 << 30, Business: 100 << 30}
		err = parseEach(v, map[string]*int64{"pro": &s.Quota.Pro, "business": &s.Quota.Business}, parseBytes)
		return s.Quota.String(), err
	}},
	{name: "disk-reserve", set: func(s *Settings, v string) (string, error) {
		return keepBytes(&s.DiskReserve, v, func(n int64) bool { return n >= 0 },
			"%q is not a number of bytes; write for example 500MB or 2GB, or 0 for none")
	}},
	{name: "media-max", set: func(s *Settings, v string) (string, error) {
		return keepBytes(&s.MediaMax, v, func(n int64) bool { return 1 <= n && n <= maxMediaMax },
			"%q is not a size of a file up to 5GB; write for example 500MB or 2GB")
	}},
	{name: "media-scrub-rate", set: func(s *Settings, v string) (string, error) {
		return keepBytes(&s.MediaScrubRate, v, func(n int64) bool { return n == 0 || 64<<10 <= n && n <= 1<<30 },
			"%q is not a rate from 64KB to 1GB a second; write for example 8MB, or 0 for none")
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
	{name: "proposal-retention", set: func(s *Settings, v string) (string, error) {
		return keep(&s.ProposalRetention, v, durationBetween(MinRetention, 0))
	}},
	{name: "audit-retention", set: func(s *Settings, v string) (string, error) {
		return keep(&s.AuditRetention, v, durationBetween(MinRetention, 0))
	}},
	{name: "doctor-every", set: func(s *Settings, v string) (string, error) {
		return keep(&s.DoctorEvery, v, offOr(durationBetween(MinDoctorEvery, 0)))
	}},
	{name: "backup-to", set: func(s *Settings, v string) (string, error) {
		return keep(&s.BackupTo, v, parseBackupTo)
	}},
	{name: "backup-every", set: func(s *Settings, v string) (string, error) {
		return keep(&s.BackupEvery, v, durationBetween(MinBackupEvery, 0))
	}},
	{name: "backup-keep", set: func(s *Settings, v string) (string, error) {
		return keep(&s.BackupKeep, v, parseBackupKeep)
	}},
	{name: "backup-recipient", set: func(s *Settings, v string) (string, error) {
		return keep(&s.BackupRecipients, v, parseRecipients)
	}},
	{name: "metrics-addr", set: func(s *Settings, v string) (string, error) {
		return keep(&s.MetricsAddr, v, offOr(parseAddr))
	}},
	{name: "tls-cert", set: func(s *Settings, v string) (string, error) {
		s.TLSCert = v
		return v, nil // checkKeyPair checks it
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
	{name: "cors-origins", set: func(s *Settings, v string) (string, error) {
		return keep(&s.CORSOrigins, v, parseOrigins)
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

// keep parses the value into field, and returns it unchanged for Describe.
func keep[T any](field *T, value string, parse func(string) (T, error)) (shown string, err error) {
	*field, err = parse(value)
	return value, err
}

// maxMediaMax is the largest file that a bucket accepts in one request.
const maxMediaMax = 5 << 30

// keepBytes parses a number of bytes into field. If valid returns false, the error is `fault` with
// the value.
func keepBytes(field *int64, value string, valid func(int64) bool, fault string) (shown string, err error) {
	n, err := parseBytes(value)
	if err != nil || !valid(n) {
		n, err = 0, fmt.Errorf(fault, value)
	}
	*field = n
	return formatBytes(n), err
}
