// Package config turns flags, environment variables and the optional configuration file into the
// typed settings of the program, and records the source of each value. It reads the files that
// settings name, to check them. It opens no store, listener or connection, and imports no other
// package of the project.
//
// The first of these that has a value counts: the flag (`--database-url`), the environment variable
// (`SHEAF_DATABASE_URL`; an empty one does not count), for secrets the file that
// `SHEAF_DATABASE_URL_FILE` names, the key `database-url` of the file that `--config` names, the
// default. All problems are reported at once.
package config

import (
	"reflect"
	"strings"
)

// Each setting is declared once, in the tag of its flag: its name, from which the names of its
// variable and its key in the file follow; its help; and its default. The default is the
// placeholder that --help shows, unless the tag has `example`. A setting with `secret` may come
// from a file that SHEAF_…_FILE names, and is never printed. settings.go says how the text of a
// setting is read.

// Store is the part of the command line that all commands on the store share. Embed it in a kong
// grammar. A nil field means that the flag was not used.
type Store struct {
	Config            *string `name:"config" placeholder:"FILE" example:"" help:"File of settings: one 'key = value' per line, with the flags' names as keys; '#' begins a comment line."`
	Data              *string `name:"data" placeholder:"./data" help:"Folder of the SQLite file, the media and the master key."`
	DatabaseURL       *string `name:"database-url" placeholder:"postgres://..." example:"" secret:"" help:"Use this PostgreSQL database instead of SQLite."`
	DatabaseDirectURL *string `name:"database-direct-url" placeholder:"postgres://..." example:"" secret:"" help:"If --database-url is a pooler in transaction mode, such as pgbouncer: the address of the same PostgreSQL without the pooler, for LISTEN, locks and migrations."`
	MediaURL          *string `name:"media-url" placeholder:"s3://bucket/prefix" example:"" help:"Keep the bytes of media in this S3-compatible bucket instead of the folder media in --data. PostgreSQL needs one. Endpoint, region and credentials are named as the AWS tools name them: AWS_ENDPOINT_URL_S3, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY."`
}

