package sheaf

import (
	"io"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// A grant lets an app act for a person in a workspace, after the person has agreed to it at the consent page. It is
// stored and acts as a key does, so that its rate limit, its restriction, its events and its end are those of a key. Its
// secrets are an access token, which the app sends with each request, and a refresh token, with which it gets the next
// access token.

const (
	// MaxGrantsOfPerson is the largest number of apps that a person connects to a workspace.
	MaxGrantsOfPerson = 10
	// MaxGrants is the largest number of apps that are connected to a workspace.
	MaxGrants = 100
	// CodeLives is how long an app may take to redeem the code that it gets after the consent.
	CodeLives = time.Minute
	// TokenLives is how long an access token works.
	TokenLives = time.Hour
	// RefreshGrace is how long a refresh token still works after it was used: the answer may have been lost.
	RefreshGrace = time.Minute
)

// GrantScopes are the scopes that an app can get. The others manage keys and webhooks, report events, read the audit log, or
// decide which projects need review.
var GrantScopes = Scopes{ProjectsRead, ProjectsWrite, DocumentsRead, DocumentsWrite, MediaRead, MediaWrite, SharesRead, SharesWrite,
	ProposalsRead, ProposalsWrite, ProposalsApprove, ReleasesRead, ReleasesWrite, BrandingsRead, BrandingsWrite, EventsRead}

// DefaultGrantScopes are the scopes that the consent page suggests: to read, and to propose changes.
var DefaultGrantScopes = Scopes{ProjectsRead, DocumentsRead, MediaRead, ProposalsRead, ProposalsWrite, ReleasesRead}

// Grant is the consent of a person to an app.
type Grant struct {
	Key               // ID, name of the app, scopes, restriction, life
	Client   string   // id of the app: that of its registration, or the address of its document
	Redirect string   // address that the code was sent to
	CodeHash [32]byte // of the code
	// Challenge is what the verifier of the app must hash to (PKCE, S256).
	Challenge string
	// Salt is what the tokens are derived from, together with the server's key.
	Salt   []byte
	EndsAt *time.Time // chosen by the person; nil: never. Until the code is redeemed, Key.ExpiresAt is the end of the code
	// Follows means that the app sees what the person sees. Otherwise Key.RestrictedTo is the choice of the person.
	Follows   bool
	RenewedAt time.Time // when tokens were last issued
}

// Redeemed reports whether the code was redeemed.
func (g *Grant) Redeemed() bool { return g.Rotation > 0 }

// See sets what the grant sees: what its person sees if it follows the person, otherwise `chosen`, as far as the person
// sees that.
func (g *Grant) See(person, chosen *Restriction) {
	g.RestrictedTo, g.Within = chosen, 0
	switch {
	case g.Follows:
		g.RestrictedTo = person
	case person != nil && !person.Is(chosen):
		g.Within = person.Number
	}
}

// Host returns where the app gets its codes, as a person can judge it: a host, or the scheme of an app on the device.
func (g *Grant) Host() string { return RedirectHost(g.Redirect) }

// IsGrant reports whether the key is a grant.
func (k *Key) IsGrant() bool { return k.Resource != "" }

const (
	accessPrefix  = "sht_"
	refreshPrefix = "shr_"
)

// NewAccessToken returns an access token. It has the form of an API key with another prefix.
func NewAccessToken(random io.Reader) string { return newSecret(accessPrefix, random) }

// IsAccessToken reports whether s was meant to be an access token, complete or not.
func IsAccessToken(s string) bool { return strings.HasPrefix(s, accessPrefix) }

// RefreshToken names the grant and which of its refresh tokens it is. The proof shows that this server made it.
type RefreshToken struct {
	Grant KeyID
	// Rotation is that of the access token which was issued with it.
	Rotation int64
	Proof    string
}

// NewRefreshToken returns the refresh token of a grant.
func NewRefreshToken(id KeyID, rotation int64, random io.Reader) RefreshToken {
	return RefreshToken{id, rotation, RandomBase62(random, keyRandom)}
}

// String returns the token as the app gets it.
func (t RefreshToken) String() string {
	return refreshPrefix + strings.ReplaceAll(string(t.Grant), "-", "") + "_" + strconv.FormatInt(t.Rotation, 10) + "_" + t.Proof
}

// ParseRefreshToken reads what String returned. ok is false if s cannot be a refresh token.
func ParseRefreshToken(s string) (t RefreshToken, ok bool) {
	rest, ok := strings.CutPrefix(s, refreshPrefix)
	parts := strings.Split(rest, "_")
	if !ok || len(s) > 200 || len(parts) != 3 || len(parts[0]) != 32 || len(parts[2]) != keyRandom {
		return t, false
	}
	hex := parts[0]
	id, ok := ParseUUID(hex[:8] + "-" + hex[8:12] + "-" + hex[12:16] + "-" + hex[16:20] + "-" + hex[20:])
	n, err := strconv.ParseInt(parts[1], 10, 64)
	return RefreshToken{KeyID(id), n, parts[2]}, ok && err == nil && n > 0 && strconv.FormatInt(n, 10) == parts[1]
}

// OAuthClient is an app as it describes itself.
type OAuthClient struct {
	ID        string
	Name      string
	URI       string // a page about the app; may be empty
	Redirects []string
	CreatedAt time.Time // when it registered; zero if it has a document instead
}

const (
	maxRedirects = 10
	maxRedirect  = 1000
	// MaxClientName is the longest name of an app, in characters.
	MaxClientName = MaxKeyName
)

// Documented reports whether the id of an app is the address of a document that describes it.
func Documented(client string) bool { return strings.HasPrefix(client, "https://") }

// Check returns an OAuthError for a description that cannot be used.
func (c *OAuthClient) Check() error {
	if err := CheckName("client_name", c.Name, MaxClientName); err != nil {
		return &OAuthError{"invalid_client_metadata", err.Error()}
	}
	if strings.ContainsFunc(c.Name, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) {
		return &OAuthError{"invalid_client_metadata", "client_name has a control character: remove it"}
	}
	if c.URI != "" {
		u, err := url.Parse(c.URI)
		if err != nil || u.Scheme != "https" || u.Host == "" || len(c.URI) > maxRedirect || !printable(c.URI) {
			return &OAuthError{"invalid_client_metadata", "client_uri must be an https address"}
		}
	}
	if n := len(c.Redirects); n == 0 || n > maxRedirects {
		return &OAuthError{"invalid_redirect_uri", "redirect_uris must name at least one address, and at most " + strconv.Itoa(maxRedirects)}
	}
	for _, r := range c.Redirects {
		if err := checkRedirect(r); err != nil {
			return err
		}
	}
	return nil
}

// unsafeSchemes never lead to an app: they run what they contain, or open a file or another protocol.
var unsafeSchemes = []string{"javascript", "data", "vbscript", "file", "blob", "about", "filesystem", "view-source", "ftp", "ws", "wss", "mailto", "tel", "sms", "chrome", "jar"}

// checkRedirect returns an OAuthError unless a code may be sent to the address: over https, to this device, or to an app
// that has a scheme of its own.
func checkRedirect(address string) error {
	wrong := func(why string) error { return &OAuthError{"invalid_redirect_uri", "redirect_uris: " + why} }
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme == "" || len(address) > maxRedirect || !printable(address):
		return wrong("each must be an absolute address of at most " + strconv.Itoa(maxRedirect) + " characters")
	case strings.Contains(address, "#"):
		return wrong("an address must have no fragment")
	case u.User != nil:
		return wrong("an address must have no user name")
	case u.Scheme == "https" && u.Host == "" || u.Scheme == "http" && u.Host == "":
		return wrong("an address has no host")
	case !printable(u.Host):
		return wrong("an address has a host with other characters than ASCII: write its xn-- form")
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && !IsLoopback(u.Hostname()):
		return wrong("http is only for this device (127.0.0.1, [::1], localhost): use https")
	case slices.Contains(unsafeSchemes, u.Scheme):
		return wrong("the scheme " + u.Scheme + " does not lead to an app")
	}
	return nil
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '<' || r == '>' || r == '\\' })
}

