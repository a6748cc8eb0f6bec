package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// D186: an export has the proposals with their texts and comments. The copy exports the same file, and an open
// proposal can be accepted there.
func TestImport_KeepsProposals(t *testing.T) {
	onEngines(t, func(t *testing.T, in *instance) {
		s, key := in.serves(t)
		ask := func(s *running, key, method, path string, body any) map[string]any {
			t.Helper()
			text, _ := json.Marshal(body)
			return decoded[map[string]any](t, s.asks(t, method, "/api/v1/"+path, key, string(text)))
		}
		id := func(path string, body any) string { return ask(s, key, "POST", path, body)["id"].(string) }
		document := id("documents", map[string]any{"title": "A", "content": "one\n\ntwo\n\nthree\n"})
		gone := id("documents", map[string]any{"title": "Gone"})
		open := id("proposals", map[string]any{"title": "Open", "message": "why", "changes": []any{
			map[string]any{"op": "edit", "document_id": document, "base_version": 1, "content": "ONE\n\ntwo\n\nthree\n", "description": nil, "metadata": map[string]any{"a": "b"}},
			map[string]any{"op": "create", "title": "New", "content": "new"},
			map[string]any{"op": "create", "title": "Below", "parent_id": "$1"},
			map[string]any{"op": "delete", "document_id": gone, "base_version": 1}}})
		ask(s, key, "POST", "proposals/"+open+"/comments", map[string]any{"body": "Please", "change": 1})
		ask(s, key, "POST", "proposals/"+open+"/comments", map[string]any{"body": "Now"})
		rejected := id("proposals", map[string]any{"title": "No", "changes": []any{map[string]any{"op": "edit", "document_id": document, "base_version": 1, "content": ""}}})
		ask(s, key, "POST", "proposals/"+rejected+"/reject", map[string]any{"note": "because"})
		s.asks(t, "PUT", "/api/v1/documents/"+document+"/content", key, "one\n\ntwo\n\nTHREE\n")
		first := in.export(t)

		other := &instance{flags: engines["sqlite"](t)}
		other.workspace = createWorkspace(t, other.flags, "business").ID
		file := fileOf(t, first)
		for _, args := range [][]string{{"--dry-run"}, nil} {
			if report := other.imports(t, file, args...); report.Added["proposals"] != 2 {
				t.Errorf("%v told %+v", args, report)
			}
		}
		if report := other.imports(t, file); report.Added["proposals"] != 0 || report.Skipped["proposals"] != 2 {
			t.Errorf("again: %+v", report)
		}
		if again := other.export(t); again != first {
			t.Errorf("the copy differs: %.300s", firstDifference(again, first))
		}
		other.healthy(t)
		copied, copyKey := other.serves(t)
		for _, path := range []string{open, open + "/comments", open + "/changes/0", rejected} {
			got, want := copied.asks(t, "GET", "/api/v1/proposals/"+path, copyKey, ""), s.asks(t, "GET", "/api/v1/proposals/"+path, key, "")
			if got != want && !strings.Contains(want, `"number"`) {
				t.Errorf("%s: %.300s, want %.300s", path, got, want)
			}
		}
		env := environment{"SHEAF_SERVER": copied.url, "SHEAF_API_KEY": copyKey, "HOME": t.TempDir()}
		sheafWith(t, env, "", "proposals", "accept", open).succeeds(t)
		if text := copied.asks(t, "GET", "/api/v1/documents/"+document+"/content", copyKey, ""); text != "ONE\n\ntwo\n\nTHREE\n" {
			t.Errorf("the text is %q", text)
		}
		if text := copied.asks(t, "GET", "/api/v1/documents/"+document+"/versions/3", copyKey, ""); !strings.Contains(text, open) {
			t.Errorf("the version does not name its proposal: %s", text)
		}
	})
}

