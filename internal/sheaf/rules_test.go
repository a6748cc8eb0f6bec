package sheaf

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestPlan_Limits(t *testing.T) {
	for _, c := range []struct {
		plan                         Plan
		keys, subscriptions          int
		api, folders, brandings, fit bool
	}{
		{Free, 0, 0, false, false, false, true},
		{Pro, 5, 3, true, true, false, true},
		{Business, 25, 20, true, true, true, true},
		{"gold", 0, 0, false, false, false, false},
		{"", 0, 0, false, false, false, false},
		{"PRO", 0, 0, false, false, false, false},
	} {
		if c.plan.MaxKeys() != c.keys || c.plan.MaxSubscriptions() != c.subscriptions || c.plan.Paid() != c.api {
			t.Errorf("%q: %d keys, %d subscriptions, paid %t", c.plan, c.plan.MaxKeys(), c.plan.MaxSubscriptions(), c.plan.Paid())
		}
		if _, err := ParsePlan(string(c.plan)); (err == nil) != c.fit {
			t.Errorf("%q: parsed with %v", c.plan, err)
		}
		for what, got := range map[string]struct {
			err  error
			want bool
		}{
			"API":              {c.plan.AllowAPI(), c.api},
			"project folders":  {c.plan.AllowFolders(ProjectFolder), c.folders},
			"branding folders": {c.plan.AllowFolders(BrandingFolder), c.brandings},
		} {
			var e *Error
			if (got.err == nil) != got.want || got.err != nil && (!errors.As(got.err, &e) || e.Code != CodePlanRequired || e.Kind != Forbidden) {
				t.Errorf("%q, %s: got %v", c.plan, what, got.err)
			}
		}
	}
}

func TestCheckName_CountsCodePoints(t *testing.T) {
	for _, c := range []struct {
		text string
		want string // in the error; empty: fits
	}{
		{"a", ""},
		{strings.Repeat("a", 200), ""},
		{strings.Repeat("長", 200), ""}, // 600 bytes
		{strings.Repeat("👩", 200), ""}, // 400 UTF-16 units
		{strings.Repeat("e\u0301", 100), ""},
		{" a ", ""},
		{strings.Repeat("a", 201), "name has 201 characters, at most 200"},
		{strings.Repeat("長", 201), "name has 201 characters"},
		{strings.Repeat("e\u0301", 101), "name has 202 characters"},
		{"", "name must not be empty"},
		{" \t\n\u00a0\u3000\u2028", "name must not be empty"},
		{strings.Repeat(" ", 500), "name must not be empty"},
	} {
		err := CheckName("name", c.text, MaxName)
		if c.want == "" && err != nil || c.want != "" && (KindOf(err) != Invalid || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: got %v, want %q", Clip(c.text), err, c.want)
		}
	}
	if err := CheckLength("description", "", MaxDescription); err != nil {
		t.Error(err)
	}
	if err := CheckLength("description", strings.Repeat("é", MaxDescription), MaxDescription); err != nil {
		t.Error(err)
	}
}

