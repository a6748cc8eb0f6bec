package config

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
)

// keyPair writes a certificate and its key, and returns their paths.
func keyPair(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	certDER, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	encode := func(kind string, der []byte) string {
		return write(t, kind, string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
	}
	return encode("CERTIFICATE", certDER), encode("PRIVATE KEY", keyDER)
}

func TestValues_RightAndWrong(t *testing.T) {
	cert, key := keyPair(t)
	broken := write(t, "broken", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
	for name, values := range map[string]struct{ right, wrong []string }{
		"addr": {
			[]string{":0", "[::1]:8080", "sheaf.internal:80", "0.0.0.0:65535"},
			[]string{"", "8080", "::1:80", "h:http", "h:-1", "h:65536", "h:", "h:1:2"},
		},
		"metrics-addr": {[]string{"", "off", ":9090"}, []string{"on", "9090"}},
		"data":         {[]string{"./x", "/x"}, []string{"", cert}},
		"public-url": {
			[]string{"", "https://h", "http://h:80/base/", "https://[::1]/"},
			[]string{"h", "/x", "ftp://h", "https://", "https:h", "https://:80", "https://h?", "https://h#", "https://h/?q", "https://u:p@h", "://"},
		},
		"first-run": {[]string{"print", "file", "none"}, []string{"", "Print", "print,file"}},
		"rate-limit": {
			[]string{"pro=0", "business=1", "business=1, pro=2", "pro=2147483647"},
			[]string{"", "100", "pro", "pro=", "pro=-1", "pro=1.5", "free=1", "pro=1,pro=2", "pro=1,", "pro=9999999999"},
		},
		"max-records": {
			[]string{"free=0", "business=1", "business=1, pro=2,free=3", "pro=2147483647"},
			[]string{"", "100", "pro", "pro=", "pro=-1", "gold=1", "pro=1,pro=2", "pro=9999999999"},
		},
		"quota": {
			[]string{"pro=0", "business=1", "business=1TB, pro=20MB", "pro=9223372036854775807"},
			[]string{"", "10GB", "pro", "pro=", "pro=-1", "pro=1.5GB", "pro=GB", "pro=1gb", "free=1", "pro=1,pro=2", "pro=8388608TB", "pro=9223372036854775808"},
		},
		"webhook-retry-delays": {
			[]string{"1ms,1ms,1ms", "1s, 10s, 60s"},
			[]string{"", "1s", "1s,2s", "1s,2s,3s,4s", "1s,2s,", "-1s,1s,1s", "1,2,3"},
		},
		"webhook-timeout":    {[]string{"1ms", "5m"}, []string{"", "0", "10", "999us", "5m1ms", "-1s"}},
		"retention":          {[]string{"1s", "87600h", "30d"}, []string{"", "0", "999ms", "1w", "d", "-1d", "-1h"}},
		"trash-retention":    {[]string{"0", "1s", "87600h", "30d"}, []string{"", "999ms", "1w", "d", "-1d", "-1h"}},
		"version-retention":  {[]string{"1s", "87600h", "30d"}, []string{"", "0", "999ms", "1w", "d", "-1d", "-1h"}},
		"audit-retention":    {[]string{"1s", "87600h", "30d"}, []string{"", "0", "999ms", "1w", "d", "-1d", "-1h"}},
		"proposal-retention": {[]string{"1s", "87600h", "30d"}, []string{"", "0", "999ms", "1w", "d", "-1d", "-1h"}},
		"doctor-every":       {[]string{"", "off", "1s", "24h"}, []string{"0", "999ms", "daily", "-1h"}},
		"webhook-allow-cidr": {[]string{"", "0.0.0.0/0", "::/0", "::1", "10.0.0.1, 10.0.0.2"}, []string{"x", "10.0.0.0/33", "fe80::1%eth0", "10.0.0.0-10.0.0.9"}},
		"webhook-ca-file":    {[]string{"", cert}, []string{key, broken, t.TempDir(), "/nonexistent"}},
		"signature-header": {
			[]string{"X-Service-Signature", "x", "Sheaf_Signature!"},
			[]string{"", "X:", "X Y", "Ünicode", "Host", "content-type", "Webhook-Id", "X\r\nY", strings.Repeat("x", 101)},
		},
		"log-format": {[]string{"text", "json"}, []string{"", "JSON"}},
		"log-level":  {[]string{"debug", "info", "warn", "error"}, []string{"", "INFO", "trace", "info+1"}},
	} {
		for _, value := range values.right {
			if _, err := parse(t, "--"+name+"="+value).Load(environment()); err != nil {
				t.Errorf("--%s=%q: %v", name, value, err)
			}
		}
		for _, value := range values.wrong {
			_, err := parse(t, "--"+name+"="+value).Load(environment())
			if got := problemsOf(t, err); len(got) == 0 || !strings.HasPrefix(got[0], "--"+name+": ") {
				t.Errorf("--%s=%q: got %q, want a problem that names the flag", name, value, got)
			}
		}
	}
}

func TestMasterKey_EveryAlphabetOfBase64(t *testing.T) {
	want := bytes.Repeat([]byte{0xfb, 0xff}, 16)
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		got, err := parseMasterKey(encoding.EncodeToString(want))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v", encoding.EncodeToString(want), err)
		}
		for _, size := range []int{1, 31, 33, 64} {
			if _, err := parseMasterKey(encoding.EncodeToString(make([]byte, size))); err == nil {
				t.Errorf("%d bytes are accepted", size)
			}
		}
	}
}

