package crash

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
)

// people change in the console what no key may change. Ada owns the workspace of the test, in which Bob is a member. Carol
// has a second factor, or none.
type people struct {
	workspace, bob, project string
	ada, carol              *http.Client
}

const peoplesPassword = "long enough"

// newPerson returns the browser of a person, which keeps its cookies when the server changes.
func newPerson(t *testing.T) *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, Timeout: within, Transport: &http.Transport{DisableKeepAlives: true}}
}

// newPeople makes the people while a server runs that is not killed.
func newPeople(t *testing.T, p *program, s *server, workspace, project string) *people {
	t.Helper()
	v := &people{workspace: workspace, project: project, ada: newPerson(t), carol: newPerson(t)}
	p.Ask(t, "workspace", "create", "--name", "Carol's", "--plan", "business", "--owner-email", "carol@example.com")
	for _, email := range []string{"ada@example.com", "carol@example.com"} {
		set := p.Command("user", "set-password", email)
		set.Stdin = strings.NewReader(peoplesPassword + "\n")
		if out, err := set.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	v.signIn(s, v.ada, "ada@example.com")
	v.signIn(s, v.carol, "carol@example.com")
	page := browse(v.ada, s.URL+"/w/"+workspace+"/members/invite", url.Values{"email": {"bob@example.com"}, "role": {"editor"}})
	link := regexp.MustCompile(`/invite/[\w-]{43}`).FindString(page)
	if link == "" {
		t.Fatalf("no invitation in %s", page)
	}
	browse(newPerson(t), s.URL+link, url.Values{"name": {"Bob"}, "password": {peoplesPassword}, "again": {peoplesPassword}})
	for _, u := range p.users(t) {
		if u.Email == "bob@example.com" {
			v.bob = u.ID
		}
	}
	if v.bob == "" {
		t.Fatal("Bob did not join")
	}
	return v
}

// browse asks for a page, or sends a form, and returns the page. It is empty if the server was killed.
func browse(c *http.Client, address string, form url.Values) string {
	var res *http.Response
	var err error
	if form == nil {
		res, err = c.Get(address)
	} else {
		res, err = c.PostForm(address, form)
	}
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		return ""
	}
	return string(page)
}

func (v *people) signIn(s *server, c *http.Client, email string) {
	browse(c, s.URL+"/sign-in", url.Values{"email": {email}, "password": {peoplesPassword}})
}

var basis = regexp.MustCompile(`name="(was-[\w-]+)" value="([^"]*)"`)

// save sends a form with the values that the page was made with: without them the form is refused.
func save(c *http.Client, page, address string, form url.Values) {
	for _, was := range basis.FindAllStringSubmatch(browse(c, page, nil), -1) {
		form.Set(was[1], html.UnescapeString(was[2]))
	}
	browse(c, address, form)
}

// change makes one change of each kind, in any order, until the server dies.
func (v *people) change(s *server) {
	at := s.URL + "/w/" + v.workspace
	steps := []func(){
		func() {
			page := at + "/members/" + v.bob + "/role"
			save(v.ada, page, page, url.Values{"role": {[]string{"editor", "member"}[rand.IntN(2)]}})
		},
		func() {
			form := url.Values{"reach": {"all"}}
			if rand.IntN(2) == 0 {
				form = url.Values{"reach": {"part"}, "within": {"project:" + v.project}}
			}
			browse(v.ada, at+"/members/"+v.bob+"/access", form)
		},
		func() {
			save(v.ada, at+"/settings", at+"/settings/name", url.Values{"name": {fmt.Sprintf("Docs %d", rand.Int32())}})
		},
		func() {
			page := browse(v.ada, at+"/members/invite", url.Values{"email": {fmt.Sprintf("guest%d@example.com", rand.IntN(5))}, "role": {"member"}})
			if page != "" && rand.IntN(2) == 0 {
				if open := invitations.FindStringSubmatch(browse(v.ada, at+"/members", nil)); open != nil {
					browse(v.ada, at+"/invitations/"+open[1]+"/withdraw", url.Values{})
				}
			}
		},
		func() {
			browse(v.ada, s.URL+[]string{"/sign-out", "/sign-out-everywhere"}[rand.IntN(2)], url.Values{})
			v.signIn(s, v.ada, "ada@example.com")
		},
		func() { v.changeFactor(s) },
	}
	rand.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	for _, step := range steps {
		step()
	}
}

var (
	invitations  = regexp.MustCompile(`/invitations/([0-9a-f-]{36})/withdraw`)
	factorSecret = regexp.MustCompile(`id="factor-secret">([^<]+)<`)
	factorOffer  = regexp.MustCompile(`name="offer" value="([^"]+)"`)
)

