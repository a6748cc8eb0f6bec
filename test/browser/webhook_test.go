package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/webhook"
)

// receiver starts an endpoint, and returns the flags that let the service reach
// and trust it.
func receiver(t *testing.T) (*sheaftest.Receiver, []string) {
	t.Helper()
	ca, err := sheaftest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	r, err := sheaftest.Receive(ca)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := ca.WriteFile(roots); err != nil {
		t.Fatal(err)
	}
	return r, []string{"--webhook-allow-cidr", "127.0.0.0/8", "--webhook-ca-file", roots, "--webhook-retry-delays", "10ms,10ms,10ms"}
}

// call makes a request of the API with a key.
func (s *service) call(key, method, path string, body any, want int) {
	s.t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, bytes.NewReader(b))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != want {
		s.t.Fatalf("%s %s: %s, want %d", method, path, answer.Status, want)
	}
}

// documents makes some with the API; each is an event.
func (s *service) documents(key, name string, n int) {
	s.t.Helper()
	for i := range n {
		s.call(key, http.MethodPost, "/api/v1/documents", map[string]string{"title": fmt.Sprintf("%s %d", name, i+1)}, http.StatusCreated)
	}
}

// makeKey makes a key with the buttons, and returns it.
func (b *tab) makeKey(name string) string {
	b.t.Helper()
	b.click("=Keys")
	b.arrive("Keys")
	b.click("=New key")
	b.fill("dialog [name=name]", name)
	b.click("dialog [value='documents:write']")
	b.shot("key-form")
	b.click("=Create key")
	b.see("#made-key")
	b.shot("key-made")
	key, _ := ask[string](b, "document.querySelector('#made-key').innerText")
	b.click("=Done")
	b.arrive("Keys")
	b.see("li:has(.tile) strong")
	return key
}

// makeWebhook makes a webhook with the buttons, and returns its secret.
func (b *tab) makeWebhook(name, url string) string {
	b.t.Helper()
	b.click("=Webhooks")
	b.arrive("Webhooks")
	b.picture("webhooks-empty")
	b.click("=New webhook")
	b.fill("dialog [name=name]", name)
	b.fill("dialog [name=url]", url)
	b.click("dialog summary")
	b.fill("dialog [name=headers]", "X-Token: hush-hush")
	b.shot("webhook-form")
	b.click("=Create webhook")
	b.see("#made-secret")
	b.shot("webhook-secret")
	return b.secretOnce()
}

// secretOnce returns the secret that is shown, and goes to where it no longer is.
func (b *tab) secretOnce() string {
	b.t.Helper()
	secret, _ := ask[string](b, "document.querySelector('#made-secret').innerText")
	b.click("=Done")
	b.until("the webhook without its secret",
		"document.querySelector('#webhook h1') && !document.documentElement.outerHTML.includes("+quote(secret)+")")
	return secret
}

// rotate makes a new secret with the buttons. What is sent now is signed with
// either.
func (b *tab) rotate(s *service, key string, r *sheaftest.Receiver, old string) {
	b.t.Helper()
	b.click("=New secret")
	b.see("dialog [name=at-once]")
	b.shot("webhook-rotate")
	b.click("=Create new secret")
	b.see("#made-secret")
	fresh := b.secretOnce()
	if fresh == old || fresh == "" {
		b.t.Fatalf("the new secret is %q", fresh)
	}
	s.documents(key, "Card", 1)
	got := await(b.t, r, func(got sheaftest.Received) bool { return bytes.Contains(got.Body, []byte("Card 1")) })
	for _, secret := range []string{old, fresh} {
		if err := webhook.Verify(secret, got.Header, got.Body); err != nil {
			b.t.Errorf("during the change of secrets: %v", err)
		}
	}
	if webhook.Verify(secretOfNobody, got.Header, got.Body) == nil {
		b.t.Error("it is signed with any secret")
	}
}

const secretOfNobody = "whsec_YW5vdGhlci1zZWNyZXQtd2hpY2gtaXMtbm9ib2R5cy1hdC1hbGwt"

// await returns the first request that is meant, once it has come.
func await(t *testing.T, r *sheaftest.Receiver, meant func(sheaftest.Received) bool) sheaftest.Received {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for n := 1; ; n++ {
		if got := r.Await(ctx, n); len(got) < n {
			t.Fatalf("it is not among the %d requests that came", len(got))
		} else if meant(got[n-1]) {
			return got[n-1]
		}
	}
}

