package door_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// D50: the ways to send a key, and what is none.
func TestKey_Authentication(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		secret := a.Workspace(sheaf.Pro).Key()
		basic := func(s string) string { return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(s)) }
		nobody := a.Client("")
		for _, header := range []string{"Authorization: Bearer " + secret, "Authorization: bearer  " + secret, basic(secret + ":"), basic(secret + ":any:thing"), basic(secret)} {
			nobody.GET(me, header).Want(t, 200)
		}
		mistyped := secret[:20] + swap(secret[20:21]) + secret[21:]
		for _, header := range []string{
			"Authorization: " + secret, "Authorization: Bearer", "Authorization: Token " + secret, "X-Api-Key: " + secret, "Cookie: session=" + secret,
			"Cookie: Authorization=Bearer " + secret, "Authorization: Bearer " + mistyped, "Authorization: Bearer " + secret + "x", "Authorization: Bearer " + strings.ToUpper(secret),
			"Authorization: Bearer " + sheaf.NewSecretKey(strings.NewReader(strings.Repeat("abcdefgh", 30))),
			basic(":" + secret), basic("user:" + secret), "Authorization: Basic " + secret, "Authorization: Basic !!!",
		} {
			r := nobody.GET(me, header).WantError(t, 401, "UNAUTHORIZED")
			if got := r.Header.Values("WWW-Authenticate"); len(got) != 1 || got[0] != "Bearer" && got[0] != `Bearer error="invalid_token"` {
				t.Errorf("%s: WWW-Authenticate %q", header, got)
			}
			if strings.Contains(string(r.Body), secret[4:20]) {
				t.Error("the error repeats the key")
			}
		}
		// A typo is refused without a look-up, and the person is told that it is one.
		nobody.GET(me, "Authorization: Bearer "+mistyped).WantError(t, 401, "UNAUTHORIZED", "mistyped")
	})
}

// D14: the error says what is wrong with the header, and never shows the key.
func TestKey_SlipsAreNamed(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	secret := a.Workspace(sheaf.Pro).Key()
	basic := func(s string) string { return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(s)) }
	for header, says := range map[string]string{
		"Authorization: Bearer Bearer " + secret:    "Bearer stands twice",
		"Authorization: bearer  bearer " + secret:   "Bearer stands twice",
		"Authorization: " + secret:                  "Bearer is missing",
		"Authorization: Bearer: " + secret:          "a colon",
		"Authorization: Bearer":                     "no API key behind it",
		"Authorization: Basic":                      "no API key behind it",
		"Authorization: Token " + secret:            "neither Bearer nor Basic",
		`Authorization: Bearer "` + secret + `"`:    "quotes or brackets",
		"Authorization: Bearer <" + secret + ">":    "quotes or brackets",
		"Authorization: Bearer <API_KEY>":           "variable",
		"Authorization: Bearer {{ $json.key }}":     "variable",
		"Authorization: Bearer $SHEAF_API_KEY":      "variable",
		"Authorization: Bearer whsec_" + secret[4:]: "signing secret",
		"X-Api-Key: " + secret:                      "X-Api-Key",
		basic(":" + secret):                         "user name",
		"Authorization: Basic " + secret:            "base64",
		"Authorization: Bearer " + secret[:30]:      "copy it whole",
		"Accept: */*":                               "an API key is needed",
	} {
		got := a.Client("").GET(me, header).WantError(t, 401, "UNAUTHORIZED", says)
		if strings.Contains(string(got.Body), secret[4:20]) {
			t.Errorf("%s: the error repeats the key", header)
		}
	}
}

func swap(s string) string {
	if s == "a" {
		return "b"
	}
	return "a"
}
