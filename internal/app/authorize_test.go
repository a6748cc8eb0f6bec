package app

import (
	"reflect"
	"testing"
	"time"

	"sheaf.dev/internal/guard"
	"sheaf.dev/internal/sheaf"
)

// Every method that takes a Caller refuses a caller without any rights, before anything else. The
// rules in this test have no store, and the arguments are wrong. archtest shows that no method goes
// around the gate.
func TestGate_IsAskedFirst(t *testing.T) {
	a := New(Config{Now: time.Now, Webhooks: Webhooks{Guard: &guard.Guard{}}})
	of := reflect.ValueOf(a)
	callers := map[string]Caller{
		"nobody":                  {Workspace: "w", User: "u"},
		"a key without scopes":    {Workspace: "w", User: "u", Key: sheaf.Key{ID: "k"}},
		"a role that is none":     {Workspace: "w", User: "u", Role: "guest"},
		"a key with another's id": {Workspace: "w", User: "u", Key: sheaf.Key{ID: "k", UserID: "v"}},
	}
	methods := 0
	for i := range of.NumMethod() {
		name, method := of.Type().Method(i).Name, of.Method(i)
		if method.Type().NumIn() < 2 || method.Type().In(1) != reflect.TypeFor[Caller]() {
			continue
		}
		methods++
		for who, c := range callers {
			if name == "Me" && c.Key.ID != "" || name == "Members" && c.Role != "" || (name == "RemoveMember" || name == "Erased") && c.Role != "" {
				continue // any key may ask who it is; any member may list the members, and leave
			}
			args := []reflect.Value{reflect.ValueOf(t.Context()), reflect.ValueOf(c)}
			for j := 2; j < method.Type().NumIn(); j++ {
				args = append(args, reflect.Zero(method.Type().In(j)))
			}
			out := method.Call(args)
			err, _ := out[len(out)-1].Interface().(error)
			if k := sheaf.KindOf(err); err == nil || k != sheaf.Forbidden && k != sheaf.Unauthorized {
				t.Errorf("%s by %s: %v, want a refusal", name, who, err)
			}
		}
	}
	if methods < 40 {
		t.Errorf("only %d methods take a Caller: the test sees too little", methods)
	}
}

// Rights are checked again inside the transaction: if the key was revoked, the plan ended or the
// role was taken away since the request began, nothing more is done.
func TestGate_IsAskedAgainInsideTheTransaction(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		ws, err := a.Operator().CreateWorkspace(t.Context(), NewWorkspace{Name: "x", Plan: sheaf.Pro})
		if err != nil {
			t.Fatal(err)
		}
		key := func() Caller {
			t.Helper()
			k, err := a.Operator().CreateKey(t.Context(), ws.ID, NewKey{Name: "k", Scopes: sheaf.AllScopes})
			if err != nil {
				t.Fatal(err)
			}
			return Caller{Workspace: ws.ID, User: ws.Owner, Key: k.Key}
		}
		create := func(c Caller) error {
			_, err := a.CreateProject(t.Context(), c, sheaf.ProjectChange{Name: sheaf.Some("p")})
			return err
		}
		good, revoked, short := key(), key(), key()
		if _, err := a.Operator().RevokeKey(t.Context(), revoked.Key.ID); err != nil {
			t.Fatal(err)
		}
		short.Key.Scopes = sheaf.Scopes{sheaf.ProjectsRead}
		member := Caller{Workspace: ws.ID, User: ws.Owner, Role: sheaf.Admin} // an owner is stored
		wantKind(t, "a revoked key", create(revoked), sheaf.Unauthorized)
		wantKind(t, "no key", create(Caller{Workspace: ws.ID, User: ws.Owner, Key: sheaf.Key{Scopes: sheaf.AllScopes}}), sheaf.Unauthorized)
		wantKind(t, "a key without the scope", create(short), sheaf.Forbidden)
		wantKind(t, "another role than the stored one", create(member), sheaf.Forbidden)
		wantKind(t, "who is no member", create(Caller{Workspace: ws.ID, User: "somebody", Role: sheaf.Owner}), sheaf.NotFound)
		if err := create(good); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Operator().SetPlan(t.Context(), ws.ID, sheaf.Free); err != nil {
			t.Fatal(err)
		}
		wantKind(t, "a plan without keys", create(good), sheaf.Forbidden)
	})
}

// D207: a caller with a secret that was replaced is refused inside the transaction, unless its grace
// lasts.
func TestGate_ASecretThatWasReplaced(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		ws, err := a.Operator().CreateWorkspace(t.Context(), NewWorkspace{Name: "x", Plan: sheaf.Pro})
		if err != nil {
			t.Fatal(err)
		}
		k, err := a.Operator().CreateKey(t.Context(), ws.ID, NewKey{Name: "k", Scopes: sheaf.AllScopes})
		if err != nil {
			t.Fatal(err)
		}
		with := func(secret string) Caller {
			t.Helper()
			c, err := a.Authenticate(t.Context(), secret)
			if err != nil {
				t.Fatal(err)
			}
			return Caller{Workspace: c.Workspace, User: c.Key.UserID, Key: c.Key}
		}
		create := func(c Caller) error {
			_, err := a.CreateProject(t.Context(), c, sheaf.ProjectChange{Name: sheaf.Some("p")})
			return err
		}
		rotate := func(c Caller, grace time.Duration) string {
			t.Helper()
			k, err := a.RotateKey(t.Context(), c, k.ID, grace)
			if err != nil {
				t.Fatal(err)
			}
			return *k.Secret
		}
		first := with(*k.Secret)
		second := with(rotate(first, time.Hour))
		old := with(*k.Secret)
		for what, c := range map[string]Caller{"found before": first, "found in the grace": old, "new": second} {
			if err := create(c); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		*now = now.Add(time.Hour)
		wantKind(t, "after the grace", create(first), sheaf.Unauthorized)
		wantKind(t, "after the grace, found in it", create(old), sheaf.Unauthorized)
		third := with(rotate(second, 0))
		wantKind(t, "without a grace", create(second), sheaf.Unauthorized)
		if err := create(third); err != nil {
			t.Error(err)
		}
	})
}
