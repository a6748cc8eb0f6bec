package console

import (
	"crypto/sha256"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// canary is in every text that a restricted person must not see.
const canary = "canary-41d7"

// nowhereID is an identifier that no record has.
const nowhereID = "0198c0de-0000-7000-8000-00000000dead"

// divided is a town in which some people are restricted to the folder "Inside".
type divided struct {
	*town
	inside, outside map[string]string // ids by the word in the path
	editor, reader  string            // cookies of a restricted editor and a restricted member
}

func divide(t *testing.T) *divided {
	t.Helper()
	d := &divided{town: newTown(t)}
	w, ctx := d.town, t.Context()
	place := func(name string) map[string]string {
		above, err := w.a.CreateFolder(ctx, w.caller, sheaf.FolderChange{Name: sheaf.Some(canary + " above"), EntityType: sheaf.Some("project")})
		w.must(err)
		f, err := w.a.CreateFolder(ctx, w.caller, sheaf.FolderChange{Name: sheaf.Some(name + " folder"), EntityType: sheaf.Some("project"), ParentID: sheaf.Some(above.ID)})
		w.must(err)
		p, err := w.a.CreateProject(ctx, w.caller, sheaf.ProjectChange{Name: sheaf.Some(name + " project"), FolderID: sheaf.Some(f.ID)})
		w.must(err)
		doc := func(title, content string) sheaf.Document {
			d, err := w.a.CreateDocument(ctx, w.caller, sheaf.DocumentChange{Title: sheaf.Some(name + " " + title), Content: sheaf.Some(content), ProjectID: sheaf.Some(p.ID)})
			w.must(err)
			return d
		}
		d := doc("document", "Words of "+name)
		bytes := pixel + name
		m, err := w.a.UploadMedium(ctx, w.caller, app.NewMedium{Filename: name + ".gif", Bytes: int64(len(bytes)), SHA256: sha256.Sum256([]byte(bytes)), DocumentID: &d.ID,
			Open: func() io.Reader { return strings.NewReader(bytes) }})
		w.must(err)
		gone := doc("trashed", "![](media:"+string(m.ID)+")")
		release := w.release(name+" release", p.ID)
		w.must(w.a.DeleteDocument(ctx, w.caller, gone.ID, sheaf.Match{}))
		s, err := w.a.CreateShare(ctx, w.caller, sheaf.ShareChange{ResourceType: sheaf.Some("document"), ResourceID: sheaf.Some(string(d.ID))})
		w.must(err)
		e, err := w.a.Events(ctx, w.caller, sheaf.EventFilter{Resource: string(p.ID), Paging: sheaf.Paging{Limit: 1}})
		w.must(err)
		proposal := w.propose(d.ID, name+" proposal")
		return map[string]string{"proposals": string(proposal), "folders": string(f.ID), "projects": string(p.ID), "documents": string(d.ID), "trash": string(gone.ID), "media": string(m.ID), "shares": string(s.ID), "releases": string(release.ID),
			"events": string(e.Items[0].ID), "above": string(above.ID)}
	}
	_, err := w.a.CreateDocument(ctx, w.caller, sheaf.DocumentChange{Title: sheaf.Some(canary + " in no project")})
	w.must(err)
	w.must(w.a.Rename(ctx, app.Session{User: sheaf.User{ID: w.caller.User}}, "Ada", sheaf.Opt[string]{}))
	d.outside = place(canary)
	restrictTo := func(folder string) *app.RestrictTo {
		return &app.RestrictTo{Folders: []sheaf.FolderID{sheaf.FolderID(folder)}}
	}
	d.inside = place("Inside") // before the people come, so that its events are not in their log
	d.editor = d.joinWithin("dan@example.com", "Dan", sheaf.Editor, restrictTo(d.inside["folders"]))
	d.reader = d.joinWithin("mia@example.com", "Mia", sheaf.Member, restrictTo(d.inside["folders"]))
	for _, in := range []map[string]string{d.inside, d.outside} {
		p, err := w.a.UpdateProject(ctx, w.caller, sheaf.ProjectID(in["projects"]), sheaf.ProjectChange{Description: sheaf.Some("changed")}, sheaf.Match{})
		w.must(err)
		e, err := w.a.Events(ctx, w.caller, sheaf.EventFilter{Resource: string(p.ID), Paging: sheaf.Paging{Limit: 1, Desc: true}})
		w.must(err)
		in["events"] = string(e.Items[0].ID)
	}
	hook, err := w.a.CreateSubscription(ctx, w.caller, sheaf.SubscriptionChange{Name: sheaf.Some(canary), URL: sheaf.Some("https://example.com/" + canary), Events: sheaf.Some([]string{string(sheaf.ProjectUpdated)})})
	w.must(err)
	k, err := w.a.CreateKey(ctx, w.caller, app.NewKey{Name: canary, Scopes: sheaf.AllScopes})
	w.must(err)
	for noun, id := range map[string]string{"webhooks": string(hook.ID), "keys": string(k.ID), "deliveries": w.ids["deliveries"], "invitations": w.ids["invitations"],
		"brandings": w.ids["brandings"], "apps": w.ids["apps"], "members": string(w.caller.User)} {
		d.inside[noun], d.outside[noun] = id, id
	}
	return d
}

// joinWithin is join with a restriction.
func (d *divided) joinWithin(email, name string, role sheaf.Role, to *app.RestrictTo) string {
	d.Helper()
	i, err := d.a.Invite(d.Context(), d.caller, email, role, to)
	d.must(err)
	s, _, err := d.a.Join(d.Context(), app.Join{Token: i.Token, Name: name, Password: "long enough"}, "")
	d.must(err)
	return s.Token
}

// with returns an address of the route with these ids in its path.
func (d *divided) with(ids map[string]string, path string) string {
	before := d.ids
	defer func() { d.ids = before }()
	d.ids = ids
	return d.address(path)
}

// request sends a request, with a form if it is a POST.
func (d *divided) request(method, address, token string, form url.Values, change ...func(*http.Request)) *httptest.ResponseRecorder {
	d.Helper()
	r := httptest.NewRequest(method, address, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.AddCookie(&http.Cookie{Name: "sheaf", Value: token})
	for _, c := range change {
		c(r)
	}
	return ask(d.T, d.c, r)
}

// withoutLeaks fails if the answer has something that is outside.
func (d *divided) withoutLeaks(what string, got *httptest.ResponseRecorder, sent ...string) {
	d.Helper()
	all := fmt.Sprint(got.Header()) + got.Body.String()
	for _, s := range sent {
		all = strings.ReplaceAll(all, s, "%")
	}
	for _, secret := range []string{canary, "ada@example.com", "bob@example.com", "carol@example.com", d.outside["folders"], d.outside["projects"], d.outside["documents"],
		d.outside["media"], d.outside["events"], d.outside["proposals"], d.outside["releases"], d.outside["keys"], d.outside["webhooks"]} {
		if at := strings.Index(all, secret); at >= 0 {
			d.Errorf("%s shows %s: …%s…", what, secret, all[max(at-150, 0):min(at+150, len(all))])
		}
	}
}

// reaches says what a restricted person gets at each route: the status for what is inside, as an
// editor. "outside" is a route whose id is checked: for an id outside, the answer must be the one for an
// id that never existed. "named" is a route that names records elsewhere: see requestsOf. A member gets 403
// where an editor's role is needed. A new route must be written here by hand.
const reaches = `
GET /w/{workspace}: 303
GET /w/{workspace}/live: 200
GET /w/{workspace}/search: 200 named
GET /w/{workspace}/jump: 200 named
GET /w/{workspace}/projects: 200 named
POST /w/{workspace}/steps/close: 303
GET /w/{workspace}/projects/new: 200 named
GET /w/{workspace}/projects/choose: 200 named
POST /w/{workspace}/projects: 403 named
GET /w/{workspace}/projects/{id}: 200 outside
GET /w/{workspace}/projects/{id}/edit: 200 outside
POST /w/{workspace}/projects/{id}: 412 outside
GET /w/{workspace}/projects/{id}/move: 200 outside
POST /w/{workspace}/projects/{id}/move: 403 outside named
GET /w/{workspace}/projects/{id}/delete: 403 outside
POST /w/{workspace}/projects/{id}/delete: 403 outside
GET /w/{workspace}/folders/new: 200 named
GET /w/{workspace}/folders/choose: 200 named
POST /w/{workspace}/folders: 403 named
GET /w/{workspace}/folders/{id}: 200 outside
GET /w/{workspace}/folders/{id}/branch: 200 outside
GET /w/{workspace}/folders/{id}/edit: 200 outside
POST /w/{workspace}/folders/{id}: 412 outside
GET /w/{workspace}/folders/{id}/move: 200 outside
POST /w/{workspace}/folders/{id}/move: 403 outside named
GET /w/{workspace}/folders/{id}/delete: 403 outside
POST /w/{workspace}/folders/{id}/delete: 403 outside
GET /w/{workspace}/selection/move: 200 named
POST /w/{workspace}/selection/move: 400 named
GET /w/{workspace}/selection/places: 200 named
GET /w/{workspace}/selection/delete: 200 named
POST /w/{workspace}/selection/delete: 400 named
GET /w/{workspace}/selection/share: 200 named
POST /w/{workspace}/selection/share: 400 named
POST /w/{workspace}/selection/undo: 400 named
POST /w/{workspace}/selection/order: 400 named
GET /w/{workspace}/brandings: 200
GET /w/{workspace}/brandings/new: 403
POST /w/{workspace}/brandings: 403
GET /w/{workspace}/brandings/sample: 200
GET /w/{workspace}/brandings/{id}: 200
GET /w/{workspace}/brandings/{id}/edit: 403
POST /w/{workspace}/brandings/{id}: 403
GET /w/{workspace}/brandings/{id}/move: 403
POST /w/{workspace}/brandings/{id}/move: 403
GET /w/{workspace}/brandings/{id}/delete: 403
POST /w/{workspace}/brandings/{id}/delete: 403
POST /w/{workspace}/settings/branding: 403
GET /w/{workspace}/documents: 200
GET /w/{workspace}/documents/new: 200 named
GET /w/{workspace}/documents/links: 200 named
POST /w/{workspace}/documents: 403 named
POST /w/{workspace}/documents/preview: 200 named
GET /w/{workspace}/documents/{id}: 200 outside
GET /w/{workspace}/documents/{id}/branch: 200 outside
GET /w/{workspace}/documents/{id}/linked: 200 outside
GET /w/{workspace}/documents/{id}/edit: 200 outside
POST /w/{workspace}/documents/{id}: 400 outside named
GET /w/{workspace}/documents/{id}/versions: 200 outside
GET /w/{workspace}/documents/{id}/versions/compare: 200 outside
GET /w/{workspace}/documents/{id}/versions/{n}: 200 outside
GET /w/{workspace}/documents/{id}/versions/{n}/restore: 200 outside
POST /w/{workspace}/documents/{id}/versions/{n}/restore: 400 outside
GET /w/{workspace}/documents/{id}/delete: 200 outside
POST /w/{workspace}/documents/{id}/delete: 303 outside
POST /w/{workspace}/documents/{id}/restore: 303 outside
GET /w/{workspace}/documents/{id}/share: 200 outside
POST /w/{workspace}/documents/{id}/share: 303 outside
GET /w/{workspace}/projects/{id}/share: 200 outside
POST /w/{workspace}/projects/{id}/share: 303 outside named
GET /w/{workspace}/folders/{id}/share: 200 outside
POST /w/{workspace}/folders/{id}/share: 303 outside
POST /w/{workspace}/shares/{id}: 303 outside
POST /w/{workspace}/shares/{id}/delete: 303 outside
GET /w/{workspace}/documents/suggest: 200 named
POST /w/{workspace}/documents/suggest: 400 named
GET /w/{workspace}/documents/{id}/suggest: 200 outside named
POST /w/{workspace}/documents/{id}/suggest: 400 outside
GET /w/{workspace}/documents/{id}/suggest-move: 200 outside named
POST /w/{workspace}/documents/{id}/suggest-move: 400 outside named
GET /w/{workspace}/documents/{id}/suggest-delete: 200 outside
POST /w/{workspace}/documents/{id}/suggest-delete: 400 outside
GET /w/{workspace}/documents/{id}/versions/{n}/suggest: 200 outside
POST /w/{workspace}/documents/{id}/versions/{n}/suggest: 400 outside
GET /w/{workspace}/trash/{id}/suggest: 200 outside
POST /w/{workspace}/trash/{id}/suggest: 400 outside
POST /w/{workspace}/selection/suggest-move: 400 named
POST /w/{workspace}/selection/suggest-delete: 400 named
GET /w/{workspace}/proposals: 200
GET /w/{workspace}/proposals/{id}: 200 outside
POST /w/{workspace}/proposals/{id}/approve: 400 outside
POST /w/{workspace}/proposals/{id}/ask: 400 outside
POST /w/{workspace}/proposals/{id}/take-back: 400 outside
POST /w/{workspace}/proposals/{id}/accept: 400 outside
POST /w/{workspace}/proposals/{id}/reject: 400 outside
POST /w/{workspace}/proposals/{id}/withdraw: 400 outside
POST /w/{workspace}/proposals/{id}/revert: 409 outside
POST /w/{workspace}/proposals/{id}/comments: 400 outside
GET /w/{workspace}/proposals/{id}/comments/{n}/edit: 403 outside
POST /w/{workspace}/proposals/{id}/comments/{n}: 403 outside
POST /w/{workspace}/proposals/{id}/comments/{n}/delete: 403 outside
GET /w/{workspace}/projects/{id}/releases: 200 outside
GET /w/{workspace}/projects/{id}/releases/new: 200 outside
GET /w/{workspace}/projects/{id}/releases/compare: 200 outside named
POST /w/{workspace}/projects/{id}/releases: 303 outside
GET /w/{workspace}/releases/{id}: 200 outside
GET /w/{workspace}/releases/{id}/documents/{document}: 200 outside
GET /w/{workspace}/releases/{id}/documents/{document}/compare: 200 outside named
GET /w/{workspace}/releases/{id}/media/{medium}/content: 200 outside
GET /w/{workspace}/releases/{id}/edit: 200 outside
POST /w/{workspace}/releases/{id}: 303 outside
GET /w/{workspace}/releases/{id}/delete: 200 outside
POST /w/{workspace}/releases/{id}/delete: 303 outside
GET /w/{workspace}/trash: 200 named
GET /w/{workspace}/trash/{id}/delete: 200 outside
POST /w/{workspace}/trash/{id}/delete: 303 outside
GET /w/{workspace}/media: 200
POST /w/{workspace}/media: 400 named
GET /w/{workspace}/media/{id}/content: 200 outside named
GET /w/{workspace}/media/{id}/rename: 200 outside
POST /w/{workspace}/media/{id}/rename: 400 outside
GET /w/{workspace}/media/{id}/delete: 200 outside
POST /w/{workspace}/media/{id}/delete: 303 outside
GET /w/{workspace}/webhooks: 403
GET /w/{workspace}/webhooks/new: 403
POST /w/{workspace}/webhooks: 403
GET /w/{workspace}/webhooks/{id}: 403
GET /w/{workspace}/webhooks/{id}/edit: 403
POST /w/{workspace}/webhooks/{id}: 403
GET /w/{workspace}/webhooks/{id}/filter: 403
POST /w/{workspace}/webhooks/{id}/filter: 403
POST /w/{workspace}/webhooks/{id}/test: 403
GET /w/{workspace}/webhooks/{id}/rotate: 403
POST /w/{workspace}/webhooks/{id}/rotate: 403
GET /w/{workspace}/webhooks/{id}/pause: 403
POST /w/{workspace}/webhooks/{id}/pause: 403
GET /w/{workspace}/webhooks/{id}/reactivate: 403
POST /w/{workspace}/webhooks/{id}/reactivate: 403
POST /w/{workspace}/webhooks/{id}/recover: 403
POST /w/{workspace}/webhooks/{id}/resend: 403
GET /w/{workspace}/webhooks/{id}/delete: 403
POST /w/{workspace}/webhooks/{id}/delete: 403
GET /w/{workspace}/deliveries/{id}: 403
POST /w/{workspace}/deliveries/{id}/redeliver: 403
GET /w/{workspace}/keys: 403
GET /w/{workspace}/keys/new: 403
GET /w/{workspace}/keys/{id}: 403
POST /w/{workspace}/keys/{id}/revoke-all: 403
POST /w/{workspace}/keys: 403
GET /w/{workspace}/keys/{id}/rotate: 403
POST /w/{workspace}/keys/{id}/rotate: 403
GET /w/{workspace}/keys/{id}/revoke: 403
POST /w/{workspace}/keys/{id}/revoke: 403
GET /w/{workspace}/connect: 200
POST /w/{workspace}/connect: 400
POST /w/{workspace}/apps/{id}/disconnect: 404 outside
GET /w/{workspace}/activity: 200 named
GET /w/{workspace}/audit: 403
GET /w/{workspace}/events/{id}: 200 outside
GET /w/{workspace}/members: 200
GET /w/{workspace}/members/invite: 403
POST /w/{workspace}/members/invite: 403
GET /w/{workspace}/members/{id}/role: 403
POST /w/{workspace}/members/{id}/role: 403
GET /w/{workspace}/members/{id}/access: 403
POST /w/{workspace}/members/{id}/access: 403
GET /w/{workspace}/members/{id}/remove: 403
POST /w/{workspace}/members/{id}/remove: 403
POST /w/{workspace}/invitations/{id}/withdraw: 403
GET /w/{workspace}/settings: 200
POST /w/{workspace}/settings/name: 403
POST /w/{workspace}/settings/plan: 403
`

// requestsOf are the requests of each route with a record outside of it in a field or in the query; % is its
// id, $projects and the like an id inside. An id of the record in {id} is inside.
var requestsOf = map[string][]string{
	"GET /w/{workspace}/search":                                     {"?q=" + canary, "?q=%"},
	"GET /w/{workspace}/jump":                                       {"?q=" + canary, "?q=%", "?q=example.com"},
	"GET /w/{workspace}/projects":                                   {"?q=" + canary, "?sort=name", "?sort=changed"},
	"GET /w/{workspace}/projects/new":                               {"?in=%"},
	"GET /w/{workspace}/projects/choose":                            {"?now=%", "?q=" + canary},
	"POST /w/{workspace}/projects":                                  {"name=n&in=%"},
	"POST /w/{workspace}/projects/{id}/move":                        {"folder=%"},
	"GET /w/{workspace}/folders/new":                                {"?in=%"},
	"GET /w/{workspace}/folders/choose":                             {"?now=%", "?without=%", "?q=" + canary},
	"POST /w/{workspace}/folders":                                   {"name=n&type=project&in=%"},
	"POST /w/{workspace}/folders/{id}/move":                         {"parent=%"},
	"GET /w/{workspace}/selection/move":                             {"?item=project:%", "?item=folder:%", "?item=document:%", "?item=document:$documents&q=" + canary},
	"POST /w/{workspace}/selection/move":                            {"item=document:%&to=$projects", "item=document:$documents&to=%", "item=document:$documents&to=document:%", "item=project:$projects&to=%"},
	"GET /w/{workspace}/selection/places":                           {"?item=document:%", "?item=document:$documents&now=%", "?item=document:$documents&q=" + canary},
	"GET /w/{workspace}/selection/delete":                           {"?item=project:%", "?item=folder:%", "?item=document:%"},
	"POST /w/{workspace}/selection/delete":                          {"item=document:%", "item=project:%", "item=folder:%"},
	"GET /w/{workspace}/selection/share":                            {"?item=document:%", "?item=project:%"},
	"POST /w/{workspace}/selection/share":                           {"item=document:%", "item=folder:%"},
	"POST /w/{workspace}/selection/undo":                            {"undo=restore:document:%", "undo=unshare:share:%", "undo=move:project:%::1", "undo=put:document:$documents:%:1:1:"},
	"POST /w/{workspace}/selection/order":                           {"item=project:%", "item=project:$projects&in=%", "item=document:$documents&before=%"},
	"GET /w/{workspace}/documents/new":                              {"?in=%", "?below=%"},
	"GET /w/{workspace}/documents/links":                            {"?q=" + canary, "?in=%", "?address=https://x/w/$workspace/documents/%"},
	"POST /w/{workspace}/documents":                                 {"title=t&project=%", "title=t&project=$projects&parent=%", "title=t&project=$projects&content=![](media:%)", "title=t&project=%&find=project&find-project=" + canary},
	"POST /w/{workspace}/documents/preview":                         {"content=[a](document:%) ![](media:%)"},
	"POST /w/{workspace}/documents/{id}":                            {"title=t&revision=1&project=%", "title=t&revision=1&project=$projects&content=![](media:%)"},
	"GET /w/{workspace}/documents/suggest":                          {"?in=%", "?below=%"},
	"POST /w/{workspace}/documents/suggest":                         {"about=a&title=t&project=%", "about=a&title=t&parent=%"},
	"POST /w/{workspace}/selection/suggest-move":                    {"about=a&item=document:%", "about=a&item=document:$documents&to=%"},
	"POST /w/{workspace}/selection/suggest-delete":                  {"about=a&item=document:%"},
	"GET /w/{workspace}/documents/{id}/suggest":                     {"?proposal=%&change=0"},
	"GET /w/{workspace}/documents/{id}/suggest-move":                {"?q=" + canary},
	"POST /w/{workspace}/documents/{id}/suggest-move":               {"about=a&base_version=1&to=%", "about=a&base_version=1&to=document:%"},
	"POST /w/{workspace}/projects/{id}/share":                       {"release=%", "release=%&show_releases=yes"},
	"GET /w/{workspace}/projects/{id}/releases/compare":             {"?a=%", "?b=%", "?a=$releases&b=%"},
	"GET /w/{workspace}/releases/{id}/documents/{document}/compare": {"?to=%"},
	"GET /w/{workspace}/trash":                                      {"?q=" + canary},
	"POST /w/{workspace}/media":                                     {"?filename=f&document=%"},
	"GET /w/{workspace}/media/{id}/content":                         {"?document=%"},
	"GET /w/{workspace}/activity":                                   {"?resource=%", "?resource=" + canary, "?span=day"},
}

// moment matches what differs between two requests for the same page.
var moment = regexp.MustCompile(`since=\d+|datetime="[^"]*"|value="\d{13}"`)

// sameAsUnknown fails unless a request about an id outside and one about an id that never existed have
// the same answer. `address` and `form` have % where the id goes.
func (d *divided) sameAsUnknown(method, address, form, outside, token string) {
	d.Helper()
	send := func(id string) string {
		values, err := url.ParseQuery(strings.ReplaceAll(form, "%", id))
		d.must(err)
		got := d.request(method, strings.ReplaceAll(address, "%", id), token, values)
		d.withoutLeaks(fmt.Sprintf("%s %s %s", method, address, form), got, id, canary)
		header := got.Header().Clone()
		for _, name := range []string{"Date", "X-Request-Id", "Retry-After"} {
			header.Del(name)
		}
		all := fmt.Sprint(got.Code, header, got.Body.String())
		return moment.ReplaceAllString(strings.ReplaceAll(all, id, "%"), "")
	}
	unknown := nowhereID
	if strings.HasPrefix(outside, sheaf.EventPrefix) {
		unknown = sheaf.EventPrefix + nowhereID
	}
	if got, want := send(outside), send(unknown); got != want {
		d.Errorf("%s %s %s, about a record outside:\n%s\nabout one that never existed:\n%s", method, address, form, got, want)
	}
}

// reachOf is a line of reaches.
type reachOf struct {
	method, path string
	status       int
	words        []string
}

func readReaches(t *testing.T) map[string]reachOf {
	t.Helper()
	out := map[string]reachOf{}
	for line := range strings.Lines(strings.TrimSpace(reaches)) {
		route, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
		r := reachOf{words: strings.Fields(rest)}
		r.method, r.path, _ = strings.Cut(route, " ")
		if _, err := fmt.Sscan(rest, &r.status); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out[route] = r
	}
	return out
}

// D168, D169: every route of the console is in the table, a restricted person gets what it says, and the
// answer about a record outside is the one about a record that never existed.
func TestRestricted_OutsideDoesNotExist(t *testing.T) {
	d := divide(t)
	before := d.everything()
	table := readReaches(t)
	for _, r := range d.c.allRoutes() {
		route := r.method + " " + r.path
		if r.who.level < byMember {
			continue
		}
		line, known := table[route]
		delete(table, route)
		if !known {
			t.Errorf("%s is not in the table: say what a restricted person gets there", route)
			continue
		}
		for _, token := range []string{d.editor, d.reader} {
			if slices.Contains(line.words, "outside") {
				noun := strings.Split(r.path, "/")[3]
				d.sameAsUnknown(r.method, strings.Replace(strings.NewReplacer("{workspace}", string(d.caller.Workspace), "{n}", "1", "{document}", d.inside["documents"], "{medium}", d.inside["media"]).Replace(r.path), "{id}", "%", 1), anyForm.Encode(), d.outside[noun], token)
			} else if strings.Contains(r.path, "{id}") && !strings.Contains(r.path, "brandings") && !strings.Contains(r.path, "members") && line.status != http.StatusForbidden {
				t.Errorf("%s names a record: mark it in the table", route)
			}
			requests := requestsOf[route]
			if (len(requests) > 0) != slices.Contains(line.words, "named") {
				t.Errorf("%s: the table and requestsOf differ", route)
			}
			for _, request := range requests {
				for noun, id := range d.inside {
					request = strings.ReplaceAll(request, "$"+noun, id)
				}
				request = strings.ReplaceAll(request, "$workspace", string(d.caller.Workspace))
				address, form := d.with(d.inside, r.path), request
				if strings.HasPrefix(request, "?") {
					address, form = address+request, ""
				}
				for _, noun := range []string{"folders", "projects", "documents", "media", "shares", "releases", "trash", "above"} {
					d.sameAsUnknown(r.method, address, form, d.outside[noun], token)
				}
			}
		}
	}
	for route := range table {
		t.Errorf("%s is in the table and not a route", route)
	}
	if after := d.everything(); after != before {
		t.Error("a restricted person changed something with ids outside")
	}
}

// D168, D169: a restricted person opens what the table says, and no page has anything from outside.
func TestRestricted_Inside(t *testing.T) {
	d := divide(t)
	table := readReaches(t)
	role := map[string]bool{} // routes that need the role of an editor
	_, closed := opensTo(sheaf.Member)
	for _, route := range closed {
		role[route] = true
	}
	routes := d.c.allRoutes()
	// What is deleted, or left, comes last.
	late := func(r route) int {
		return slices.Index([]bool{false, true}, r.method == http.MethodPost) + 2*slices.Index([]bool{false, true}, strings.HasSuffix(r.path, "/delete") || strings.HasSuffix(r.path, "/remove"))
	}
	slices.SortStableFunc(routes, func(a, b route) int { return late(a) - late(b) })
	for _, token := range []string{d.reader, d.editor} {
		for _, r := range routes {
			if r.who.level < byMember {
				continue
			}
			route := r.method + " " + r.path
			want := table[route].status
			if token == d.reader && role[route] {
				want = http.StatusForbidden
			}
			got := d.request(r.method, d.with(d.inside, r.path), token, anyForm, func(r *http.Request) {
				r.AddCookie(&http.Cookie{Name: openCookie, Value: d.outside["folders"] + "." + d.outside["above"] + "." + d.inside["folders"]})
			})
			if got.Code != want {
				t.Errorf("%s: %d, want %d: %s", route, got.Code, want, got.Body)
			}
			d.withoutLeaks(route, got)
		}
	}
}

// mayDelete checks that projects and folders have the button if a restricted editor may delete them, and that deleting
// others is refused. A document in the trash keeps its project, and a project its folder.
func (d *divided) mayDelete() {
	d.Helper()
	ctx, in := d.Context(), sheaf.FolderID(d.inside["folders"])
	f, err := d.a.CreateFolder(ctx, d.caller, sheaf.FolderChange{Name: sheaf.Some("deeper"), EntityType: sheaf.Some("project"), ParentID: sheaf.Some(in)})
	d.must(err)
	look := func(at string, button bool) {
		d.Helper()
		d.wantIn(d.request(http.MethodGet, at, d.editor, nil).Body.String(), button, at+`/delete" data-dialog>Delete<`)
		if got := d.request(http.MethodGet, at+"/delete", d.editor, nil); (got.Code == http.StatusOK) != button {
			d.Errorf("%s/delete: %d, a button: %t", at, got.Code, button)
		}
	}
	base := "/w/" + string(d.caller.Workspace)
	folder := base + "/folders/" + string(f.ID)
	look(folder, true)
	p, err := d.a.CreateProject(ctx, d.caller, sheaf.ProjectChange{Name: sheaf.Some("empty"), FolderID: sheaf.Some(f.ID)})
	d.must(err)
	look(folder, false)
	project := base + "/projects/" + string(p.ID)
	look(project, true)
	doc, err := d.a.CreateDocument(ctx, d.caller, sheaf.DocumentChange{Title: sheaf.Some("gone"), ProjectID: sheaf.Some(p.ID)})
	d.must(err)
	d.must(d.a.DeleteDocument(ctx, d.caller, doc.ID, sheaf.Match{}))
	look(project, false)
	d.must(d.a.PurgeDocument(ctx, d.caller, doc.ID, false, sheaf.Match{}))
	look(project, true)
}

// D168: the pages of a restricted person begin at what they see, and offer what they may do.
func TestRestricted_Pages(t *testing.T) {
	d := divide(t)
	page := func(token, path string) string {
		t.Helper()
		got := d.request(http.MethodGet, d.with(d.inside, "/w/{workspace}"+path), token, nil)
		if got.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, got.Code, got.Body)
		}
		return got.Body.String()
	}
	home := page(d.editor, "/projects")
	d.wantIn(home, true, "Of this workspace you see one folder and what is in it.", "Inside folder", "To create a project or folder, open a folder first")
	d.wantIn(home, false, "New folder", "New project", "First steps", ">Webhooks<", ">Keys<", `data-move="parent"`, "Inside trashed")
	d.wantIn(page(d.reader, "/projects"), false, "open a folder first")
	folder := page(d.editor, "/folders/{id}")
	d.wantIn(folder, true, "New folder", "New project", "Inside project", "data-stays")
	d.wantIn(folder, false, `/move" data-dialog>Move<`, `/delete" data-dialog>Delete<`)
	project := page(d.editor, "/projects/{id}")
	d.wantIn(project, true, `/move" data-dialog>Move<`, "New document")
	d.wantIn(project, false, `/delete" data-dialog>Delete<`) // it has documents
	keys := d.request(http.MethodGet, d.with(d.inside, "/w/{workspace}/keys/new"), d.editor, nil).Body.String()
	d.wantIn(keys, true, "this needs access to the whole workspace")
	d.wantIn(keys, false, "make you an admin", "can read this")
	own := d.with(map[string]string{"members": string(d.callerOf(d.editor).User)}, "/w/{workspace}/members/{id}/remove")
	d.wantIn(d.request(http.MethodGet, own, d.editor, nil).Body.String(), true, "You lose access to this workspace")
	move := page(d.editor, "/projects/{id}/move")
	d.wantIn(move, true, `value="`+d.inside["folders"]+`" selected>Inside folder</option>`)
	d.wantIn(move, false, "The top level", "\u2003")
	d.wantIn(page(d.editor, "/documents/new"), true, "Choose a project", `<select id="project" name="project" required>`)
	d.wantIn(page(d.editor, "/documents/new"), false, ">None<", "Insert a picture")
	d.wantIn(page(d.editor, "/documents/{id}/edit"), true, "Insert a picture")
	d.wantIn(page(d.editor, "/documents/{id}/edit"), false, ">None<")
	d.wantIn(page(d.editor, "/media"), false, `id="upload"`)
	d.wantIn(page(d.editor, "/activity"), true, "Inside project")
	d.wantIn(page(d.editor, "/activity"), false, "Delivery attempts", `id="charts"`)
	d.wantIn(page(d.editor, "/events/{id}"), false, "Its deliveries")
	d.wantIn(page(d.editor, "/trash"), true, "Inside trashed")
	members := page(d.editor, "/members")
	d.wantIn(members, true, "Ada", "Bob", "dan@example.com", "sees one folder and what is in it")
	d.wantIn(members, false, "mia@example.com", "Invite someone", "Access of")
	jump := page(d.editor, "/jump?q=")
	d.wantIn(jump, true, "New document", ">Settings<")
	d.wantIn(jump, false, "New project", "New folder", "Upload a file", "Webhooks", "Keys", "Documents without a project")
	d.wantIn(page(d.editor, "/jump?q=Inside"), true, "Inside folder", "Inside project", "Inside document")
	d.wantIn(page(d.editor, "/search?q=words"), true, "Inside document")
	d.mayDelete()
}

