package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

const proposals = "/api/v1/proposals"

// reviewers returns an author who may only propose, and an editor who may accept.
func reviewers(a *apitest.API) (w *apitest.Workspace, author, editor *apitest.Client) {
	w = a.Workspace(sheaf.Business)
	return w, w.Client(w.Key(sheaf.ProposalsRead, sheaf.ProposalsWrite, sheaf.DocumentsRead, sheaf.ProjectsRead)), w.Client(w.Key(sheaf.AllScopes...))
}

// page makes a document of these lines, one for each word, and returns its id.
func page(t testing.TB, c *apitest.Client, words string) string {
	t.Helper()
	return c.POST(documents, fields{"title": "Page", "content": wordLines(words)}).Want(t, 201).Text(t, "id")
}

func wordLines(words string) string { return strings.ReplaceAll(words, " ", "\n") + "\n" }

// edit is a change of the text of a document that had that version.
func edit(id string, version int, words string) fields {
	return fields{"op": "edit", "document_id": id, "base_version": version, "content": wordLines(words)}
}

func propose(c *apitest.Client, changes ...fields) *apitest.Response {
	return c.POST(proposals, fields{"title": "Better", "changes": changes})
}

// accept accepts the proposal as it is now.
func accept(t testing.TB, c *apitest.Client, id string) *apitest.Response {
	t.Helper()
	tag := c.GET(proposals+"/"+id).Want(t, 200).Header.Get("ETag")
	return c.POST(proposals+"/"+id+"/accept", nil, "If-Match: "+tag)
}

func textOf(t testing.TB, c *apitest.Client, id string) string {
	t.Helper()
	return c.GET(documents+"/"+id).Want(t, 200).Text(t, "content")
}

// D173, D175: what is proposed is written when it is accepted, and not before.
func TestProposal_IsWrittenWhenItIsAccepted(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		_, author, editor := reviewers(a)
		id := page(t, editor, "a b c d e")
		gone := page(t, editor, "x")
		p := propose(author, edit(id, 1, "a b c d E"),
			fields{"op": "create", "title": "New", "content": "Hello"},
			fields{"op": "create", "title": "Below", "parent_id": "$1"},
			fields{"op": "delete", "document_id": gone, "base_version": 1}).Want(t, 201)
		if p.JSON["state"] != "open" || p.JSON["revision"] != 1.0 || !strings.HasSuffix(p.Header.Get("Location"), proposals+"/"+p.Text(t, "id")) {
			t.Errorf("a new proposal is %s", p.Body)
		}
		if strings.Contains(string(p.Body), "Hello") {
			t.Errorf("the answer has texts: %s", p.Body)
		}
		if got := textOf(t, editor, id); got != wordLines("a b c d e") {
			t.Errorf("before the decision the text is %q", got)
		}
		editor.PATCH(documents+"/"+id, fields{"content": wordLines("A b c d e")}).Want(t, 200)

		after := accept(t, editor, p.Text(t, "id")).Want(t, 200)
		if after.JSON["state"] != "accepted" || after.JSON["revision"] != 2.0 || after.JSON["decided_by"] == nil {
			t.Errorf("accepted: %s", after.Body)
		}
		if got := textOf(t, editor, id); got != wordLines("A b c d E") {
			t.Errorf("merged %q", got)
		}
		versions := editor.GET(documents+"/"+id+"/versions").Want(t, 200).Items(t)
		if len(versions) != 3 || versions[0]["proposal_id"] != p.Text(t, "id") || versions[1]["proposal_id"] != nil ||
			versions[0]["key_id"] != p.JSON["key_id"] {
			t.Errorf("versions are %v", versions)
		}
		editor.GET(documents+"/"+gone).WantError(t, 404, "NOT_FOUND")
		tree := editor.GET(documents+"?sort=created_at&project_id=null").Want(t, 200).Items(t)
		if len(tree) != 3 || tree[2]["parent_id"] != tree[1]["id"] {
			t.Errorf("documents are %v", tree)
		}
		accept(t, editor, p.Text(t, "id")).WantError(t, 409, "CONFLICT", "already accepted")
	})
}