// Serve is the command line of `sheaf serve`, and of `sheaf config`, which describes it. Embed it
// in a kong grammar. A nil field was not given.
//
// A command on the store that needs more than the store, the master key say, loads Serve{Store: its
// own flags}.
type Serve struct {
	Store

	Addr                  *string  `name:"addr" placeholder:"127.0.0.1:8080" help:"Listen address; port 0 picks a free one."`
	RedisURL              *string  `name:"redis-url" placeholder:"redis://..." example:"" secret:"" help:"Share rate limits between nodes through this Redis. With Sentinel: redis-sentinel://:PASSWORD@HOST:26379,HOST:26379/0?master=NAME."`
	MasterKey             *string  `name:"master-key" placeholder:"BASE64" example:"" secret:"" help:"32 bytes in base64 that encrypt stored webhook secrets and headers, and second factors; without it, the file master.key in --data."`
	PublicURL             *string  `name:"public-url" placeholder:"https://..." example:"" help:"Public address of the service, with which links begin."`
	FirstRun              *string  `name:"first-run" placeholder:"print" help:"Where the first start writes its key and set-up link: print, file or none."`
	MaxRecords            *string  `name:"max-records" placeholder:"free=10000,pro=250000,business=2500000" help:"Maximum of projects, folders, documents and brandings together in a workspace, by plan; 0 means no limit."`
	PlanChanges           *string  `name:"plan-changes" placeholder:"owner" help:"Who changes the plan of a workspace: its owner in the console, or only the operator with sheaf workspace set-plan."`
	RequireSecondFactor   *bool    `name:"require-second-factor" placeholder:"off" help:"Require a second factor of everybody who signs in to the console, on or off: a person who has none sets one up at the next sign-in. The bare flag means on."`
	PasswordSignIn        *bool    `name:"password-sign-in" placeholder:"on" help:"Let people sign in to the console with a password, on or off. off needs --oidc-issuer; sheaf user allow-password makes exceptions."`
	OIDCIssuer            *string  `name:"oidc-issuer" placeholder:"https://..." example:"" help:"Let people sign in at this OpenID Connect provider: its issuer, exactly as the provider writes it, with or without a slash at the end."`
	OIDCClientID          *string  `name:"oidc-client-id" placeholder:"ID" example:"" help:"Id of this server at the provider."`
	OIDCClientSecret      *string  `name:"oidc-client-secret" placeholder:"SECRET" example:"" secret:"" help:"Secret of this server at the provider; leave it out for a public client."`
	OIDCClientSecretFile  *string  `name:"oidc-client-secret-file" placeholder:"FILE" example:"" help:"File with --oidc-client-secret."`
	OIDCName              *string  `name:"oidc-name" placeholder:"single sign-on" help:"Name of the provider on the button that leads there."`
	OIDCTrustEmail        *bool    `name:"oidc-trust-email" placeholder:"off" help:"Trust e-mails of the provider that it does not mark as verified or not, on or off. Only for a provider whose people cannot choose their e-mail. The bare flag means on."`
	Quota                 *string  `name:"quota" placeholder:"pro=10GB,business=100GB" help:"Bytes of texts, their versions, media, reported events and kept answers that a workspace may store, by plan, with KB, MB, GB or TB (of 1024); 0 means no limit. The free plan has the limit of pro."`
	DiskReserve           *string  `name:"disk-reserve" placeholder:"256MB" help:"Room to keep free on the disk of --data, with KB, MB or GB (of 1024), at most a tenth of the disk. With less, uploads, reported events, large texts and batches are refused; with less than a quarter of it, everything but deletions. 0 keeps none. The disks of PostgreSQL and buckets are not watched."`
	MediaMax              *string  `name:"media-max" placeholder:"2GB" help:"Largest file that can be uploaded, with KB, MB or GB (of 1024), at most 5GB. Files above 10 MB need several requests."`
	RateLimit             *string  `name:"rate-limit" placeholder:"pro=100,business=500" help:"Requests per minute and key, by plan; 0 means no limit."`
	MediaScrubRate        *string  `name:"media-scrub-rate" placeholder:"8MB" help:"Bytes per second to read in the background to find damaged media, with KB, MB or GB (of 1024); 0 turns this off."`
	WebhookRetryDelays    *string  `name:"webhook-retry-delays" placeholder:"1s,10s,60s" help:"Delays before attempts 2 to 4 of a delivery."`
	WebhookTimeout        *string  `name:"webhook-timeout" placeholder:"10s" help:"Time for one whole attempt, 1ms to 5m."`
	WebhookAllowCIDR      []string `name:"webhook-allow-cidr" sep:"none" placeholder:"CIDR,..." example:"" help:"Addresses that deliveries may reach although they are private or otherwise special. Repeatable."`
	WebhookCAFile         *string  `name:"webhook-ca-file" placeholder:"FILE" example:"" help:"More root certificates that deliveries, mail and sign-in at a provider trust, in PEM."`
	SMTPURL               *string  `name:"smtp-url" placeholder:"smtps://..." example:"" secret:"" help:"Mail server for mails about failing webhooks and about proposals and, with --public-url, for invitations, forgotten passwords and notices to people: smtps://USER:PASSWORD@HOST?from=ADDRESS, or smtp:// for STARTTLS."`
	SignatureHeader       *string  `name:"signature-header" placeholder:"X-Service-Signature" help:"Name of the header that carries a delivery's signature."`
	Retention             *string  `name:"retention" placeholder:"720h" help:"How long events and deliveries are kept, at least 1s."`
	TrashRetention        *string  `name:"trash-retention" placeholder:"720h" help:"How long deleted documents can be restored, at least 1s; 0 means for ever."`
	VersionRetention      *string  `name:"version-retention" placeholder:"2160h" help:"How long versions of a document beyond its newest 100 are kept, at least 1s."`
	ProposalRetention     *string  `name:"proposal-retention" placeholder:"8760h" help:"How long decided proposals are kept, at least 1s."`
	AuditRetention        *string  `name:"audit-retention" placeholder:"8760h" help:"How long the lines of the audit logs are kept, at least 1s."`
	DoctorEvery           *string  `name:"doctor-every" placeholder:"off" help:"Check the stored data at the start and then this often, at least 1s; metrics show the results."`
	BackupTo              *string  `name:"backup-to" placeholder:"s3://bucket/prefix" example:"" help:"Write encrypted backups into this bucket. Its credentials and endpoint are named as those of --media-url, or with BACKUP_ before each name."`
	BackupEvery           *string  `name:"backup-every" placeholder:"24h" help:"How old the newest backup in --backup-to may be before the server makes another, at least 1m."`
	BackupKeep            *string  `name:"backup-keep" placeholder:"count=7,age=30d" help:"Which backups stay in --backup-to: the newest ones up to the count, and all that are younger than the age."`
	BackupRecipient       []string `name:"backup-recipient" sep:"none" placeholder:"age1..." example:"" help:"Public key of age to which backups in a bucket are encrypted. Repeatable: each of the private keys decrypts them. The server has none of them."`
	MetricsAddr           *string  `name:"metrics-addr" placeholder:"off" help:"Serve Prometheus metrics on this address."`
	TLSCert               *string  `name:"tls-cert" placeholder:"FILE" example:"" help:"Serve HTTPS with this certificate chain, in PEM."`
	TLSKey                *string  `name:"tls-key" placeholder:"FILE" example:"" help:"The key of --tls-cert, in PEM."`
	TrustedProxy          []string `name:"trusted-proxy" sep:"none" placeholder:"CIDR,..." example:"" help:"Proxies whose X-Forwarded-* headers count. Repeatable."`
	ConnectionsPerAddress *string  `name:"connections-per-address" placeholder:"auto" help:"Connections that one address (of IPv6: one /64) may hold open. auto: a quarter of all, at least 64, and any number for this machine's own addresses. Trusted proxies may always hold any number."`
	CORSOrigins           []string `name:"cors-origins" sep:"none" placeholder:"ORIGIN,..." example:"" help:"Origins whose pages may call the API with a key, such as https://app.example.com; * means every origin. The console and shared pages are never open to other origins. Repeatable."`
	ImageHosts            []string `name:"image-hosts" sep:"none" placeholder:"HOST,..." example:"" help:"Hosts whose pictures are shown in rendered texts, over https; pictures of other hosts are links. Repeatable."`
	LogFormat             *string  `name:"log-format" placeholder:"text" help:"Format of the log: text or json."`
	LogLevel              *string  `name:"log-level" placeholder:"info" help:"Lowest level that is logged: debug, info, warn or error."`
}

