package webhook

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	testSecret = "whsec_dGhlLW9uZS1hbmQtb25seS1zZWNyZXQtb2YtdGhpcy10ZXN0"
	oldSecret  = "whsec_dGhlLW9sZC1zZWNyZXQtdGhhdC1pcy1nb2luZy1hd2F5LWF0LW5vb24h"
	testBody   = `{"id":"evt_1","type":"project.created"}`
)

var testTime = time.Unix(1700000000, 0)

func at(now time.Time) Option { return WithClock(func() time.Time { return now }) }

// service returns a request's headers signed by the first scheme.
func service(secrets ...string) http.Header {
	t := strconv.FormatInt(testTime.Unix(), 10)
	value := "t=" + t
	for _, s := range secrets {
		value += ",v1=" + hex.EncodeToString(sign([]byte(s), t, []byte(testBody)))
	}
	return http.Header{"X-Service-Signature": {value}}
}

// standard returns headers signed by Standard Webhooks.
func standard(secrets ...string) http.Header {
	t := strconv.FormatInt(testTime.Unix(), 10)
	var sigs []string
	for _, s := range secrets {
		key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(s, secretPrefix))
		sigs = append(sigs, "v1,"+base64.StdEncoding.EncodeToString(sign(key, "evt_1."+t, []byte(testBody))))
	}
	return http.Header{"Webhook-Id": {"evt_1"}, "Webhook-Timestamp": {t}, "Webhook-Signature": {strings.Join(sigs, " ")}}
}

// with returns h with other values; an empty one removes the header.
func with(h http.Header, pairs ...string) http.Header {
	h = h.Clone()
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
		if pairs[i+1] == "" {
			h.Del(pairs[i])
		}
	}
	return h
}

func merge(a, b http.Header) http.Header {
	a = a.Clone()
	for name, v := range b {
		a[name] = v
	}
	return a
}