// D175, D176: a conflict writes nothing, says where it is, and is resolved by another base version.
func TestProposal_ConflictWritesNothing(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		_, author, editor := reviewers(a)
		id, other := page(t, editor, "a b c"), page(t, editor, "q r s")
		p := propose(author, edit(other, 1, "q r S"), edit(id, 1, "a X c")).Want(t, 201).Text(t, "id")
		editor.PATCH(documents+"/"+id, fields{"content": wordLines("a Y c")}).Want(t, 200)

		r := accept(t, editor, p).WantError(t, 409, "CONFLICT", "base_version")
		want := `"conflicts":[{"change":1,"document_id":"` + id + `","reason":"the text was changed in the same places, or beside them",` +
			`"hunks":[{"base_line":2,"base":"b\n","present_line":2,"present":"Y\n","proposed_line":2,"proposed":"X\n"}]}]`
		if !strings.Contains(string(r.Body), want) {
			t.Errorf("got %s, want %s", r.Body, want)
		}
		if got := author.GET(proposals+"/"+p).Want(t, 200); !strings.Contains(string(got.Body), want) {
			t.Errorf("get has %s", got.Body)
		}
		if got := textOf(t, editor, other); got != wordLines("q r s") {
			t.Errorf("half of it was written: %q", got)
		}
		r = author.GET(proposals+"/"+p+"/changes/1").Want(t, 200)
		if r.JSON["base"] != wordLines("a b c") || r.JSON["proposed"] != wordLines("a X c") || r.JSON["present"] != wordLines("a Y c") || r.JSON["merged"] != nil {
			t.Errorf("preview %s", r.Body)
		}
		author.PATCH(proposals+"/"+p, fields{"changes": []fields{edit(id, 2, "a XY c")}}).Want(t, 200)
		accept(t, editor, p).Want(t, 200)
		if got := textOf(t, editor, id); got != wordLines("a XY c") {
			t.Errorf("resolved: %q", got)
		}
	})
}

// D176: however long the texts are that conflict, the lines that are shown together are bounded. A preview
// has those of its change.
func TestProposal_LongConflictsAreBounded(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		_, author, editor := reviewers(a)
		var changes, others []fields
		for i := range 4 {
			id := editor.POST(documents, fields{"title": "T", "content": strings.Repeat("base ", 50_000)}).Want(t, 201).Text(t, "id")
			changes = append(changes, fields{"op": "edit", "document_id": id, "base_version": 1, "content": strings.Repeat("proposed ", 20_000+i)})
			others = append(others, fields{"action": "update", "resource_type": "document", "resource_id": id, "body": fields{"content": strings.Repeat("other ", 40_000)}})
		}
		p := propose(author, changes...).Want(t, 201).Text(t, "id")
		editor.POST("/api/v1/batch", fields{"operations": others}).Want(t, 200)
		for _, r := range []*apitest.Response{author.GET(proposals+"/"+p).Want(t, 200), accept(t, editor, p).WantError(t, 409, "CONFLICT")} {
			if n := strings.Count(string(r.Body), "the same places"); n != 4 || len(r.Body) > 1<<20 || !strings.Contains(string(r.Body), "base base") {
				t.Errorf("%d conflicts in %d bytes", n, len(r.Body))
			}
		}
		if r := author.GET(proposals+"/"+p+"/changes/3").Want(t, 200); !strings.Contains(string(r.Body), `"hunks":[{`) {
			t.Errorf("the preview of a change has no hunks: %.300s", r.Body)
		}
	})
}