// D177: an import needs no review, and the copied project needs it again.
func TestImport_OfAProjectThatNeedsReview(t *testing.T) {
	onEngines(t, func(t *testing.T, in *instance) {
		in.imports(t, exportOf(t, `{"kind":"project","id":"`+testID(1)+`","name":"Manual","review":{"approvals":2}}`,
			`{"kind":"document","id":"`+testID(2)+`","title":"Start","project_id":"`+testID(1)+`"}`))
		in.imports(t, exportOf(t, `{"kind":"project","id":"`+testID(1)+`","name":"Manual"}`,
			`{"kind":"document","id":"`+testID(3)+`","title":"More","project_id":"`+testID(1)+`"}`))
		in.healthy(t)
		s, key := in.serves(t)
		got := s.asks(t, "GET", "/api/v1/projects/"+testID(1), key, "")
		if !strings.Contains(got, `"review":{"approvals":2}`) || !strings.Contains(got, `"document_count":2`) {
			t.Errorf("the project is %s", got)
		}
	})
}

// D186: a file in which parts of a proposal are missing, doubled or elsewhere is refused as a whole.
func TestImport_ProposalsWithWrongParts(t *testing.T) {
	t.Parallel()
	in := &instance{flags: engines["sqlite"](t)}
	in.workspace = createWorkspace(t, in.flags, "business").ID
	const hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // of abc
	proposal := fmt.Sprintf(`{"kind":"proposal","id":%q,"title":"p","state":"open","user_id":%q,"changes":[{"op":"create","document":{"title":"n","content":""},"content_bytes":3,"content_sha256":%q}],"people":null}`, testID(1), testID(9), hash)
	people := fmt.Sprintf(`"people":[{"user":%q,"wrote":true},{"user":%q,"asked_at":"2026-01-02T03:04:05Z","asked_by":%q}]`, testID(9), testID(7), testID(8))
	asked := strings.ReplaceAll(proposal, `"people":null`, people)
	text := fmt.Sprintf(`{"kind":"proposal_text","proposal_id":%q,"content":"abc"}`, testID(1))
	comment := fmt.Sprintf(`{"kind":"comment","proposal_id":%q,"number":1,"body":"b","user_id":%q}`, testID(1), testID(9))
	file := func(lines ...string) string {
		return fileOf(t, strings.Join(append(append([]string{`{"kind":"sheaf_export","form":1}`}, lines...), `{"kind":"end"}`), "\n"))
	}
	for want, lines := range map[string][]string{
		"texts of the proposal on line 2 should be": {proposal},
		"which does not belong here":                {text},
		"does not belong here":                      {proposal, text, strings.ReplaceAll(comment, testID(1), testID(2))},
		"an earlier line has already":               {proposal, text, text},
		"no change of the proposal":                 {proposal, strings.ReplaceAll(text, "abc", "abd")},
		"the numbers of comments rise":              {proposal, text, comment, comment},
		"changes cannot be read":                    {strings.ReplaceAll(proposal, `"op":"create"`, `"op":"create","x":1`), text},
		"content_sha256 must be":                    {strings.ReplaceAll(proposal, hash, hash[1:]), text},
		"op must be":                                {strings.ReplaceAll(proposal, `"create"`, `"make"`), text},
		"decided_at and decided_by":                 {strings.ReplaceAll(proposal, `"open"`, `"accepted"`), text},
		"state must be":                             {strings.ReplaceAll(proposal, `"open"`, `"done"`), text},
		`people: "x" is not a UUID`:                 {strings.ReplaceAll(asked, testID(8), "x"), text},
	} {
		sheafCommand(t, append([]string{"import", "--workspace", in.workspace, file(lines...)}, in.flags...)...).fails(t, want)
	}
	sheafCommand(t, append([]string{"import", "--workspace", in.workspace, "--from-line", "3", file(proposal, text)}, in.flags...)...).fails(t, "in the middle of a proposal")
	if report := in.imports(t, file(asked, text, comment)); report.Added["proposals"] != 1 {
		t.Errorf("a whole one: %+v", report)
	}
	if again := in.export(t); !strings.Contains(again, people) {
		t.Errorf("who was asked is not in %s", again)
	}
	in.healthy(t)
}