// IsLoopback reports whether the host is this machine.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Allows reports whether the app registered the address: exactly, or on this device with any port, which a program
// chooses when it starts (RFC 8252).
func (c *OAuthClient) Allows(redirect string) bool {
	for _, r := range c.Redirects {
		if r == redirect || withoutPort(r) == withoutPort(redirect) && withoutPort(r) != "" {
			return true
		}
	}
	return false
}

// withoutPort returns a redirect address on this device without its port, and "" for any other.
func withoutPort(redirect string) string {
	u, err := url.Parse(redirect)
	if err != nil || u.Scheme != "http" || u.User != nil || u.Fragment != "" || !IsLoopback(u.Hostname()) || !printable(redirect) {
		return ""
	}
	rest := strings.TrimPrefix(redirect, "http://"+u.Host)
	return "http://" + u.Hostname() + rest
}

// RedirectHost returns the host of a redirect address, or the scheme of an app on the device.
func RedirectHost(redirect string) string {
	u, err := url.Parse(redirect)
	switch {
	case err != nil:
		return ""
	case u.Scheme == "https" || u.Scheme == "http":
		return strings.ToLower(u.Host)
	}
	return u.Scheme + ":"
}

// OnDevice reports whether the redirect address leads to a program on the person's device. Every program there can take
// that address, so the name of the app proves nothing.
func OnDevice(redirect string) bool {
	u, err := url.Parse(redirect)
	return err != nil || u.Scheme != "https" || IsLoopback(u.Hostname())
}

// OAuthError is an error of the OAuth protocol, with the code that its RFC names.
type OAuthError struct{ Code, Text string }

// Error returns the text.
func (e *OAuthError) Error() string { return e.Text }