// D175: fields are merged one by one.
func TestProposal_MergesFields(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		_, author, editor := reviewers(a)
		id := editor.POST(documents, fields{"title": "T", "metadata": fields{"a": "1", "b": "1"}}).Want(t, 201).Text(t, "id")
		change := fields{"op": "edit", "document_id": id, "base_version": 1, "title": "T2", "url": "https://example.com/2", "metadata": fields{"a": "2", "c": "2"}}
		p := propose(author, change).Want(t, 201).Text(t, "id")
		editor.PATCH(documents+"/"+id, fields{"description": "D", "url": "https://example.com/2", "metadata": fields{"b": "3"}}).Want(t, 200)
		accept(t, editor, p).Want(t, 200)
		d := editor.GET(documents+"/"+id).Want(t, 200)
		if m := fmt.Sprint(d.JSON["metadata"]); m != "map[a:2 b:3 c:2]" || d.JSON["title"] != "T2" || d.JSON["description"] != "D" {
			t.Errorf("merged %s", d.Body)
		}
		all := propose(author, fields{"op": "edit", "document_id": id, "base_version": 2, "metadata": nil}).Want(t, 201).Text(t, "id")
		editor.PATCH(documents+"/"+id, fields{"metadata": fields{"later": "4"}}).Want(t, 200)
		accept(t, editor, all).Want(t, 200)
		if m := fmt.Sprint(editor.GET(documents+"/"+id).Want(t, 200).JSON["metadata"]); m != "map[later:4]" {
			t.Errorf("all metadata was removed, and then there is %s", m)
		}
		editor.PATCH(documents+"/"+id, fields{"metadata": fields{"a": "2"}}).Want(t, 200)
		for field, value := range map[string]any{"title": "mine", "description": "mine", "external_id": "mine", "metadata": fields{"a": "mine"}} {
			version := int(editor.GET(documents+"/"+id).Want(t, 200).JSON["version"].(float64))
			p := propose(author, fields{"op": "edit", "document_id": id, "base_version": version, field: value}).Want(t, 201).Text(t, "id")
			other := fields{field: "yours"}
			if field == "metadata" {
				other[field] = fields{"a": "yours"}
			}
			editor.PATCH(documents+"/"+id, other).Want(t, 200)
			accept(t, editor, p).WantError(t, 409, "CONFLICT")
			editor.POST(proposals+"/"+p+"/reject", nil).Want(t, 200)
		}
	})
}

// D175: a document is not deleted if it changed since, or if another document appeared below it.
func TestProposal_DeletesOnlyWhatItsAuthorSaw(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		_, author, editor := reviewers(a)
		for name, change := range map[string]func(id string){
			"text":  func(id string) { editor.PATCH(documents+"/"+id, fields{"content": "new"}).Want(t, 200) },
			"field": func(id string) { editor.PATCH(documents+"/"+id, fields{"description": "new"}).Want(t, 200) },
			"child": func(id string) { editor.POST(documents, fields{"title": "new", "parent_id": id}).Want(t, 201) },
		} {
			id := page(t, editor, "x")
			p := propose(author, fields{"op": "delete", "document_id": id, "base_version": 1}).Want(t, 201).Text(t, "id")
			change(id)
			accept(t, editor, p).WantError(t, 409, "CONFLICT")
			if conflicts := editor.GET(proposals+"/"+p).Want(t, 200).JSON["conflicts"].([]any); len(conflicts) != 1 {
				t.Errorf("%s: conflicts %v", name, conflicts)
			}
			editor.GET(documents+"/"+id).Want(t, 200)
		}
	})
}