// streamOf finds the end of the address of a page's stream.
var streamOf = regexp.MustCompile(`data-live="[^"]*\?since=\d+([^"]*)"`)

// D169: an open page of a restricted person hears of changes inside, and of nothing else.
func TestRestricted_Stream(t *testing.T) {
	d := divide(t)
	made := d.c.Now().Add(-3 * liveSlack)
	within := func() string {
		t.Helper()
		return streamOf.FindStringSubmatch(d.request(http.MethodGet, d.address("/w/{workspace}/projects"), d.editor, nil).Body.String())[1]
	}
	mark := within()
	signs := func(when string) string {
		t.Helper()
		got := d.ask(http.MethodGet, d.address("/w/{workspace}/live")+"?since="+fmt.Sprint(made.UnixMilli())+html.UnescapeString(mark), d.editor)
		d.withoutLeaks(when, got)
		return got.Body.String()
	}
	all := sheaf.WorkspaceSet{All: true}
	for _, s := range []Sign{SignDeliveries, SignMinutes, SignEvents} {
		d.c.Wake(s, all)
	}
	if got := signs("a new page"); !strings.Contains(got, "event: events") || strings.Contains(got, "deliveries") || strings.Contains(got, "minutes") {
		t.Errorf("after a change inside: %q", got)
	}
	made = d.c.Now().Add(10 * liveSlack) // as if the page were made after all that
	d.newProject(canary)
	if got := signs("a page after a change outside"); strings.Contains(got, "event:") {
		t.Errorf("after a change outside: %q", got)
	}
	caller := d.callerOf(d.editor)
	at, err := d.a.FollowEvents(t.Context(), caller, sheaf.EventFilter{})
	d.must(err)
	d.newProject(canary)
	f := &follower{v: &visit{console: d.c, caller: caller}, at: at}
	if last, err := d.a.FollowEvents(t.Context(), f.v.caller, sheaf.EventFilter{}); err != nil || last != at {
		t.Errorf("an event outside moves the stream from %d to %d, %v", at, last, err)
	}

	// A page from before another restriction loads itself anew, and one from after it does not.
	if got := signs("the same restriction"); strings.Contains(got, signAnew) {
		t.Errorf("under the same restriction: %q", got)
	}
	for _, to := range []*app.RestrictTo{{Projects: []sheaf.ProjectID{sheaf.ProjectID(d.inside["projects"])}}, nil} {
		d.must(d.a.Restrict(t.Context(), d.caller, caller.User, to, sheaf.Opt[string]{}))
		if got := signs("another restriction"); !strings.Contains(got, "event: anew") {
			t.Errorf("after another restriction: %q", got)
		}
		mark = within()
		if got := signs("a page under the new restriction"); strings.Contains(got, signAnew) {
			t.Errorf("under the new restriction: %q", got)
		}
	}
}

