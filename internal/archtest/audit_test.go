package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// changesRights are the methods of the store that change what an audit log keeps (D200).
var changesRights = []string{"InsertKey", "RotateKey", "RevokeKey", "RevokeKeysOf", "InsertGrant",
	"InsertInvitation", "DeleteInvitation", "DeleteInvitationsBy", "EraseInvitations", "InsertMember", "DeleteMember", "SetRole", "RestrictMember",
	"InsertWorkspace", "RenameWorkspace", "SetPlan", "SetDefaultBranding", "DeleteWorkspace", "UndeleteWorkspace", "EndRemoval",
	"InsertSubscription", "UpdateSubscription", "SealAnew", "DeleteSubscription", "InsertShare", "InsertShares", "UpdateShare", "DeleteShare", "DeleteSharesOf",
	"InsertRelease", "UpdateRelease", "HideRelease", "InsertFactor", "DeleteFactor", "InsertSession", "DeleteSession", "DeleteSessionOf", "EraseUser", "UpdateUser", "InsertIdentity", "DeleteIdentities", "AllowPassword"}

// audits are the functions that write a line, or pass it on to be written.
var audits = []string{"audit", "auditIn", "auditInstance", "auditLine", "auditWebhook", "auditWithdrawn", "auditRevoked", "auditGrantEnded", "auditDefaultBranding",
	"emit", "unshared", "note", "noteLeaving"}

// unaudited are the functions that change rights and write no line, with the reason.
var unaudited = []exemption{
	{"rotateKey", "its callers write the line, in the same transaction"},
	{"replaceHeaders", "changeSubscription writes the line"},
	{"enter", "it ends the session that the new one replaces"},
	{"FinishSignIn", "likewise"},
	{"FinishWithFactor", "likewise"},
	{"replacePassword", "its callers write the line, in the same transaction"},
	{"Rename", "the name of a person is no right"},
}

// D200: a function that changes rights writes an audit line. A new method of the store that changes them belongs into
// changesRights.
func TestAudit_EveryChangeIsAudited(t *testing.T) {
	used := map[string]bool{}
	eachFunction(t, "../../internal/app", func(file string, fn *ast.FuncDecl) {
		changes, audited := "", false
		ast.Inspect(fn, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is {
				return true
			}
			s, is := call.Fun.(*ast.SelectorExpr)
			if !is {
				return true
			}
			if slices.Contains(audits, s.Sel.Name) {
				audited = true
			}
			// a.SetRole is a rule, tx.SetRole and w.SetRole are methods of the store.
			if x, is := s.X.(*ast.Ident); is && (x.Name == "tx" || x.Name == "w") && slices.Contains(changesRights, s.Sel.Name) {
				changes = s.Sel.Name
			}
			return true
		})
		if changes == "" || audited {
			return
		}
		used[fn.Name.Name] = true
		if !exempt(unaudited, fn.Name.Name) {
			t.Errorf("%s: %s calls %s and writes no audit line: write one with audit, or give the reason here", file, fn.Name.Name, changes)
		}
	})
	for _, e := range unaudited {
		if !used[e.path] {
			t.Errorf("%s needs no exemption from audit lines: take it out of the list", e.path)
		}
	}
}

// eachFunction calls do for every function below a folder that is not in a test.
func eachFunction(t *testing.T, folder string, do func(file string, fn *ast.FuncDecl)) {
	t.Helper()
	err := filepath.WalkDir(folder, func(name string, e os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			if fn, is := d.(*ast.FuncDecl); is {
				do(name, fn)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