// D174, D179: the states are final, and only the right people decide.
func TestProposal_Decisions(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		w, author, editor := reviewers(a)
		id := page(t, editor, "a b")
		p := propose(author, edit(id, 1, "a B")).Want(t, 201).Text(t, "id")
		author.POST(proposals+"/"+p+"/accept", nil).WantError(t, 403, "FORBIDDEN", "proposals:approve")
		author.POST(proposals+"/"+p+"/reject", nil).WantError(t, 403, "FORBIDDEN", "proposals:approve")
		editor.POST(proposals+"/"+p+"/accept", nil).WantError(t, 400, "VALIDATION_ERROR", "If-Match")
		for _, act := range []string{"accept", "approve"} { // it has read none in particular
			editor.POST(proposals+"/"+p+"/"+act, nil, "If-Match: *").WantError(t, 400, "VALIDATION_ERROR", "ETag")
		}
		editor.POST(proposals+"/"+p+"/accept", nil, `If-Match: "7-0000"`).WantError(t, 412, "PRECONDITION_FAILED")
		reader := w.Client(w.Key(sheaf.ProposalsRead, sheaf.ProposalsApprove))
		reader.POST(proposals+"/"+p+"/accept", nil, `If-Match: "1-0"`).WantError(t, 403, "FORBIDDEN", "documents:write")
		reader.GET(proposals+"/"+p+"/changes/0").WantError(t, 403, "FORBIDDEN", "documents:read")

		r := editor.POST(proposals+"/"+p+"/reject", fields{"note": "No."}).Want(t, 200)
		if r.JSON["state"] != "rejected" || r.JSON["note"] != "No." {
			t.Errorf("rejected: %s", r.Body)
		}
		for _, act := range []string{"accept", "reject", "withdraw", "approve"} {
			editor.POST(proposals+"/"+p+"/"+act, nil, `If-Match: "1-0"`).WantError(t, 409, "CONFLICT", "already rejected")
		}
		editor.PATCH(proposals+"/"+p, fields{"title": "Late"}).WantError(t, 409, "CONFLICT")

		p = propose(author, edit(id, 1, "a B")).Want(t, 201).Text(t, "id")
		if r := author.POST(proposals+"/"+p+"/withdraw", nil).Want(t, 200); r.JSON["state"] != "withdrawn" {
			t.Errorf("withdrawn: %s", r.Body)
		}
		if got := textOf(t, editor, id); got != wordLines("a b") {
			t.Errorf("the text is %q", got)
		}
		var states []string
		for _, e := range editor.GET("/api/v1/events?limit=100").Want(t, 200).Items(t) {
			if e["resource_type"] == "proposal" {
				states = append(states, e["type"].(string))
			}
		}
		if got := strings.Join(states, " "); got != "proposal.created proposal.rejected proposal.created proposal.withdrawn" {
			t.Errorf("events: %s", got)
		}
	})
}

// D174: no user approves what they wrote, and a new text removes the approvals.
func TestProposal_Approvals(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		w, author, _ := reviewers(a)
		editor := another(t, a, w)
		id := page(t, editor, "a b")
		p := propose(author, edit(id, 1, "a B")).Want(t, 201)
		path, tag := proposals+"/"+p.Text(t, "id"), p.Header.Get("ETag")
		w.Client(w.Key(sheaf.AllScopes...)).POST(path+"/approve", nil, "If-Match: "+tag).WantError(t, 403, "FORBIDDEN", "you wrote")
		editor.POST(path+"/approve", nil).WantError(t, 400, "VALIDATION_ERROR", "If-Match")
		r := editor.POST(path+"/approve", nil, "If-Match: "+tag).Want(t, 200)
		if n := len(r.JSON["approvals"].([]any)); n != 1 || r.JSON["revision"] != 1.0 {
			t.Errorf("approved: %s", r.Body)
		}
		editor.POST(path+"/approve", nil, "If-Match: "+tag).Want(t, 200) // the revision is the same
		editor.DELETE(path+"/approve").Want(t, 204)
		editor.POST(path+"/approve", nil, "If-Match: "+tag).Want(t, 200)
		r = author.PATCH(path, fields{"title": "Best"}).Want(t, 200)
		if n := len(r.JSON["approvals"].([]any)); n != 1 {
			t.Errorf("another title: %s", r.Body)
		}
		r = author.PATCH(path, fields{"changes": []fields{edit(id, 1, "a BB")}}).Want(t, 200)
		if n := len(r.JSON["approvals"].([]any)); n != 0 || r.JSON["revision"] != 3.0 {
			t.Errorf("another text: %s", r.Body)
		}
		editor.PATCH(path, fields{"changes": []fields{edit(id, 1, "a BBB")}}).Want(t, 200)
		editor.POST(path+"/approve", nil, `If-Match: "4-0"`).WantError(t, 403, "FORBIDDEN", "you wrote")
	})
}

