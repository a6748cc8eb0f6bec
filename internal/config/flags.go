// Package config turns flags, environment variables and the optional configuration file into the
// typed settings of the program, and knows where each value came from. It reads files that a
// setting names, to judge them; it must not open a store, a listener or a connection, and it
// imports no other package of the project.
//
// Each setting is looked for in this order: the flag (`--database-url`), the environment
// (`SHEAF_DATABASE_URL`, where empty counts as absent; for secrets also `SHEAF_DATABASE_URL_FILE`,
// which names a file that holds the value), the key `database-url` of the file that `--config`
// names, the default. Values are kept as text until all of them are known, so that every problem is
// reported at once.
package config

import (
	"reflect"
	"strings"
)

// Each setting is stated once, in the tag of its flag: its name, from which those of its variable
// and its key in the file follow, what it is for (help), and its default, which is the placeholder
// that --help shows, unless that is marked as an example. A secret may come from a file that
// SHEAF_…_FILE names, and is never repeated. How its text is read stands in settings.go.

// Store is the part of the command line that every command on the store shares. Embed it in a kong
// grammar. A nil field was not given.
type Store struct {
	Config            *string `name:"config" placeholder:"FILE" example:"" help:"File of settings: one 'key = value' a line, keys named like the flags, '#' begins a comment line."`
	Data              *string `name:"data" placeholder:"./data" help:"Folder of the SQLite file, the media and the master key."`
	DatabaseURL       *string `name:"database-url" placeholder:"postgres://..." example:"" secret:"" help:"Use this PostgreSQL database instead of SQLite."`
	DatabaseDirectURL *string `name:"database-direct-url" placeholder:"postgres://..." example:"" secret:"" help:"Where --database-url leads through a pooler in transaction mode, such as pgbouncer: the same PostgreSQL without it, for LISTEN, locks and migrations."`
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
	MasterKey             *string  `name:"master-key" placeholder:"BASE64" example:"" secret:"" help:"32 bytes in base64 that encrypt stored webhook secrets and headers; without it, the file master.key in --data."`
	PublicURL             *string  `name:"public-url" placeholder:"https://..." example:"" help:"Address that users reach the service under: the base of links."`
	FirstRun              *string  `name:"first-run" placeholder:"print" help:"Where the first start writes its key and set-up link: print, file or none."`
	MaxRecords            *string  `name:"max-records" placeholder:"free=10000,pro=250000,business=2500000" help:"Projects, folders and documents of a workspace together, by plan; 0 lifts a plan's limit."`
	Quota                 *string  `name:"quota" placeholder:"pro=10GB,business=100GB" help:"Bytes of texts, their versions, media, reported events and kept answers that a workspace stores, by plan, with KB, MB, GB or TB (of 1024); 0 lifts a plan's limit. On the free plan that of pro applies."`
	DiskReserve           *string  `name:"disk-reserve" placeholder:"256MB" help:"Room on the disk of --data that is kept free, with KB, MB or GB (of 1024), a tenth of the disk at most. Below it uploads, reported events, large texts and batches are refused, below a quarter of it everything but deletions; 0 keeps none. PostgreSQL and buckets have disks of their own."`
	MediaMax              *string  `name:"media-max" placeholder:"2GB" help:"Largest file that can be uploaded, with KB, MB or GB (of 1024), 5GB at most; up to 10 MB in one request, beyond that in several."`
	RateLimit             *string  `name:"rate-limit" placeholder:"pro=100,business=500" help:"Requests per minute and key, by plan; 0 lifts a plan's limit."`
	MediaScrubRate        *string  `name:"media-scrub-rate" placeholder:"8MB" help:"Bytes a second that are read in the background to find damaged media, with KB, MB or GB (of 1024); 0 reads none."`
	WebhookRetryDelays    *string  `name:"webhook-retry-delays" placeholder:"1s,10s,60s" help:"Delays before attempts 2 to 4 of a delivery."`
	WebhookTimeout        *string  `name:"webhook-timeout" placeholder:"10s" help:"Time for one whole attempt, 1ms to 5m."`
	WebhookAllowCIDR      []string `name:"webhook-allow-cidr" sep:"none" placeholder:"CIDR,..." example:"" help:"Addresses that deliveries may reach although they are special. Repeatable."`
	WebhookCAFile         *string  `name:"webhook-ca-file" placeholder:"FILE" example:"" help:"Further roots that deliveries and mail trust, in PEM."`
	SMTPURL               *string  `name:"smtp-url" placeholder:"smtps://..." example:"" secret:"" help:"Tell owners and admins by mail of webhooks that fail, through this server: smtps://USER:PASSWORD@HOST?from=ADDRESS, or smtp:// for STARTTLS."`
	SignatureHeader       *string  `name:"signature-header" placeholder:"X-Service-Signature" help:"Name of the header that carries a delivery's signature."`
	Retention             *string  `name:"retention" placeholder:"720h" help:"How long events and deliveries are kept, at least 1s."`
	TrashRetention        *string  `name:"trash-retention" placeholder:"720h" help:"How long deleted documents can be restored, at least 1s; 0 is for ever."`
	VersionRetention      *string  `name:"version-retention" placeholder:"2160h" help:"How long versions of a document beyond its newest 100 are kept, at least 1s."`
	DoctorEvery           *string  `name:"doctor-every" placeholder:"off" help:"Check the stored data at the start and then this often, at least 1s; the metrics tell what was found."`
	MetricsAddr           *string  `name:"metrics-addr" placeholder:"off" help:"Serve Prometheus metrics on this address."`
	TLSCert               *string  `name:"tls-cert" placeholder:"FILE" example:"" help:"Serve HTTPS with this certificate chain, in PEM."`
	TLSKey                *string  `name:"tls-key" placeholder:"FILE" example:"" help:"The key of --tls-cert, in PEM."`
	TrustedProxy          []string `name:"trusted-proxy" sep:"none" placeholder:"CIDR,..." example:"" help:"Proxies whose X-Forwarded-* headers count. Repeatable."`
	ConnectionsPerAddress *string  `name:"connections-per-address" placeholder:"auto" help:"Connections that one address (of IPv6: one /64) may hold open. auto: a quarter of all, at least 64, and any number for this machine's own addresses. Trusted proxies may always hold any number."`
	ImageHosts            []string `name:"image-hosts" sep:"none" placeholder:"HOST,..." example:"" help:"Hosts whose pictures are shown in rendered texts, over https; those of others are links. Repeatable."`
	LogFormat             *string  `name:"log-format" placeholder:"text" help:"Format of the log: text or json."`
	LogLevel              *string  `name:"log-level" placeholder:"info" help:"Least level that is logged: debug, info, warn or error."`
}

// statement is what the tag of a flag says of its setting.
type statement struct {
	Name, Help string
	Default    string
	secret     bool // may come from a file named by SHEAF_…_FILE; never repeated in a problem
	list       bool // may be given several times
}

// Env is the name of the setting's environment variable.
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

// given returns the flags of a grammar that were on the command line, by name; the values of a
// repeated one as one.
func given(flags any) map[string]string {
	v, out := reflect.ValueOf(flags), map[string]string{}
	for _, f := range reflect.VisibleFields(v.Type()) {
		switch value := v.FieldByIndex(f.Index).Interface().(type) {
		case *string:
			if value != nil {
				out[f.Tag.Get("name")] = *value
			}
		case []string:
			if len(value) > 0 {
				out[f.Tag.Get("name")] = strings.Join(value, ",")
			}
		}
	}
	return out
}
