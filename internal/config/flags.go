// Package config turns flags, environment variables and the optional configuration file into the typed settings of
// the program, and knows where each value came from. It reads files that a setting names, to judge them; it must not
// open a store, a listener or a connection, and it imports no other package of the project.
//
// Each setting is looked for in this order: the flag (`--database-url`), the environment (`SHEAF_DATABASE_URL`, where
// empty counts as absent; for secrets also `SHEAF_DATABASE_URL_FILE`, which names a file that holds the value), the
// key `database-url` of the file that `--config` names, the default. Values are kept as text until all of them are
// known, so that every problem is reported at once.
package config

import "strings"

// Store is the part of the command line that every command on the store shares. Embed it in a kong grammar.
// A nil field was not given.
type Store struct {
	Config      *string `name:"config" placeholder:"FILE" help:"File of settings: one 'key = value' a line, keys named like the flags, '#' begins a comment line."`
	Data        *string `name:"data" placeholder:"./data" help:"Folder of the SQLite file and the master key."`
	DatabaseURL *string `name:"database-url" placeholder:"postgres://..." help:"Use this PostgreSQL database instead of SQLite."`
}

// Serve is the command line of `sheaf serve`, and of `sheaf config`, which describes it. Embed it in a kong grammar.
// A nil field was not given.
//
// A command on the store that needs more than the store, the master key say, loads Serve{Store: its own flags}.
type Serve struct {
	Store

	Addr               *string  `name:"addr" placeholder:"127.0.0.1:8080" help:"Listen address; port 0 picks a free one."`
	RedisURL           *string  `name:"redis-url" placeholder:"redis://..." help:"Share rate limits between nodes through this Redis."`
	MasterKey          *string  `name:"master-key" placeholder:"BASE64" help:"32 bytes in base64 that encrypt stored webhook secrets and headers; without it, the file master.key in --data."`
	PublicURL          *string  `name:"public-url" placeholder:"https://..." help:"Address that users reach the service under: the base of links."`
	FirstRun           *string  `name:"first-run" placeholder:"print" help:"Where the first start writes its key and set-up link: print, file or none."`
	MaxRecords         *string  `name:"max-records" placeholder:"free=10000,pro=250000,business=2500000" help:"Projects, folders and documents of a workspace together, by plan; 0 lifts a plan's limit."`
	RateLimit          *string  `name:"rate-limit" placeholder:"pro=100,business=500" help:"Requests per minute and key, by plan; 0 lifts a plan's limit."`
	WebhookRetryDelays *string  `name:"webhook-retry-delays" placeholder:"1s,10s,60s" help:"Delays before attempts 2 to 4 of a delivery."`
	WebhookTimeout     *string  `name:"webhook-timeout" placeholder:"10s" help:"Time for one whole attempt, 1ms to 5m."`
	WebhookAllowCIDR   []string `name:"webhook-allow-cidr" sep:"none" placeholder:"CIDR,..." help:"Addresses that deliveries may reach although they are special. Repeatable."`
	WebhookCAFile      *string  `name:"webhook-ca-file" placeholder:"FILE" help:"Further roots that deliveries trust, in PEM."`
	SignatureHeader    *string  `name:"signature-header" placeholder:"X-Service-Signature" help:"Name of the header that carries a delivery's signature."`
	Retention          *string  `name:"retention" placeholder:"720h" help:"How long events and deliveries are kept, at least 1s."`
	DoctorEvery        *string  `name:"doctor-every" placeholder:"off" help:"Check the stored data at the start and then this often, at least 1s; the metrics tell what was found."`
	MetricsAddr        *string  `name:"metrics-addr" placeholder:"off" help:"Serve Prometheus metrics on this address."`
	TLSCert            *string  `name:"tls-cert" placeholder:"FILE" help:"Serve HTTPS with this certificate chain, in PEM."`
	TLSKey             *string  `name:"tls-key" placeholder:"FILE" help:"The key of --tls-cert, in PEM."`
	TrustedProxy       []string `name:"trusted-proxy" sep:"none" placeholder:"CIDR,..." help:"Proxies whose X-Forwarded-* headers count. Repeatable."`
	LogFormat          *string  `name:"log-format" placeholder:"text" help:"Format of the log: text or json."`
	LogLevel           *string  `name:"log-level" placeholder:"info" help:"Least level that is logged: debug, info, warn or error."`
}

// given returns the flags that were on the command line, by name.
func (f Store) given() map[string]string {
	return onlyGiven(map[string]*string{
		"config":       f.Config,
		"data":         f.Data,
		"database-url": f.DatabaseURL,
	})
}

// given returns the flags that were on the command line, by name.
func (f Serve) given() map[string]string {
	return onlyGiven(map[string]*string{
		"config":               f.Config,
		"data":                 f.Data,
		"database-url":         f.DatabaseURL,
		"addr":                 f.Addr,
		"redis-url":            f.RedisURL,
		"master-key":           f.MasterKey,
		"public-url":           f.PublicURL,
		"first-run":            f.FirstRun,
		"max-records":          f.MaxRecords,
		"rate-limit":           f.RateLimit,
		"webhook-retry-delays": f.WebhookRetryDelays,
		"webhook-timeout":      f.WebhookTimeout,
		"webhook-allow-cidr":   joined(f.WebhookAllowCIDR),
		"webhook-ca-file":      f.WebhookCAFile,
		"signature-header":     f.SignatureHeader,
		"retention":            f.Retention,
		"doctor-every":         f.DoctorEvery,
		"metrics-addr":         f.MetricsAddr,
		"tls-cert":             f.TLSCert,
		"tls-key":              f.TLSKey,
		"trusted-proxy":        joined(f.TrustedProxy),
		"log-format":           f.LogFormat,
		"log-level":            f.LogLevel,
	})
}

// joined returns the values of a repeatable flag as one, nil when it was not given.
func joined(values []string) *string {
	if len(values) == 0 {
		return nil
	}
	list := strings.Join(values, ",")
	return &list
}

func onlyGiven(flags map[string]*string) map[string]string {
	given := map[string]string{}
	for name, value := range flags {
		if value != nil {
			given[name] = *value
		}
	}
	return given
}