// D173: a refusal says which change is wrong.
func TestProposal_BadChanges(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		_, author, editor := reviewers(a)
		id := page(t, editor, "a b")
		for name, c := range map[string]struct {
			status int
			code   string
			part   string
			change fields
		}{
			"op":       {400, "VALIDATION_ERROR", "op must be", fields{"op": "update", "document_id": id}},
			"document": {400, "VALIDATION_ERROR", "document_id is required", fields{"op": "edit", "base_version": 1, "title": "x"}},
			"unknown":  {404, "NOT_FOUND", "document not found", fields{"op": "edit", "document_id": "0190b0a0-0000-7000-8000-000000000001", "base_version": 1, "title": "x"}},
			"base":     {400, "VALIDATION_ERROR", "base_version is required", fields{"op": "delete", "document_id": id}},
			"never":    {400, "VALIDATION_ERROR", "has only 1 versions", fields{"op": "edit", "document_id": id, "base_version": 2, "title": "x"}},
			"place":    {400, "VALIDATION_ERROR", "move", fields{"op": "edit", "document_id": id, "base_version": 1, "parent_id": nil}},
			"nothing":  {400, "VALIDATION_ERROR", "nothing to change", fields{"op": "edit", "document_id": id, "base_version": 1}},
			"made":     {400, "VALIDATION_ERROR", "$7", fields{"op": "create", "title": "x", "parent_id": "$7"}},
			"project":  {404, "NOT_FOUND", "project not found", fields{"op": "create", "title": "x", "project_id": id}},
			"title":    {400, "VALIDATION_ERROR", "title is required", fields{"op": "create"}},
			"move":     {400, "VALIDATION_ERROR", "say where", fields{"op": "move", "document_id": id}},
		} {
			r := propose(author, fields{"op": "create", "title": "fine"}, c.change)
			r.WantError(t, c.status, c.code, c.part, "changes[1]: ")
			if r.JSON["index"] != 1.0 {
				t.Errorf("%s: index %v", name, r.JSON["index"])
			}
		}
		propose(author).WantError(t, 400, "VALIDATION_ERROR", "1 to 100")
		propose(author, edit(id, 1, "x"), edit(id, 1, "y")).WantError(t, 400, "VALIDATION_ERROR", "in an earlier change with the same op")
		big := strings.Repeat("x", 1<<20)
		var changes []fields
		for range 5 {
			changes = append(changes, fields{"op": "create", "title": "x", "content": big})
		}
		propose(author, changes...).WantError(t, 400, "VALIDATION_ERROR", "4 MiB")
		if n := len(author.GET(proposals).Want(t, 200).Items(t)); n != 0 {
			t.Errorf("%d proposals were made", n)
		}
	})
}

