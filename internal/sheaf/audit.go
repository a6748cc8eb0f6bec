package sheaf

import (
	"slices"
	"strings"
	"time"
)

// AuditAction names what an audit line records, as noun.verb.
type AuditAction string

// The actions of a workspace's audit log.
const (
	ActionKeyCreated               AuditAction = "key.created"
	ActionKeyRotated               AuditAction = "key.rotated"
	ActionKeyRevoked               AuditAction = "key.revoked"
	ActionAppConnected             AuditAction = "app.connected"
	ActionAppDisconnected          AuditAction = "app.disconnected"
	ActionMemberJoined             AuditAction = "member.joined"
	ActionMemberLeft               AuditAction = "member.left"
	ActionMemberRemoved            AuditAction = "member.removed"
	ActionMemberRoleChanged        AuditAction = "member.role_changed"
	ActionMemberRestrictionChanged AuditAction = "member.restriction_changed"
	ActionInvitationCreated        AuditAction = "invitation.created"
	ActionInvitationWithdrawn      AuditAction = "invitation.withdrawn"
	ActionWebhookCreated           AuditAction = "webhook.created"
	ActionWebhookUpdated           AuditAction = "webhook.updated"
	ActionWebhookSecretRotated     AuditAction = "webhook.secret_rotated"
	ActionWebhookDeleted           AuditAction = "webhook.deleted"
	ActionShareCreated             AuditAction = "share.created"
	ActionShareUpdated             AuditAction = "share.updated"
	ActionSharePasswordSet         AuditAction = "share.password_set"
	ActionSharePasswordRemoved     AuditAction = "share.password_removed"
	ActionShareDeleted             AuditAction = "share.deleted"
	ActionProjectReviewChanged     AuditAction = "project.review_changed"
	ActionReleaseCreated           AuditAction = "release.created"
	ActionReleaseNotesChanged      AuditAction = "release.notes_changed"
	ActionReleaseDeleted           AuditAction = "release.deleted"
	ActionWorkspaceCreated         AuditAction = "workspace.created"
	ActionWorkspaceRenamed         AuditAction = "workspace.renamed"
	ActionWorkspacePlanChanged     AuditAction = "workspace.plan_changed"
	ActionWorkspaceBrandingChanged AuditAction = "workspace.branding_changed"
	ActionWorkspaceDeleted         AuditAction = "workspace.deleted"
	ActionWorkspaceUndeleted       AuditAction = "workspace.undeleted"
)

// The actions that are only in the instance's audit log.
const (
	ActionSessionStarted        AuditAction = "session.started"
	ActionSessionEnded          AuditAction = "session.ended"
	ActionSessionsEnded         AuditAction = "session.all_ended"
	ActionSignInFailed          AuditAction = "sign_in.failed"
	ActionSignInRefused         AuditAction = "sign_in.refused"
	ActionProviderBound         AuditAction = "provider.bound"
	ActionProviderForgotten     AuditAction = "provider.forgotten"
	ActionPasswordAllowed       AuditAction = "password.allowed"
	ActionPasswordChanged       AuditAction = "password.changed"
	ActionPasswordSet           AuditAction = "password.set"
	ActionFactorAdded           AuditAction = "factor.added"
	ActionFactorRemoved         AuditAction = "factor.removed"
	ActionFactorReset           AuditAction = "factor.reset"
	ActionFactorFailed          AuditAction = "factor.failed"
	ActionRecoveryCodesReplaced AuditAction = "recovery_codes.replaced"
	ActionRecoveryCodeUsed      AuditAction = "recovery_code.used"
	ActionSetupLinkCreated      AuditAction = "setup_link.created"
	ActionSetupCompleted        AuditAction = "setup.completed"
	ActionUserErased            AuditAction = "user.erased"
	ActionWorkspaceRemoved      AuditAction = "workspace.removed"
)

// ActionText says what an action is, in one sentence without its period.
type ActionText struct {
	Action AuditAction
	Text   string
}