// The signatures here were made with openssl, not with this package.
func TestVerify_KnownAnswers(t *testing.T) {
	t.Parallel()
	tests := map[string]http.Header{
		"service": {"X-Service-Signature": {"t=1700000000,v1=32c99163f1c7aa2c8d3741e108eb3f89595c7a330969dec7fc3ae7397e07a4ad"}},
		"standard": {
			"Webhook-Id": {"evt_1"}, "Webhook-Timestamp": {"1700000000"},
			"Webhook-Signature": {"v1,3c/ikVDbncK3DPJIsn7dgQfU38R6/sCXrO72pK05r0s="},
		},
	}
	for name, h := range tests {
		if err := Verify(testSecret, h, []byte(testBody), at(testTime)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVerify_Headers(t *testing.T) {
	t.Parallel()
	svc, std := service(testSecret), standard(testSecret)
	sig := svc.Get(DefaultHeader)
	v1 := sig[strings.Index(sig, "v1="):]
	zeros := "v1=" + strings.Repeat("00", 32)
	tests := []struct {
		name string
		h    http.Header
		want error
	}{
		{"service", svc, nil},
		{"standard", std, nil},
		{"both", merge(svc, std), nil},
		{"nothing", http.Header{}, ErrNoSignature},
		{"nil", nil, ErrNoSignature},
		{"empty service header", http.Header{"X-Service-Signature": {""}}, ErrNoSignature},

		{"service, another secret", service(oldSecret), ErrMismatch},
		{"service, second of two", service(oldSecret, testSecret), nil},
		{"service, first of two", service(testSecret, oldSecret), nil},
		{"service, upper case", with(svc, DefaultHeader, "t=1700000000,v1="+strings.ToUpper(v1[3:])), nil},
		{"service, v1 first", with(svc, DefaultHeader, v1+",t=1700000000"), nil},
		{"service, an unknown item", with(svc, DefaultHeader, sig+",v2=x,v0"), nil},
		{"service, garbage v1 beside", with(svc, DefaultHeader, "t=1700000000,v1=zz,v1=,"+v1), nil},
		{"service, only garbage v1", with(svc, DefaultHeader, "t=1700000000,v1=zz"), ErrMismatch},
		{"service, empty v1", with(svc, DefaultHeader, "t=1700000000,v1="), ErrMismatch},
		{"service, zeros", with(svc, DefaultHeader, "t=1700000000,"+zeros), ErrMismatch},
		{"service, truncated", with(svc, DefaultHeader, sig[:len(sig)-2]), ErrMismatch},
		{"service, another time", with(svc, DefaultHeader, "t=1700000001,"+v1), ErrMismatch},
		{"service, same time in another form", with(svc, DefaultHeader, "t=01700000000,"+v1), ErrMismatch},
		{"service, no v1", with(svc, DefaultHeader, "t=1700000000"), ErrMalformed},
		{"service, v0 only", with(svc, DefaultHeader, "t=1700000000,"+strings.Replace(v1, "v1", "v0", 1)), ErrMalformed},
		{"service, no time", with(svc, DefaultHeader, v1), ErrMalformed},
		{"service, empty time", with(svc, DefaultHeader, "t=,"+v1), ErrMalformed},
		{"service, two times", with(svc, DefaultHeader, "t=1,"+sig), ErrMalformed},
		{"service, signed time", with(svc, DefaultHeader, "t=+1700000000,"+v1), ErrMalformed},
		{"service, negative time", with(svc, DefaultHeader, "t=-1,"+v1), ErrMalformed},
		{"service, spaces", with(svc, DefaultHeader, "t= 1700000000,"+v1), ErrMalformed},
		{"service, garbage", with(svc, DefaultHeader, "garbage"), ErrMalformed},

		{"standard, another secret", standard(oldSecret), ErrMismatch},
		{"standard, second of two", standard(oldSecret, testSecret), nil},
		{"standard, other versions beside", with(std, HeaderSignature, "v1a,xyz "+std.Get(HeaderSignature)+" v2,abc"), nil},
		{"standard, garbage beside", with(std, HeaderSignature, "v1,*** v1, "+std.Get(HeaderSignature)), nil},
		{"standard, another id", with(std, HeaderID, "evt_2"), ErrMismatch},
		{"standard, another time", with(std, HeaderTimestamp, "1700000001"), ErrMismatch},
		{"standard, no id", with(std, HeaderID, ""), ErrMalformed},
		{"standard, no time", with(std, HeaderTimestamp, ""), ErrMalformed},
		{"standard, bad time", with(std, HeaderTimestamp, "17e8"), ErrMalformed},
		{"standard, no signature", with(std, HeaderSignature, ""), ErrMalformed},
		{"standard, other versions only", with(std, HeaderSignature, "v1a,xyz"), ErrMalformed},

		// Standard Webhooks decides alone as soon as one of its headers is there.
		{"both, standard forged", merge(svc, standard(oldSecret)), ErrMismatch},
		{"both, service forged", merge(service(oldSecret), std), nil},
		{"both, id exchanged", with(merge(svc, std), HeaderID, "evt_2"), ErrMismatch},
		{"service and a bare id", with(svc, HeaderID, "evt_2"), ErrMalformed},
		{"service and a bare time", with(svc, HeaderTimestamp, "1700000000"), ErrMalformed},
		{"service and a bare signature", with(svc, HeaderSignature, "v1,AAAA"), ErrMalformed},
		{"service and an empty id", merge(svc, http.Header{"Webhook-Id": {""}}), ErrMalformed},
	}
	for _, tt := range tests {
		if err := Verify(testSecret, tt.h, []byte(testBody), at(testTime)); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

func TestVerify_AnAlteredBodyIsRefused(t *testing.T) {
	t.Parallel()
	for _, h := range []http.Header{service(testSecret), standard(testSecret)} {
		for _, body := range []string{"", testBody + " ", strings.ToUpper(testBody), "." + testBody} {
			if err := Verify(testSecret, h, []byte(body), at(testTime)); !errors.Is(err, ErrMismatch) {
				t.Errorf("body %q: %v, want ErrMismatch", body, err)
			}
		}
	}
}

func TestVerify_Tolerance(t *testing.T) {
	t.Parallel()
	tests := []struct {
		age  time.Duration
		opts []Option
		want error
	}{
		{0, nil, nil},
		{300 * time.Second, nil, nil},
		{-300 * time.Second, nil, nil},
		{301 * time.Second, nil, ErrTimestamp},
		{-301 * time.Second, nil, ErrTimestamp},
		{100 * 365 * 24 * time.Hour, nil, ErrTimestamp},
		{11 * time.Second, []Option{WithTolerance(10 * time.Second)}, ErrTimestamp},
		{time.Hour, []Option{WithTolerance(time.Hour)}, nil},
		{300 * time.Second, []Option{WithTolerance(0)}, nil},
		{301 * time.Second, []Option{WithTolerance(-1)}, ErrTimestamp},
	}
	for _, tt := range tests {
		for _, h := range []http.Header{service(testSecret), standard(testSecret)} {
			err := Verify(testSecret, h, []byte(testBody), append(tt.opts, at(testTime.Add(tt.age)))...)
			if !errors.Is(err, tt.want) {
				t.Errorf("age %v: %v, want %v", tt.age, err, tt.want)
			}
		}
	}
}

// A stale signature that is forged as well is a forgery first.
func TestVerify_TimeIsJudgedOnlyWhenGenuine(t *testing.T) {
	t.Parallel()
	err := Verify(testSecret, service(oldSecret), []byte(testBody), at(testTime.Add(time.Hour)))
	if !errors.Is(err, ErrMismatch) {
		t.Errorf("%v, want ErrMismatch", err)
	}
}

func TestVerify_TimesBeyondAnyClock(t *testing.T) {
	t.Parallel()
	for _, stamp := range []string{"0", "9223372036854775807", "9223372036854775808", strings.Repeat("9", 400)} {
		sig := hex.EncodeToString(sign([]byte(testSecret), stamp, []byte(testBody)))
		h := http.Header{"X-Service-Signature": {"t=" + stamp + ",v1=" + sig}}
		if err := Verify(testSecret, h, []byte(testBody), at(testTime)); !errors.Is(err, ErrTimestamp) {
			t.Errorf("t=%.20s: %v, want ErrTimestamp", stamp, err)
		}
	}
}

func TestVerify_Secrets(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		secret string
		more   []string
		h      http.Header
		want   error
	}{
		{"empty", "", nil, service(""), ErrSecret},
		{"prefix alone", "whsec_", nil, service("whsec_"), ErrSecret},
		{"blank", " \n", nil, service(""), ErrSecret},
		{"empty among others", testSecret, []string{""}, service(testSecret), ErrSecret},
		{"from a file with a line end", testSecret + "\n", nil, service(testSecret), nil},
		{"one of several", "whsec_b3RoZXI=", []string{testSecret}, service(testSecret), nil},
		{"one of several, standard", "whsec_b3RoZXI=", []string{testSecret}, standard(testSecret), nil},
		{"none of several", "whsec_b3RoZXI=", []string{"whsec_c3RyYW5nZXI="}, service(testSecret), ErrMismatch},
		{"not base64", "whsec_***", nil, standard(testSecret), ErrSecret},
		{"not base64, first scheme", "plain text", nil, service("plain text"), nil},
	}
	for _, tt := range tests {
		err := Verify(tt.secret, tt.h, []byte(testBody), at(testTime), WithSecrets(tt.more...))
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

func TestVerify_AnotherHeaderName(t *testing.T) {
	t.Parallel()
	h := http.Header{"X-Acme-Signature": service(testSecret)["X-Service-Signature"]}
	if err := Verify(testSecret, h, []byte(testBody), at(testTime), WithHeader("x-acme-signature")); err != nil {
		t.Error(err)
	}
	if err := Verify(testSecret, h, []byte(testBody), at(testTime)); !errors.Is(err, ErrNoSignature) {
		t.Errorf("%v, want ErrNoSignature", err)
	}
}

func TestVerify_DefaultClock(t *testing.T) {
	t.Parallel()
	if err := Verify(testSecret, service(testSecret), []byte(testBody)); !errors.Is(err, ErrTimestamp) {
		t.Errorf("a signature of 2023: %v, want ErrTimestamp", err)
	}
}

// FuzzHeader reads arbitrary headers: nothing panics, what is read is of the
// promised form, and nobody gets through without the secret.
func FuzzHeader(f *testing.F) {
	f.Add("t=1700000000,v1=00ff", "evt_1", "1700000000", "v1,AAAA v1a,xyz")
	f.Add("t=,v1=,=,,t=t", "", "", "v1, v1 ,v1")
	f.Add(service(testSecret).Get(DefaultHeader), "", "", "")
	f.Fuzz(func(t *testing.T, own, id, ts, sig string) {
		if stamp, _, err := parseService(own); err == nil && !isDecimal(stamp) {
			t.Fatalf("parseService(%q) read the time %q", own, stamp)
		} else if err != nil && !errors.Is(err, ErrMalformed) {
			t.Fatal(err)
		}
		if _, err := parseStandard(sig); err != nil && !errors.Is(err, ErrMalformed) {
			t.Fatal(err)
		}
		for _, h := range []http.Header{
			{"X-Service-Signature": {own}},
			{"Webhook-Id": {id}, "Webhook-Timestamp": {ts}, "Webhook-Signature": {sig}},
		} {
			if Verify(oldSecret, h, []byte(testBody), at(testTime)) == nil {
				t.Fatalf("accepted %v", h)
			}
		}
	})
}