// D173, D174: the list has filters, and a restricted key sees a proposal only if it sees all of it.
func TestProposal_Lists(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		_, author, editor := reviewers(a)
		one, two := editor.POST(projects, fields{"name": "One"}).Want(t, 201).Text(t, "id"), editor.POST(projects, fields{"name": "Two"}).Want(t, 201).Text(t, "id")
		doc := func(project string) string {
			return editor.POST(documents, fields{"title": "D", "project_id": project}).Want(t, 201).Text(t, "id")
		}
		d1, d2 := doc(one), doc(two)
		in1 := propose(author, edit(d1, 1, "x")).Want(t, 201).Text(t, "id")
		both := propose(author, edit(d1, 1, "x"), edit(d2, 1, "x")).Want(t, 201).Text(t, "id")
		new2 := propose(author, fields{"op": "create", "title": "x", "project_id": two}).Want(t, 201).Text(t, "id")
		none := propose(editor, fields{"op": "create", "title": "x"}).Want(t, 201).Text(t, "id")
		editor.POST(proposals+"/"+new2+"/reject", nil).Want(t, 200)
		user := author.GET(proposals+"/"+in1).Want(t, 200).Text(t, "user_id")
		restricted := restrictedKey(t, a, editor, fields{"project_ids": []string{one}})
		for _, c := range []struct {
			c     *apitest.Client
			query string
			want  []string
		}{
			{author, "", []string{in1, both, new2, none}},
			{author, "?state=open", []string{in1, both, none}},
			{author, "?state=rejected", []string{new2}},
			{author, "?document_id=" + d2, []string{both}},
			{author, "?project_id=" + two, []string{both, new2}},
			{author, "?project_id=" + one, []string{in1, both}},
			{author, "?user_id=" + user + "&order=desc", []string{none, new2, both, in1}},
			{author, "?updated_since=2100-01-01T00:00:00Z", nil},
			{restricted, "", []string{in1}},
			{restricted, "?document_id=" + d1, []string{in1}},
		} {
			if got := c.c.GET(proposals+c.query).Want(t, 200).IDs(t); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%s: %v, want %v", c.query, got, c.want)
			}
		}
		restricted.GET(proposals+"/"+both).WantError(t, 404, "NOT_FOUND")
		restricted.GET(proposals+"/"+none).WantError(t, 404, "NOT_FOUND")
		restricted.POST(proposals+"/"+both+"/accept", nil, `If-Match: "1-0"`).WantError(t, 404, "NOT_FOUND")
		restricted.POST(proposals+"/"+none+"/approve", nil, `If-Match: "1-0"`).WantError(t, 404, "NOT_FOUND")
		restricted.GET(proposals+"/"+in1).Want(t, 200)
		propose(restricted, edit(d2, 1, "y")).WantError(t, 404, "NOT_FOUND")
		propose(restricted, fields{"op": "create", "title": "x"}).WantError(t, 403, "FORBIDDEN")
		for _, e := range restricted.GET("/api/v1/events").Want(t, 200).Items(t) {
			if e["resource_type"] == "proposal" && e["resource_id"] != in1 {
				t.Errorf("a restricted key sees the event %v", e)
			}
		}
	})
}

// D171: an update of a proposal is in the log of a restriction only if everything that it named before, and
// names now, is visible there.
func TestProposal_UpdateThatLeavesARestriction(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		d := divide(t, a)
		inside := fields{"op": "edit", "document_id": d.document, "base_version": 1, "title": "inside"}
		outside := fields{"op": "edit", "document_id": d.out["documents"], "base_version": 1, "title": canary}
		p := propose(d.owner, inside).Want(t, 201).Text(t, "id")
		for _, changes := range [][]fields{{outside}, {inside}, {inside, outside}, {inside}} {
			d.owner.PATCH(proposals+"/"+p, fields{"changes": changes}).Want(t, 200)
		}
		d.owner.PATCH(proposals+"/"+p, fields{"title": "Other"}).Want(t, 200)
		for _, c := range []*apitest.Client{d.inFolder, d.inProject} {
			r := c.GET("/api/v1/events?limit=100&resource_id="+p).Want(t, 200)
			if strings.Contains(string(r.Body), canary) || len(r.Items(t)) != 2 {
				t.Errorf("the log of the restriction is %s", r.Body)
			}
		}
	})
}

// another returns a client of the workspace whose user is not its owner.
func another(t testing.TB, a *apitest.API, w *apitest.Workspace) *apitest.Client {
	t.Helper()
	user := a.Workspace(sheaf.Business).Owner
	secret, _ := w.NewKey(func(k *sheaf.Key) { k.UserID = user })
	return w.Client(secret)
}