// changeFactor sets up Carol's second factor, or turns it off.
func (v *people) changeFactor(s *server) {
	browse(v.carol, s.URL+"/account/second-factor/off", url.Values{"proof": {peoplesPassword}})
	if rand.IntN(2) == 0 {
		return
	}
	page := browse(v.carol, s.URL+"/account/second-factor", nil)
	secret, offer := factorSecret.FindStringSubmatch(page), factorOffer.FindStringSubmatch(page)
	if secret == nil || offer == nil {
		return // killed
	}
	code, err := totp.GenerateCode(strings.ReplaceAll(secret[1], " ", ""), time.Now())
	if err != nil {
		return
	}
	browse(v.carol, s.URL+"/account/second-factor", url.Values{"offer": {html.UnescapeString(offer[1])}, "code": {code}, "current": {peoplesPassword}})
}

// user is a user as `sheaf user list` shows it.
type user struct {
	ID, Email  string
	Factor     bool `json:"has_second_factor"`
	Workspaces []struct {
		ID, Name, Role string
		Restriction    json.RawMessage `json:"restricted_to"`
	}
}

func (p *program) users(t *testing.T) (users []user) {
	t.Helper()
	out, err := p.Command("user", "list", "--json").Output()
	if err == nil {
		err = json.Unmarshal(out, &users)
	}
	if err != nil {
		t.Fatalf("list the users: %v in %s", err, out)
	}
	return users
}

// auditLine is a line of either log.
type auditLine struct {
	ID, Action, Target string
	After              map[string]json.RawMessage
}

// compare notes what does not fit between the people and the lines of both logs.
func (v *people) compare(t *testing.T, p *program, s *server, f *auditFindings, lines []auditLine) {
	t.Helper()
	last := func(action, target, field, unchanged string) string { // the value that the newest line has
		for _, l := range slices.Backward(lines) {
			if l.Action == action && l.Target == target {
				return string(l.After[field])
			}
		}
		return unchanged
	}
	wants := func(what, got, want string) {
		f.records++
		if got != want {
			f.complaints = append(f.complaints, fmt.Sprintf("%s: %s, and the audit log has %s", what, got, want))
		}
	}
	var instance []auditLine
	out, err := p.Command("audit", "--instance").Output()
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var l auditLine
		if err := d.Decode(&l); err != nil {
			t.Fatal(err)
		}
		f.lines++
		instance = append(instance, l)
	}
	count := func(more, less, target string) (n int) {
		for _, l := range instance {
			switch {
			case l.Target != target:
			case l.Action == more:
				n++
			case l.Action == less:
				n--
			case l.Action == "session.all_ended" && more == "session.started":
				n = 0
			}
		}
		return n
	}
	for _, u := range p.users(t) {
		switch u.Email {
		case "ada@example.com":
			wants("Ada's sessions", fmt.Sprint(v.sessions(t, s)), fmt.Sprint(1+count("session.started", "session.ended", u.ID)))
		case "bob@example.com":
			for _, w := range u.Workspaces {
				wants("Bob's role", w.Role, strings.Trim(last("member.role_changed", u.ID, "role", "editor"), `"`))
				wants("Bob is restricted", fmt.Sprint(string(w.Restriction) != "null"), fmt.Sprint(last("member.restriction_changed", u.ID, "restricted_to", "null") != "null"))
				wants("the name", w.Name, strings.Trim(last("workspace.renamed", v.workspace, "name", "Acme"), `"`))
			}
		case "carol@example.com":
			wants("Carol's factors", map[bool]string{true: "1", false: "0"}[u.Factor], fmt.Sprint(count("factor.added", "factor.removed", u.ID)))
		}
	}
	var project struct{ Review json.RawMessage }
	if status, err := s.call(http.MethodGet, "/api/v1/projects/"+v.project, nil, &project); err != nil || status != http.StatusOK {
		t.Fatalf("read the project: %d, %v", status, err)
	}
	wants("the review settings", string(project.Review), last("project.review_changed", v.project, "review", "null"))
	open := map[string]bool{}
	for _, found := range invitations.FindAllStringSubmatch(browse(v.ada, s.URL+"/w/"+v.workspace+"/members", nil), -1) {
		open[found[1]] = true
	}
	for _, l := range lines {
		if l.Action == "invitation.created" && string(l.After["email"]) != `"bob@example.com"` { // that one was accepted
			gone := slices.ContainsFunc(lines, func(o auditLine) bool { return o.Target == l.Target && o.Action == "invitation.withdrawn" })
			wants("invitation "+l.Target+" is open", fmt.Sprint(open[l.Target]), fmt.Sprint(!gone))
			delete(open, l.Target)
		}
	}
	for id := range open {
		f.complaints = append(f.complaints, "invitation "+id+" has no line")
	}
}

// sessions signs Ada in once more and counts her sessions.
func (v *people) sessions(t *testing.T, s *server) int {
	t.Helper()
	v.ada = newPerson(t)
	v.signIn(s, v.ada, "ada@example.com")
	page := browse(v.ada, s.URL+"/account", nil)
	if !strings.Contains(page, "this browser") {
		t.Fatalf("Ada is not signed in: %s", page)
	}
	return 1 + len(regexp.MustCompile(`/account/sessions/[^"/]+/end`).FindAllString(page, -1))
}