// WorkspaceActions has every action of a workspace's audit log. The instance's log repeats those that an
// operator did.
var WorkspaceActions = []ActionText{
	{ActionKeyCreated, "An API key was created"},
	{ActionKeyRotated, "An API key got a new secret"},
	{ActionKeyRevoked, "An API key was revoked"},
	{ActionAppConnected, "A person allowed an app to act for them"},
	{ActionAppDisconnected, "An app was disconnected: by a person, by itself, because its person lost rights, or because a code or refresh token came twice"},
	{ActionMemberJoined, "A person accepted an invitation"},
	{ActionMemberLeft, "A member left"},
	{ActionMemberRemoved, "A member was removed"},
	{ActionMemberRoleChanged, "A member's role changed"},
	{ActionMemberRestrictionChanged, "A member was restricted to some projects and folders, or is no longer"},
	{ActionInvitationCreated, "A person was invited"},
	{ActionInvitationWithdrawn, "An invitation was withdrawn, or replaced by a newer one"},
	{ActionWebhookCreated, "A webhook was created"},
	{ActionWebhookUpdated, "A webhook was changed"},
	{ActionWebhookSecretRotated, "A webhook got a new signing secret"},
	{ActionWebhookDeleted, "A webhook was deleted"},
	{ActionShareCreated, "A share was created"},
	{ActionShareUpdated, "A share was changed"},
	{ActionSharePasswordSet, "A share got a password"},
	{ActionSharePasswordRemoved, "A share lost its password"},
	{ActionShareDeleted, "A share was deleted, alone or with what it showed"},
	{ActionProjectReviewChanged, "A project began or ceased to need review, or needs another number of approvals"},
	{ActionReleaseCreated, "A release was created"},
	{ActionReleaseNotesChanged, "The notes of a release changed"},
	{ActionReleaseDeleted, "A release was deleted, alone or with its project"},
	{ActionWorkspaceCreated, "The workspace was created"},
	{ActionWorkspaceRenamed, "The workspace got another name"},
	{ActionWorkspacePlanChanged, "The workspace got another plan"},
	{ActionWorkspaceBrandingChanged, "The workspace got another default branding"},
	{ActionWorkspaceDeleted, "The operator deleted the workspace"},
	{ActionWorkspaceUndeleted, "The operator brought the workspace back"},
}

// InstanceActions has the actions that are only in the instance's audit log.
var InstanceActions = []ActionText{
	{ActionSessionStarted, "A person signed in"},
	{ActionSessionEnded, "A session was ended by its person"},
	{ActionSessionsEnded, "A person ended all of their sessions"},
	{ActionSignInFailed, "A password was wrong, or the account is unknown: counted for each account, address and minute"},
	{ActionSignInRefused, "A sign-in at the provider was refused; the target is the reason: counted for each reason, address and minute"},
	{ActionProviderBound, "An account at the provider was bound to a person"},
	{ActionProviderForgotten, "An operator freed the accounts at the provider that were bound to a person"},
	{ActionPasswordAllowed, "An operator allowed a person to sign in with a password though passwords are off, or took that back"},
	{ActionPasswordChanged, "A person changed their password, or chose a new one with a mailed link"},
	{ActionPasswordSet, "An operator set the password of a person"},
	{ActionFactorAdded, "A person set up a second factor"},
	{ActionFactorRemoved, "A person removed their second factor"},
	{ActionFactorReset, "An operator removed the second factor of a person"},
	{ActionFactorFailed, "A code of a second factor was wrong: counted for each account, address and minute"},
	{ActionRecoveryCodesReplaced, "A person made new recovery codes"},
	{ActionRecoveryCodeUsed, "A person signed in with a recovery code"},
	{ActionSetupLinkCreated, "A set-up link was created"},
	{ActionSetupCompleted, "The first owner was set up"},
	{ActionUserErased, "An operator erased a person"},
	{ActionWorkspaceRemoved, "The data of a deleted workspace was removed"},
}