// D180: the limit of a user is exact, however many clients propose at once, and a decision makes room.
func TestProposal_LimitIsExact(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		w, author, editor := reviewers(a)
		together := func(n int) map[int]int {
			return apitest.Statuses(apitest.Together(n, func(int) *apitest.Response {
				return propose(author, fields{"op": "create", "title": "x"})
			}))
		}
		if got := fmt.Sprint(together(sheaf.MaxOpenOfUser - 3)); got != "map[201:97]" {
			t.Fatalf("the first ones: %s", got)
		}
		if got := fmt.Sprint(together(8)); got != "map[201:3 403:5]" {
			t.Errorf("at the limit: %s", got)
		}
		propose(editor, fields{"op": "create", "title": "x"}).WantError(t, 403, "PROPOSAL_LIMIT_REACHED", "100")
		first := author.GET(proposals+"?limit=1").Want(t, 200).IDs(t)[0]
		editor.POST(proposals+"/"+first+"/reject", nil).Want(t, 200)
		propose(another(t, a, w), fields{"op": "create", "title": "x"}).Want(t, 201)
		if got := fmt.Sprint(together(2)); got != "map[201:1 403:1]" {
			t.Errorf("after a decision: %s", got)
		}
		if found := a.Doctor(); len(found) > 0 {
			t.Errorf("the doctor finds %v", found)
		}
	})
}

// D175: if several people accept one proposal at once, one of them succeeds. If several proposals are
// accepted at once, none is lost, because each is merged with the result of the others.
func TestProposal_AcceptedTogether(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		_, author, editor := reviewers(a)
		const n = 12
		var words, want []string
		for i := range n {
			words = append(words, fmt.Sprint("a", i), fmt.Sprint("between", i))
			want = append(want, fmt.Sprint("b", i), fmt.Sprint("between", i))
		}
		id := page(t, editor, strings.Join(words, " "))
		var made []string
		for i := range n {
			text := strings.Replace(strings.Join(words, " "), fmt.Sprint("a", i), fmt.Sprint("b", i), 1)
			if i == 1 { // a1 is the beginning of a10 and a11 too
				text = strings.Replace(strings.Join(words, " "), "a1 ", "b1 ", 1)
			}
			made = append(made, propose(author, edit(id, 1, text)).Want(t, 201).Text(t, "id"))
		}
		got := apitest.Statuses(apitest.Together(3*n, func(i int) *apitest.Response {
			return editor.POST(proposals+"/"+made[i/3]+"/accept", nil, `If-Match: "1-0"`)
		}))
		if fmt.Sprint(got) != fmt.Sprintf("map[200:%d 409:%d]", n, 2*n) {
			t.Errorf("accepting each three times: %v", got)
		}
		if got := textOf(t, editor, id); got != wordLines(strings.Join(want, " ")) {
			t.Errorf("a change was lost: %q", got)
		}
		if v := editor.GET(documents+"/"+id).Want(t, 200).JSON["version"]; v != float64(n+1) {
			t.Errorf("version %v", v)
		}
		if found := a.Doctor(); len(found) > 0 {
			t.Errorf("the doctor finds %v", found)
		}
	})
}

// D175: the texts count in the quota once for each proposal, and a refusal leaves nothing behind.
func TestProposal_CountsInTheQuota(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		_, author, editor := reviewers(a)
		stored := func() float64 {
			return editor.GET("/api/v1/me").Want(t, 200).JSON["storage"].(map[string]any)["used"].(float64)
		}
		id := page(t, editor, "a b")
		before := stored()
		p := propose(author, edit(id, 1, "a b c"), fields{"op": "create", "title": "x", "content": wordLines("a b c")}).Want(t, 201).Text(t, "id")
		if got := stored() - before; got != 6+4 { // the proposed text once, and the one that it changes
			t.Errorf("a proposal counts %v bytes", got)
		}
		author.PATCH(proposals+"/"+p, fields{"changes": []fields{edit(id, 1, "a")}}).Want(t, 200)
		if got := stored() - before; got != 2+4 {
			t.Errorf("a changed proposal counts %v bytes", got)
		}
		author.PATCH(proposals+"/"+p, fields{"changes": []fields{edit(id, 7, "a")}}).WantError(t, 400, "VALIDATION_ERROR")
		if got := stored() - before; got != 2+4 {
			t.Errorf("after a refusal it counts %v bytes", got)
		}
		if found := a.Doctor(); len(found) > 0 {
			t.Errorf("the doctor finds %v", found)
		}
	})
}