// D168: the choice of projects and folders works without a script: it finds by name, keeps what is ticked
// and typed, and shows paths.
func TestReach_IsChosenWithoutAScript(t *testing.T) {
	d := divide(t)
	send := func(path string, form url.Values) *httptest.ResponseRecorder {
		t.Helper()
		return d.request(http.MethodPost, d.with(d.inside, "/w/{workspace}"+path), d.owner, form)
	}
	folder, project := "folder:"+d.inside["folders"], "project:"+d.inside["projects"]
	ticked := func(key string) string { return `value="` + key + `" checked` }
	form := url.Values{"name": {"My key"}, "scope": {"documents:read"}, "reach": {"part"}, "within": {folder}, "find-reach": {"inside PROJ"}, "find": {"reach"}}
	got := send("/keys", form).Body.String()
	d.wantIn(got, true, ticked(folder), `value="`+project+`"`, "project in <bdi>"+canary+" above / Inside folder</bdi>", `value="My key"`, `value="part" checked`)
	d.wantIn(got, false, ticked(project), canary+" project", "Copy the key now")
	// Enter in the field of the search searches too, and makes no key.
	form.Del("find")
	d.wantIn(send("/keys", form).Body.String(), true, `value="`+project+`"`)
	form.Set("found-reach", "inside PROJ")
	form.Add("within", project)
	d.wantIn(send("/keys", form).Body.String(), true, "Copy the key now")
	keys, err := d.a.Keys(t.Context(), d.caller, sheaf.Paging{Limit: 100})
	d.must(err)
	if k := keys.Items[len(keys.Items)-1]; k.Name != "My key" || k.RestrictedTo == nil || len(k.RestrictedTo.Projects) != 1 || len(k.RestrictedTo.Folders) != 1 {
		t.Errorf("the key is %+v", k)
	}
	d.wantIn(d.get("keys"), true, "sees one project, one folder and what is in it")
	// What is ticked counts, also if a form without the choice sends it.
	d.wantIn(send("/keys", url.Values{"name": {"Another key"}, "scope": {"documents:read"}, "within": {folder}}).Body.String(), true, "Copy the key now")
	d.wantIn(d.get("keys"), true, "sees one folder and what is in it")
	// The choice of the whole workspace counts, whatever is still ticked below it.
	d.wantIn(send("/keys", url.Values{"name": {"A whole key"}, "scope": {"documents:read"}, "reach": {""}, "within": {folder}}).Body.String(), true, "Copy the key now")
	keys, err = d.a.Keys(t.Context(), d.caller, sheaf.Paging{Limit: 100})
	d.must(err)
	if k := keys.Items[len(keys.Items)-1]; k.Name != "A whole key" || k.RestrictedTo != nil {
		t.Errorf("the key is %+v", k)
	}

	for what, wrong := range map[string]struct {
		change url.Values
		says   string
	}{
		"nothing":        {url.Values{"within": nil}, "Access: tick at least one project or folder"},
		"a wide scope":   {url.Values{"scope": {"documents:read", "keys:read"}}, "keys:read reaches beyond projects and folders"},
		"made-up record": {url.Values{"within": {"medium:" + nowhereID}}, "is not a project, folder or document"},
	} {
		bad := url.Values{"name": {"k"}, "scope": {"documents:read"}, "reach": {"part"}, "within": {folder}}
		for name, values := range wrong.change {
			bad[name] = values
		}
		if got := send("/keys", bad); got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), wrong.says) {
			t.Errorf("%s: %d, no %q in %s", what, got.Code, wrong.says, got.Body)
		}
	}

	// An invitation, and the page of the invited.
	invite := url.Values{"email": {"eva@example.com"}, "role": {"admin"}, "reach": {"part"}, "within": {folder}}
	d.wantIn(send("/members/invite", invite).Body.String(), true, "cannot be restricted", ticked(folder), `value="admin" checked`)
	invite.Set("role", "editor")
	d.wantIn(send("/members/invite", invite).Body.String(), true, "Send this link")
	d.wantIn(d.get("members"), true, "eva@example.com", "sees one folder and what is in it", "Access of Dan")

	// What a member sees is changed later, and lifted.
	dan := d.callerOf(d.editor)
	d.inside["members"] = string(dan.User)
	access := d.get("members/" + string(dan.User) + "/access")
	d.wantIn(access, true, ticked(folder), "folder in <bdi>"+canary+" above</bdi>")
	seen := url.Values{"seen": {hidden(access).Get("seen")}, "reach": {"part"}, "within": {project}}
	if got := send("/members/{id}/access", seen); got.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	if to := d.callerOf(d.editor).Restriction(); to == nil || len(to.Folders) != 0 || len(to.Projects) != 1 {
		t.Errorf("the member sees %+v", to)
	}
	// Another owner has changed it meanwhile.
	d.wantIn(send("/members/{id}/access", seen).Body.String(), true, "Another owner changed this", ticked(project))
	seen = url.Values{"seen": {hidden(d.get("members/" + string(dan.User) + "/access")).Get("seen")}, "reach": {""}}
	if got := send("/members/{id}/access", seen); got.Code != http.StatusSeeOther || d.callerOf(d.editor).Restriction() != nil {
		t.Errorf("%d: the member is restricted to %+v", got.Code, d.callerOf(d.editor).Restriction())
	}
}

// D169: a picture of another document is shown in the document whose text names it.
func TestRestricted_PictureOfAnotherDocument(t *testing.T) {
	d := divide(t)
	id := sheaf.DocumentID(d.inside["documents"])
	_, err := d.a.UpdateDocument(t.Context(), d.caller, id, sheaf.DocumentChange{Content: sheaf.Some("![x](media:" + d.outside["media"] + ")")}, sheaf.Match{})
	d.must(err)
	address := "/w/" + string(d.caller.Workspace) + "/media/" + d.outside["media"] + "/content"
	shown := address + "?document=" + string(id)
	d.wantIn(d.request(http.MethodGet, d.with(d.inside, "/w/{workspace}/documents/{id}"), d.reader, nil).Body.String(), true, `src="`+shown+`"`)
	for at, want := range map[string]int{shown: http.StatusOK, address: http.StatusNotFound, address + "?document=" + d.outside["documents"]: http.StatusNotFound} {
		if got := d.request(http.MethodGet, at, d.reader, nil); got.Code != want {
			t.Errorf("%s: %d, want %d", at, got.Code, want)
		}
	}
}