func TestCheckColor(t *testing.T) {
	for _, good := range []string{"#000000", "#ffffff", "#FFFFFF", "#aB09fF"} {
		if err := CheckColor(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "#", "#fff", "fff0000", "#ffffff0", "#gggggg", "#GGGGGG", "#12345@", "#12345`", " #12345", "#1234\u00e9", "red", "#12\x1045\x19"} {
		if err := CheckColor(bad); KindOf(err) != Invalid || !strings.Contains(err.Error(), "color") {
			t.Errorf("%q: got %v", bad, err)
		}
	}
}

func TestClip_KeepsWholeCharacters(t *testing.T) {
	if got := Clip(strings.Repeat("é", 60)); got != strings.Repeat("é", 60) {
		t.Errorf("got %s", got)
	}
	if got := Clip(strings.Repeat("é", 61)); got != strings.Repeat("é", 60)+"…" {
		t.Errorf("got %s", got)
	}
}

func TestError_KindCodeAndText(t *testing.T) {
	cause := errors.New("disk on fire")
	for _, c := range []struct {
		err  error
		kind Kind
		text string
	}{
		{InvalidField("name", "name has %d", 3), Invalid, "name has 3"},
		{Missing("project"), NotFound, "project not found: it does not exist, was deleted, or this key has no access to it"},
		{Forbiddenf("no"), Forbidden, "no"},
		{PlanRequiredf("pay"), Forbidden, "pay"},
		{fmt.Errorf("insert: %w", Invalidf("x")), Invalid, "insert: x"},
		{cause, Internal, "disk on fire"},
		{nil, Internal, ""},
	} {
		if got := KindOf(c.err); got != c.kind || c.err != nil && c.err.Error() != c.text {
			t.Errorf("%v: kind %d, want %d and %q", c.err, got, c.kind, c.text)
		}
	}
	err := UnavailableError(cause)
	if KindOf(err) != Unavailable || err.Code != CodeUnavailable || !errors.Is(err, cause) {
		t.Errorf("got %+v", err)
	}
	if strings.Contains(err.Text, "fire") || !strings.HasSuffix(err.Error(), "disk on fire") {
		t.Errorf("the cause is for the log alone: text %q, error %q", err.Text, err)
	}
}

func TestMatch_Check(t *testing.T) {
	for _, c := range []struct {
		match Match
		want  bool
	}{
		{Match{}, true}, {Match{Asked: true, Any: true}, true}, {Match{Asked: true, Revisions: []int64{1, 7}}, true},
		{Match{Asked: true, Revisions: []int64{1, 2}}, false}, {Match{Asked: true}, false},
	} {
		if err := c.match.Check(7); (err == nil) != c.want || err != nil && KindOf(err) != PreconditionFailed {
			t.Errorf("%+v: got %v", c.match, err)
		}
	}
}

func TestPage_More(t *testing.T) {
	for _, c := range []struct {
		limit, offset int
		total         int64
		want          bool
	}{{50, 0, 0, false}, {50, 0, 50, false}, {50, 0, 51, true}, {50, 50, 100, false}, {1, 98, 100, true}, {50, 200, 100, false}} {
		if got := (Page[int]{Total: c.total, Paging: Paging{Limit: c.limit, Offset: c.offset}}).More(); got != c.want {
			t.Errorf("%+v: got %t", c, got)
		}
	}
}

func TestChange_LeftOutNullAndGivenAreThree(t *testing.T) {
	text := "old"
	was := Project{Name: "n", Description: &text, Color: &text, SortOrder: 3, Visibility: Private}
	if got := (ProjectChange{}).Apply(was); got != was || !(ProjectChange{}).Empty() {
		t.Errorf("left out: got %+v", got)
	}
	if got := (ProjectChange{Description: Nil[string]()}).Apply(was); got.Description != nil || got.Color == nil {
		t.Errorf("null: got %+v", got)
	}
	if got := (ProjectChange{Description: Some("")}).Apply(was); got.Description == nil || *got.Description != "" {
		t.Errorf("given: got %+v", got)
	}
	if got := (FolderChange{Color: Nil[string]()}).Apply(Folder{Color: "#123456"}); got.Color != DefaultFolderColor {
		t.Errorf("a folder's null color: got %s", got.Color)
	}
	project := ProjectID("p")
	if got := (DocumentChange{ProjectID: Nil[ProjectID]()}).Apply(Document{ProjectID: &project}); got.ProjectID != nil {
		t.Errorf("a document's null project: got %s", *got.ProjectID)
	}
	if (DocumentChange{ProjectID: Nil[ProjectID]()}).Empty() || (FolderChange{ParentID: Some(FolderID("f"))}).Empty() == false {
		t.Error("Empty is wrong")
	}
}

func TestChange_CheckNamesTheField(t *testing.T) {
	long, many := strings.Repeat("x", 201), strings.Repeat("x", 2001)
	for field, errs := range map[string][]error{
		"name": {ProjectChange{Name: Nil[string]()}.Check(), ProjectChange{Name: Some("")}.Check(), ProjectChange{Name: Some(long)}.Check(),
			FolderChange{Name: Nil[string]()}.Check(), FolderChange{Name: Some(" ")}.Check(), FolderChange{Name: Some(long)}.Check()},
		"title":       {DocumentChange{Title: Nil[string]()}.Check(), DocumentChange{Title: Some("")}.Check(), DocumentChange{Title: Some(long)}.Check()},
		"description": {ProjectChange{Description: Some(many)}.Check(), DocumentChange{Description: Some(many)}.Check()},
		"icon":        {ProjectChange{Icon: Some("")}.Check(), ProjectChange{Icon: Some(long)}.Check()},
		"color":       {ProjectChange{Color: Some("red")}.Check(), FolderChange{Color: Some("")}.Check()},
		"sort_order":  {ProjectChange{SortOrder: Nil[int32]()}.Check(), FolderChange{SortOrder: Nil[int32]()}.Check()},
		"visibility":  {ProjectChange{Visibility: Nil[string]()}.Check(), ProjectChange{Visibility: Some("public")}.Check()},
	} {
		for i, err := range errs {
			if KindOf(err) != Invalid || !strings.HasPrefix(err.Error(), field) {
				t.Errorf("%s %d: got %v, want an Invalid that begins with the field", field, i, err)
			}
		}
	}
	for _, err := range []error{ProjectChange{}.Check(), FolderChange{}.Check(), DocumentChange{}.Check(),
		ProjectChange{Name: Some(long[:200]), Description: Nil[string](), Icon: Nil[string](), Color: Nil[string](), Visibility: Some(Private)}.Check(),
		FolderChange{Color: Nil[string]()}.Check(), DocumentChange{Description: Some(many[:2000])}.Check()} {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
	}
}

func TestEventType(t *testing.T) {
	elsewhere := 0
	for _, e := range EventTypes {
		if !e.Known() {
			t.Errorf("%s is unknown", e)
		}
		if e.Elsewhere() {
			elsewhere++
		}
	}
	if elsewhere != 7 || EventType("media.deleted").Elsewhere() || EventType("").Known() || ProjectCreated.Elsewhere() || WebhookTest.Elsewhere() {
		t.Errorf("%d types happen elsewhere, want 7: media, generation and share", elsewhere)
	}
	for e, want := range map[EventType]string{DocumentCreated: "document", ShareDeleted: "share", WebhookTest: "webhook_subscription"} {
		if got := e.Resource(); got != want {
			t.Errorf("%s is about a %s, want %s", e, got, want)
		}
	}
}

func TestParseEntityType(t *testing.T) {
	for _, good := range []string{"project", "branding"} {
		if got, err := ParseEntityType(good); err != nil || string(got) != good {
			t.Errorf("%s: got %s, %v", good, got, err)
		}
	}
	for _, bad := range []string{"", "Project", "folder"} {
		if _, err := ParseEntityType(bad); KindOf(err) != Invalid {
			t.Errorf("%q: got %v", bad, err)
		}
	}
}

// D166: what each role may, as the table of the page about security has it.
func TestRole_Scopes(t *testing.T) {
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	mark := func(has bool) string {
		if has {
			return " yes |"
		}
		return " – |"
	}
	table := "| Scope |"
	for _, r := range Roles() {
		table += fmt.Sprintf(" `%s` |", r)
	}
	table += " a restricted key |\n|---|" + strings.Repeat("---|", len(Roles())+1) + "\n"
	for _, s := range AllScopes {
		table += fmt.Sprintf("| `%s` |", s)
		for _, r := range Roles() {
			table += mark(r.Scopes().Has(s))
		}
		table += mark(s.Restrictable()) + "\n"
	}
	if !strings.Contains(string(page), table) {
		t.Errorf("docs/security.md lacks this table:\n%s", table)
	}
	for _, s := range AllScopes {
		lowest := slices.IndexFunc(Roles(), func(r Role) bool { return r.Scopes().Has(s) })
		if got := LowestRole(s); got != Roles()[lowest] {
			t.Errorf("the lowest role with %s is %s, want %s", s, got, Roles()[lowest])
		}
	}
	for role, known := range map[string]bool{"owner": true, "admin": true, "editor": true, "member": true, "": false, "king": false, "Admin": false} {
		_, err := ParseRole(role)
		if got := Role(role).Scopes(); (err == nil) != known || (len(got) > 0) != known {
			t.Errorf("%q: parsed with %v, and has %v", role, err, got)
		}
	}
}