// D178: comments belong to their author, count in the quota, and end with the proposal.
func TestProposal_Comments(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		w, author, editor := reviewers(a)
		other := another(t, a, w)
		id := page(t, editor, "a b")
		p := propose(author, edit(id, 1, "a c")).Want(t, 201)
		path := proposals + "/" + p.Text(t, "id") + "/comments"
		author.POST(path, fields{"body": " "}).WantError(t, 400, "VALIDATION_ERROR", "body")
		author.POST(path, fields{"body": "x", "change": 1}).WantError(t, 400, "VALIDATION_ERROR", "change")
		author.POST(path, fields{"body": strings.Repeat("x", 10_001)}).WantError(t, 400, "VALIDATION_ERROR", "10000")
		first := author.POST(path, fields{"body": "Why *c*?", "change": 0}).Want(t, 201)
		if first.JSON["number"] != 1.0 || first.JSON["change"] != 0.0 {
			t.Errorf("a comment is %s", first.Body)
		}
		other.POST(path, fields{"body": "Because."}).Want(t, 201)
		other.PATCH(path+"/1", fields{"body": "x"}).WantError(t, 403, "FORBIDDEN", "author")
		other.DELETE(path+"/1").WantError(t, 403, "FORBIDDEN", "author")
		author.PATCH(path+"/1", fields{"body": "Why?"}, "If-Match: "+first.Header.Get("ETag")).Want(t, 200)
		author.PATCH(path+"/1", fields{"body": "No"}, "If-Match: "+first.Header.Get("ETag")).WantError(t, 412, "PRECONDITION_FAILED")
		author.PATCH(path+"/7", fields{"body": "x"}).WantError(t, 404, "NOT_FOUND")
		other.DELETE(path+"/2").Want(t, 204)
		if got := other.POST(path, fields{"body": "Again."}).Want(t, 201); got.JSON["number"] != 3.0 {
			t.Errorf("the number of a deleted comment was given again: %s", got.Body)
		}
		if got := author.GET(path+"?order=desc").Want(t, 200).Items(t); len(got) != 2 || got[0]["body"] != "Again." || got[1]["body"] != "Why?" {
			t.Errorf("comments are %v", got)
		}
		if got := author.GET(proposals+"/"+p.Text(t, "id")).Want(t, 200); got.JSON["revision"] != 1.0 {
			t.Errorf("comments changed the revision: %s", got.Body)
		}
		for _, e := range editor.GET("/api/v1/events?type=proposal.commented").Want(t, 200).Items(t) {
			if text := fmt.Sprint(e); strings.Contains(text, "Because") || e["resource_id"] != p.Text(t, "id") {
				t.Errorf("the event is %s", text)
			}
		}
		if found := a.Doctor(); len(found) > 0 {
			t.Errorf("the doctor finds %v", found)
		}
		editor.POST(proposals+"/"+p.Text(t, "id")+"/reject", nil).Want(t, 200)
		author.POST(path, fields{"body": "Late"}).WantError(t, 409, "CONFLICT")
		author.DELETE(path+"/1").WantError(t, 409, "CONFLICT")
	})
}

// D175: a field that an edit does not name stays as it is, metadata too.
func TestProposal_LeavesOtherFieldsAlone(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		_, author, editor := reviewers(a)
		id := editor.POST(documents, fields{"title": "Page", "content": "a\n", "description": "d", "url": "https://a.example", "external_id": "e", "metadata": fields{"k": "v"}}).Want(t, 201).Text(t, "id")
		p := propose(author, edit(id, 1, "b")).Want(t, 201)
		if change := p.JSON["changes"].([]any)[0].(map[string]any); len(change) != 5 {
			t.Errorf("the change is shown as %v", change)
		}
		accept(t, editor, p.Text(t, "id")).Want(t, 200)
		d := editor.GET(documents+"/"+id).Want(t, 200).JSON
		if d["description"] != "d" || d["url"] != "https://a.example" || d["external_id"] != "e" || fmt.Sprint(d["metadata"]) != "map[k:v]" || d["content"] != "b\n" {
			t.Errorf("the document is %v", d)
		}
	})
}