// redeliver sends a delivery that was taken once more, and sees it taken again.
func (b *tab) redeliver(r *sheaftest.Receiver) {
	b.t.Helper()
	b.see("#delivery h1 .badge.good")
	id, _ := ask[string](b, "[...document.querySelectorAll('.headers div')].find((d) => d.querySelector('dt').innerText === 'webhook-id').querySelector('dd').innerText")
	b.click("=Redeliver")
	b.until("the second attempt", "document.querySelectorAll('.attempt .badge.good').length === 2")
	times := 0
	await(b.t, r, func(got sheaftest.Received) bool {
		if got.Header.Get("Webhook-Id") == id {
			times++
		}
		return times == 2
	})
}

// deleteWebhook does so with the buttons.
func (b *tab) deleteWebhook() {
	b.t.Helper()
	b.click("=Webhooks")
	b.arrive("Webhooks")
	b.click(".list a")
	b.see("#webhook h1")
	b.click("=Delete")
	b.see("dialog .danger")
	b.shot("webhook-delete")
	b.click("dialog .danger")
	b.arrive("Webhooks")
	b.read("No webhooks yet")
}

// expires wants one key on the page to end in so long.
func (b *tab) expires(in time.Duration) {
	b.t.Helper()
	title, _ := ask[string](b, "[...document.querySelectorAll('.when span')].find((e) => e.innerText.startsWith('expires ')).querySelector('time').title")
	at, err := time.Parse(exactUTC, title)
	if left := time.Until(at); err != nil || left > in || left < in-time.Hour {
		b.t.Errorf("the key expires at %q, %v", title, err)
	}
}

// badge waits until the webhook's own badge says so.
func (b *tab) badge(text string) {
	b.t.Helper()
	b.until("the badge "+text, "[...document.querySelectorAll('#webhook h1 .badge')].some((e) => e.innerText === "+quote(text)+")")
}

// narrow lets the webhook hear of the first document of that name alone, and then of everything again.
func (b *tab) narrow(document string) {
	b.t.Helper()
	b.follow("=Add a filter", ".narrowing [name=q]")
	b.fill(".narrowing [name=q]", document)
	b.click("=Find")
	b.see("[name=add]")
	b.shot("webhook-filter")
	b.click("[name=add]")
	b.see("[name=remove]")
	b.click("[name=remove]")
	b.read("This webhook gets all events.")
	b.follow(".crumbs li:last-child a", "#webhook h1 .badge")
	b.badge("active")
}

// pauseAndReactivate does so without sending what was held, and sends it after.
func (b *tab) pauseAndReactivate(s *service, key string) {
	b.t.Helper()
	b.click("=Pause")
	b.see("dialog .primary")
	b.shot("webhook-pause")
	b.click("dialog .primary")
	b.badge("paused")
	s.documents(key, "Note", 2)
	b.badge("2 held")
	b.click("=Reactivate")
	b.click("dialog [name=held]")
	b.click("dialog .primary")
	b.badge("active")
	b.see("=Send the 2 held deliveries")
	b.shot("webhook-held")
	b.click("=Send the 2 held deliveries")
	b.gone("=Send the 2 held deliveries")
	b.gone("#webhook h1 .badge.warn")
}

// lookAtActivity follows the feed, finds one thing in it, and sees in the charts
// what happened so far.
func (b *tab) lookAtActivity(s *service, key string) {
	b.t.Helper()
	b.click("=Activity")
	b.arrive("Activity")
	b.read("created the document “Letter 3”")
	before := b.heading()
	s.documents(key, "Postcard", 1)
	b.read("created the document “Postcard 1”")
	if after := b.heading(); after != before {
		b.t.Errorf("what is new moves the heading from %v to %v", before, after)
	}
	b.until("the charts", "['good', 'warn', 'bad', 'accent'].every((c) => document.querySelector('.chart rect.' + c))")
	b.shot("activity")
	b.click("=Audit log")
	b.arrive("Audit log")
	b.read("An API key was created")
	b.click(".feed summary")
	b.shot("audit")
	b.click("=Activity")
	b.arrive("Activity")
	b.click("=Last day")
	b.until("the day", "document.querySelector('.filters [aria-current]').innerText === 'Last day'")
	b.click("=Only this: Letter 2")
	b.until("the feed of one document", "document.querySelectorAll('.feed li').length === 1")
	b.click(".feed a")
	b.read("Its deliveries")
	b.see("a[href*='/deliveries/']")
	b.shot("event")
}

// delivered is how many rows of the log say that their delivery was taken.
const delivered = "[...document.querySelectorAll('.log .badge')].filter((e) => e.innerText === 'delivered').length"

