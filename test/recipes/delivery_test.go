// Package recipes runs the recipes of docs/recipes: the receivers get genuine and false deliveries, Node-RED runs its
// flow, Zapier's core its definition, and n8n's expressions are evaluated. With the build tag clients n8n itself runs its
// workflows: see `make clients`.
package recipes

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// delivery is one POST to an endpoint, as it is sent.
type delivery struct {
	header http.Header
	body   []byte
}

// secret is the receivers' own; other is not.
const (
	secret = "whsec_dGhlLW9uZS1hbmQtb25seS1zZWNyZXQtb2YtdGhlLXJlY2lwZXMtYWJj"
	other  = "whsec_YW5vdGhlci1zZWNyZXQtd2hpY2gtaXMtbm90LXRoZS1yZWNlaXZlcnMt"
	// trialID is the event's: all trials are the same one.
	trialID = "evt_01a1ddaf-e2dc-78cf-92eb-5546519a5696"
	event   = `{"id":"` + trialID + `","type":"project.created","timestamp":"2026-11-15T05:30:54.043Z",` +
		`"user_id":"01a1ddaf-e222-7e20-9ba3-ce5b1c063253","workspace_id":null,"resource_type":"project",` +
		`"resource_id":"01a1ddaf-e289-7866-8c99-5e7007eaccda","payload":{"name":"Übersicht <1>"}}`
)

// sign returns the event as the service would send it at that time, with a signature for each secret. It is written
// from docs/webhooks.md, not from the program.
func sign(at time.Time, secrets ...string) delivery {
	id, t := trialID, fmt.Sprint(at.Unix())
	service, standard := "t="+t, []string{}
	for _, s := range secrets {
		service += ",v1=" + hex.EncodeToString(mac([]byte(s), t+"."+event))
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s, "whsec_"))
		if err != nil {
			panic(err)
		}
		standard = append(standard, "v1,"+base64.StdEncoding.EncodeToString(mac(key, id+"."+t+"."+event)))
	}
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("X-Service-Signature", service)
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", t)
	h.Set("webhook-signature", strings.Join(standard, " "))
	return delivery{h, []byte(event)}
}

func mac(key []byte, text string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text))
	return m.Sum(nil)
}

// A trial is a delivery and whether a receiver should take it.
type trial struct {
	name string
	sent delivery
	good bool
}

// trials are what every receiver is sent that has this secret.
func trials(secret string) []trial {
	now := time.Now()
	genuine := sign(now, secret)
	altered := delivery{genuine.header, bytes.Replace(genuine.body, []byte("<1>"), []byte("<2>"), 1)}
	unsigned := delivery{http.Header{"Content-Type": {"application/json"}}, genuine.body}
	return []trial{
		{"genuine", genuine, true},
		{"genuine, in the middle of a rotation", sign(now, other, secret), true},
		{"genuine, two minutes old", sign(now.Add(-2*time.Minute), secret), true}, // of five: a busy machine is slow to look at it
		{"altered", altered, false},
		{"signed with another secret", sign(now, other), false},
		{"ten minutes old", sign(now.Add(-10*time.Minute), secret), false},
		{ahead, sign(now.Add(10*time.Minute), secret), false},
		{"unsigned", unsigned, false},
	}
}

// ahead is the trial that Stripe's libraries let pass: they look at the past alone.
const ahead = "ten minutes ahead"

// try sends the trials to a receiver and compares what it answers.
func try(t *testing.T, client *http.Client, url, secret string, except ...string) {
	t.Helper()
	for _, c := range trials(secret) {
		if slices.Contains(except, c.name) {
			continue
		}
		status := post(t, client, url, c.sent)
		if c.good != (status/100 == 2) || !c.good && status/100 != 4 {
			t.Errorf("a delivery that is %s is answered with %d", c.name, status)
		}
	}
}

func post(t *testing.T, client *http.Client, url string, d delivery) (status int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(d.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header, r.Close = d.header, true
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}