func TestMasterKey_AMistypedLastCharacterIsNoticed(t *testing.T) {
	key := strings.Repeat("A", 43)
	if _, err := parseMasterKey(key); err != nil {
		t.Fatal(err)
	}
	if _, err := parseMasterKey(key[:42] + "B"); err == nil {
		t.Error("bits that belong to no byte are accepted")
	}
}

func TestPublicURL_LosesItsTrailingSlash(t *testing.T) {
	for given, want := range map[string]string{
		"https://h/": "https://h", "https://h/a/": "https://h/a", "https://h/a%2Fb/": "https://h/a%2Fb", "https://h": "https://h",
	} {
		u, err := parsePublicURL(given)
		if err != nil || u.String() != want {
			t.Errorf("%s: got %v, %v", given, u, err)
		}
	}
}

func TestRateLimit_PlansNotNamedKeepTheirDefault(t *testing.T) {
	settings, err := parse(t, "--rate-limit", "business=0").Load(environment())
	if err != nil || settings.RateLimit != (RateLimit{Pro: 100, Business: 0}) {
		t.Errorf("got %v, %v", settings.RateLimit, err)
	}
	if got := described(t, settings, "rate-limit").Value; got != "pro=100,business=0" {
		t.Errorf("shown as %q", got)
	}
}

func TestWebhookCAFile_IsRead(t *testing.T) {
	cert, _ := keyPair(t)
	settings, err := parse(t, "--webhook-ca-file", cert).Load(environment())
	if err != nil || settings.WebhookCAFile != cert || len(settings.WebhookCAs) != 1 {
		t.Errorf("got %q with %d certificates, %v", settings.WebhookCAFile, len(settings.WebhookCAs), err)
	}
}

func TestTLS_CertificateAndKeyMustFit(t *testing.T) {
	cert, key := keyPair(t)
	_, otherKey := keyPair(t)
	if _, err := parse(t, "--tls-cert", cert, "--tls-key", key).Load(environment()); err != nil {
		t.Error(err)
	}
	for _, args := range [][]string{
		{"--tls-cert", cert}, {"--tls-key", key}, {"--tls-cert", cert, "--tls-key", otherKey},
		{"--tls-cert", key, "--tls-key", cert}, {"--tls-cert", cert, "--tls-key", "/nonexistent"},
	} {
		_, err := parse(t, args...).Load(environment())
		if got := problemsOf(t, err); len(got) != 1 || !strings.HasPrefix(got[0], "--tls-") {
			t.Errorf("%q: got %q", args, got)
		}
	}
}
