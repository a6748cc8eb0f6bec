package clients

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"
	"time"
)

// A trial is a request to a receiver, with the name of its fault; empty if the request is genuine.
type trial struct {
	name, body, secret string
	headers            map[string]string
	want               string
	exact              bool // it is right for a clock that stands still
}

const (
	otherSecret = "whsec_YW5vdGhlci1zZWNyZXQtd2hpY2gtaXMtbm90LXRoZS1yZWNlaXZlcnMt"
	trialBody   = `{"id":"evt_01a1ddaf-e2dc-78cf-92eb-5546519a5696","type":"project.created","timestamp":"2026-11-15T05:30:54.043Z",` +
		`"user_id":"01a1ddaf-e222-7e20-9ba3-ce5b1c063253","workspace_id":null,"resource_type":"project",` +
		`"resource_id":"01a1ddaf-e289-7866-8c99-5e7007eaccda","payload":{"name":"Übersicht <1>"}}`
	trialID = "evt_01a1ddaf-e2dc-78cf-92eb-5546519a5696"
)

// signed are the headers of a delivery, with a signature for each secret. They are made as docs/webhooks.md says, and not
// by the program.
func signed(at time.Time, secrets ...string) map[string]string {
	t := fmt.Sprint(at.Unix())
	service, standard := "t="+t, []string{}
	for _, s := range secrets {
		service += ",v1=" + hex.EncodeToString(mac([]byte(s), t+"."+trialBody))
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s, "whsec_"))
		if err != nil {
			panic(err) // the secrets of a test are well-formed
		}
		standard = append(standard, "v1,"+base64.StdEncoding.EncodeToString(mac(key, trialID+"."+t+"."+trialBody)))
	}
	return map[string]string{"X-Service-Signature": service, "webhook-id": trialID, "webhook-timestamp": t,
		"webhook-signature": strings.Join(standard, " ")}
}

func mac(key []byte, text string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text))
	return m.Sum(nil)
}

// service and standard keep the headers of one scheme alone.
func service(h map[string]string) map[string]string {
	return map[string]string{"X-Service-Signature": h["X-Service-Signature"]}
}

func standard(h map[string]string) map[string]string { return without(h, "X-Service-Signature") }

func without(h map[string]string, name string) map[string]string {
	out := maps.Clone(h)
	delete(out, name)
	return out
}

func with(h map[string]string, name, value string) map[string]string {
	out := maps.Clone(h)
	out[name] = value
	return out
}

// trials are the requests that all receivers with this secret must judge in the same way at that time.
func trials(secret string, now time.Time) []trial {
	genuine, late := signed(now, secret), func(d time.Duration) map[string]string { return signed(now.Add(-d), secret) }
	altered := strings.Replace(trialBody, "<1>", "<2>", 1)
	of := func(name string, headers map[string]string, want string) trial {
		return trial{name: name, headers: headers, body: trialBody, secret: secret, want: want}
	}
	in := func(t trial, body string) trial { t.body = body; return t }
	exactly := func(t trial) trial { t.exact = true; return t }
	under := func(t trial, secret string) trial { t.secret = secret; return t }
	return []trial{
		of("both schemes", genuine, ""),
		of("the service's scheme", service(genuine), ""),
		of("Standard Webhooks", standard(genuine), ""),
		of("the service's scheme in the middle of a rotation", service(signed(now, otherSecret, secret)), ""),
		of("Standard Webhooks in the middle of a rotation", standard(signed(now, otherSecret, secret)), ""),
		in(of("the service's scheme, altered", service(genuine), "Mismatch"), altered),
		in(of("Standard Webhooks, altered", standard(genuine), "Mismatch"), altered),
		of("signed with another secret", signed(now, otherSecret), "Mismatch"),
		of("Standard Webhooks with another id", with(standard(genuine), "webhook-id", "evt_2"), "Mismatch"),
		of("Standard Webhooks with another time", with(standard(genuine), "webhook-timestamp", fmt.Sprint(now.Unix()+1)), "Mismatch"),
		of("a forged id beside a good signature of the service's scheme", with(genuine, "webhook-id", "evt_2"), "Mismatch"),
		of("no base64, beside a good signature of the service's scheme", with(genuine, "webhook-signature", "v1,###"), "Mismatch"),
		of("no hexadecimal", map[string]string{"X-Service-Signature": fmt.Sprintf("t=%d,v1=zz", now.Unix())}, "Mismatch"),
		exactly(of("the service's scheme, 300 seconds old", service(late(300*time.Second)), "")),
		exactly(of("the service's scheme, 301 seconds old", service(late(301*time.Second)), "Stale")),
		exactly(of("Standard Webhooks, 301 seconds old", standard(late(301*time.Second)), "Stale")),
		exactly(of("Standard Webhooks, 301 seconds ahead", standard(late(-301*time.Second)), "Stale")),
		of("the service's scheme, an hour old", service(late(time.Hour)), "Stale"),
		of("Standard Webhooks, an hour old", standard(late(time.Hour)), "Stale"),
		of("the service's scheme, an hour ahead", service(late(-time.Hour)), "Stale"),
		of("Standard Webhooks, an hour ahead", standard(late(-time.Hour)), "Stale"),
		of("unsigned", map[string]string{}, "NotSigned"),
		of("without a time", map[string]string{"X-Service-Signature": "v1=ab"}, "Malformed"),
		of("with two times", with(service(genuine), "X-Service-Signature", "t=1,"+genuine["X-Service-Signature"]), "Malformed"),
		of("with a time that is none", map[string]string{"X-Service-Signature": "t=１,v1=ab"}, "Malformed"),
		of("Standard Webhooks without a time", without(standard(genuine), "webhook-timestamp"), "Malformed"),
		of("Standard Webhooks without an id", without(genuine, "webhook-id"), "Malformed"),
		of("Standard Webhooks of another version", with(genuine, "webhook-signature", "v2,abcd"), "Malformed"),
		under(of("with an empty secret", genuine, "BadSecret"), "whsec_"),
		under(of("with a secret that is no base64", genuine, "BadSecret"), "whsec_###"),
	}
}