// resend repairs the endpoint, and sends the four deliveries that failed again: one by the button of its row, the others by one for all.
func (b *tab) resend(r *sheaftest.Receiver) {
	b.t.Helper()
	r.Always(http.StatusOK, "")
	b.see(".log form button")
	one, _ := ask[string](b, "document.querySelector('.log form').getAttribute('action')")
	b.clickAway(".log form[action=" + quote(one) + "] button") // of that row alone, however late its end is shown
	b.until("one delivery", delivered+" === 1")
	b.read("3 deliveries failed since")
	b.clickAway("=Resend all failed since then")
	b.until("the others", delivered+" === 4")
	b.badge("active")
}

// troubled looks whether a webhook that was deactivated is seen from elsewhere: on every tab, and on the first page.
func (b *tab) troubled(webhook string) {
	b.t.Helper()
	b.click("=Keys")
	b.arrive("Keys")
	b.until("the badge", "document.querySelector('.tabs a[href$=\"/webhooks\"] .badge.bad')?.innerText.startsWith('1')")
	b.open("/")
	b.arrive("My workspace")
	b.read("1 webhook cannot reach its endpoint.")
	b.shot("overview-troubled")
	b.follow("=View it", ".list .badge.bad")
	b.open(webhook)
	b.badge("deactivated")
}

func TestConsole_AWebhookFailsAndIsRepaired(t *testing.T) {
	t.Parallel()
	r, flags := receiver(t)
	s := startService(t, flags...)
	b := setUp(t, s)
	key := b.makeKey("n8n")
	secret := b.makeWebhook("n8n", r.URL)
	b.picture("webhook-new")

	// Ten deliveries fail, each four times, and the page shows it by itself.
	r.Always(http.StatusInternalServerError, `{"error":"the database is full"}`)
	s.documents(key, "Draft", 4)
	b.badge("failing 4 of 10")
	b.picture("webhook-failing")
	b.resend(r)
	r.Always(http.StatusInternalServerError, `{"error":"the database is full"}`)
	s.documents(key, "Report", sheaf.MaxFailures)
	b.badge("deactivated")
	s.documents(key, "Letter", 3)
	b.badge("3 held")
	// What comes by itself moves what is below it: the picture is of a page that was just opened.
	here, _ := ask[string](b, "location.href")
	b.open(here)
	b.badge("3 held")
	b.shot("webhook-deactivated")
	b.troubled(here)
	b.click("=failed")
	b.until("the filter", "document.querySelectorAll('.log li').length === 10")
	b.follow(".log a", "#delivery .attempt")
	b.read("Attempt 4")
	b.shot("delivery")
	b.click(".tabs a[href$='/webhooks']")
	b.arrive("Webhooks")
	b.read("3 held")
	b.shot("webhooks")

	// Repair it, try it, and send what was held. While the endpoint thinks, the
	// page says so.
	thought := make(chan struct{})
	r.Answer(func(sheaftest.Received) sheaftest.Reply {
		<-thought
		return sheaftest.Reply{Status: http.StatusOK, Body: `{"thanks":true}`}
	})
	b.click(".list a")
	b.badge("deactivated")
	b.click("=Send a test")
	b.see("button[aria-busy=true]")
	b.read("Working…")
	close(thought)
	b.read("The endpoint accepted it: 200")
	b.gone("button[aria-busy=true]")
	b.shot("webhook-test")
	b.click("dialog .primary")
	b.click("=Reactivate")
	b.read("10 failed deliveries, since it began to fail")
	b.read("and 3 held deliveries")
	b.shot("webhook-reactivate")
	b.click("dialog .primary")
	b.badge("active")
	b.until("the missed ones to arrive", "[...document.querySelectorAll('.log .badge')].filter((e) => e.innerText === 'delivered').length >= 13")
	b.gone("#webhook h1 .badge.warn")
	b.shot("webhook")
	b.narrow("Letter")
	b.rotate(s, key, r, secret)
	b.pauseAndReactivate(s, key)
	b.follow(".log a", "#delivery .attempt")
	b.picture("delivery-delivered")
	b.redeliver(r)
	b.lookAtActivity(s, key)
	b.deleteWebhook()
	b.click("=Keys")
	b.arrive("Keys")
	b.expires(90 * 24 * time.Hour)
	b.shot("keys")
	b.click("=Rotate n8n")
	b.see("dialog select[name=grace]")
	b.shot("key-rotate")
	b.click("dialog .primary")
	b.read("The old one ends in")
	b.click("=Done")
	b.arrive("Keys")
	b.read("old secret ends")
	b.click("=Revoke n8n")
	b.see("dialog .danger")
	b.shot("key-revoke")
	b.click("dialog .danger")
	b.arrive("Keys")
	b.gone("=Revoke n8n")
	s.call(key, http.MethodGet, "/api/v1/me", nil, http.StatusUnauthorized)
}