// Noun returns what the action was done to, such as "key".
func (a AuditAction) Noun() string {
	noun, _, _ := strings.Cut(string(a), ".")
	return noun
}

// Known reports whether a workspace's audit log can have the action.
func (a AuditAction) Known() bool {
	return slices.ContainsFunc(WorkspaceActions, func(t ActionText) bool { return t.Action == a })
}

// KnownToInstance reports whether only the instance's audit log can have the action.
func (a AuditAction) KnownToInstance() bool {
	return slices.ContainsFunc(InstanceActions, func(t ActionText) bool { return t.Action == a })
}

// AuditID identifies an audit line.
type AuditID string

// AuditLine is one line of an audit log: who did what. It has no secrets, and no address of a share.
type AuditLine struct {
	ID     AuditID
	Number int64 // in the order of the transactions of its log
	At     time.Time
	Actor  Actor
	Action AuditAction
	Target string // id of the record that was changed; for a setting, that of the workspace
	// Workspace is set in the instance's log, if the action was in a workspace.
	Workspace WorkspaceID
	// Email is that of an invited person. It is shown as a field of After. If After is nil, it is shown as
	// one of the fields before the action. The line keeps it apart because erasing the person deletes it.
	Email         *string
	Before, After []byte // JSON objects with the fields that changed; nil: none
	// Count is how often the action happened in the minute that begins at At. 0: the line stands for one
	// action.
	Count int64
}

// Actor is who did something. If all fields are zero, the server itself did it, for example when it
// emptied the trash.
type Actor struct {
	User      UserID // the person, or the user of the key
	Key       KeyID
	Operator  bool   // on the command line
	Address   string // of the client
	RequestID string
}

// Fields appends the line.
func (l *AuditLine) Fields(o *Object) {
	o.Text("id", string(l.ID))
	o.Time("time", l.At)
	o.Record("actor", RecordFunc(func(o *Object) {
		optional(o, "user_id", string(l.Actor.User))
		optional(o, "key_id", string(l.Actor.Key))
		o.Bool("operator", l.Actor.Operator)
	}))
	o.Text("action", string(l.Action))
	optional(o, "target", l.Target)
	if l.Workspace != "" {
		o.Text("workspace_id", string(l.Workspace))
	}
	if l.Count > 0 {
		o.Int("count", l.Count)
	}
	optional(o, "address", l.Actor.Address)
	optional(o, "request_id", l.Actor.RequestID)
	before, after := l.Before, l.After
	if after != nil {
		after = withEmail(after, l.Email)
	} else if before != nil {
		before = withEmail(before, l.Email)
	}
	orNull(o, "before", before)
	orNull(o, "after", after)
}

// Facts returns the fields before and after the action, by name, for people to read.
func (l *AuditLine) Facts() (before, after []byte) {
	if l.After != nil {
		return l.Before, withEmail(l.After, l.Email)
	}
	return withEmail(l.Before, l.Email), nil
}

func optional(o *Object, name, v string) {
	if v == "" {
		o.Null(name)
		return
	}
	o.Text(name, v)
}

func orNull(o *Object, name string, v []byte) {
	if v == nil {
		o.Null(name)
		return
	}
	o.Raw(name, v)
}

// withEmail returns the object with the e-mail as its first field.
func withEmail(object []byte, email *string) []byte {
	if email == nil || object == nil {
		return object
	}
	first := AppendJSON(nil, RecordFunc(func(o *Object) { o.Text("email", *email) }))
	if len(object) > len("{}") {
		first[len(first)-1] = ','
	} else {
		first = first[:len(first)-1]
	}
	return append(first, object[1:]...)
}

// AuditFilter selects lines of an audit log. The zero value selects all.
type AuditFilter struct {
	Action AuditAction
	User   UserID
	Key    KeyID
	Target string
	Since  *time.Time // at or after this time
	Before *time.Time // before this time
	After  AuditID    // after this line
	Paging
}