// statement is the declaration of a setting, from the tag of its flag.
type statement struct {
	Name, Help string
	Default    string
	secret     bool // may come from a file named by SHEAF_…_FILE; never printed in a problem
	list       bool // may be repeated
}

// Env returns the name of the setting's environment variable.
func (s statement) Env() string {
	return "SHEAF_" + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
}

// statements has all settings, by name.
var statements = func() map[string]statement {
	all := map[string]statement{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Serve]()) {
		if f.Anonymous {
			continue
		}
		s := statement{Name: f.Tag.Get("name"), Help: f.Tag.Get("help"), list: f.Type.Kind() == reflect.Slice}
		if _, example := f.Tag.Lookup("example"); !example {
			s.Default = f.Tag.Get("placeholder")
		}
		_, s.secret = f.Tag.Lookup("secret")
		all[s.Name] = s
	}
	return all
}()

// The values of a setting that is on or off.
const (
	switchOn  = "on"
	switchOff = "off"
)

// flagValues returns the values of the flags that were on the command line, by name. The values of
// a repeated flag are joined by commas. A flag without a value is on.
func flagValues(flags any) map[string]string {
	v, out := reflect.ValueOf(flags), map[string]string{}
	for _, f := range reflect.VisibleFields(v.Type()) {
		switch value := v.FieldByIndex(f.Index).Interface().(type) {
		case *string:
			if value != nil {
				out[f.Tag.Get("name")] = *value
			}
		case *bool:
			if value != nil {
				out[f.Tag.Get("name")] = map[bool]string{true: switchOn, false: switchOff}[*value]
			}
		case []string:
			if len(value) > 0 {
				out[f.Tag.Get("name")] = strings.Join(value, ",")
			}
		}
	}
	return out
}
