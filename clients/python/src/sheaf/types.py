"""What the API takes and answers, made of its OpenAPI document: do not edit."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict, Union

AuditAction = Literal["key.created", "key.rotated", "key.revoked", "member.joined", "member.left", "member.removed", "member.role_changed", "member.restriction_changed", "invitation.created", "invitation.withdrawn", "webhook.created", "webhook.updated", "webhook.secret_rotated", "webhook.deleted", "share.created", "share.updated", "share.password_set", "share.password_removed", "share.deleted", "project.review_changed", "release.created", "release.notes_changed", "release.deleted", "workspace.created", "workspace.renamed", "workspace.plan_changed", "workspace.branding_changed", "workspace.deleted", "workspace.undeleted"]
BatchAction = Literal["create", "update", "move", "delete", "restore"]
BatchErrorCode = Literal["VALIDATION_ERROR", "FORBIDDEN", "PLAN_REQUIRED", "QUOTA_REACHED", "SHARE_LIMIT_REACHED", "REVIEW_REQUIRED", "NOT_FOUND", "CONFLICT", "IDEMPOTENCY_CONFLICT", "PRECONDITION_FAILED"]
BatchResource = Literal["project", "folder", "document", "share"]
BatchStatus = Literal[200, 201, 204]
ContentFormat = Literal["markdown", "html"]
CreateConflictCode = Literal["IDEMPOTENCY_CONFLICT", "CONFLICT"]
DeactivationReason = Literal["failures", "manual", None]
DeliveryState = Literal["waiting", "sending", "delivered", "failed", "held"]
Direction = Literal["asc", "desc"]
DocumentEventType = Literal["document.created", "document.updated", "document.deleted"]
DocumentSortField = Literal["created_at", "updated_at", "title", "sort_order", "deleted_at"]
EntityType = Literal["project", "branding"]
ErrorClass = Literal["timeout", "blocked_address", "tls", "connection", "status", "canceled", None]
EventType = Literal["document.created", "document.updated", "document.deleted", "project.created", "project.updated", "project.deleted", "folder.created", "folder.updated", "folder.deleted", "media.uploaded", "generation.started", "generation.completed", "generation.failed", "share.created", "share.updated", "share.deleted", "proposal.created", "proposal.updated", "proposal.approved", "proposal.commented", "proposal.accepted", "proposal.rejected", "proposal.withdrawn", "release.created", "release.deleted", "subscription.failing", "subscription.deactivated", "subscription.reactivated", "webhook.test"]
FolderEventType = Literal["folder.created", "folder.updated", "folder.deleted"]
Font = Literal["system", "serif", "mono"]
ForbiddenCode = Literal["FORBIDDEN", "PLAN_REQUIRED", "QUOTA_REACHED", "REVIEW_REQUIRED"]
GenerationEventType = Literal["generation.started", "generation.completed", "generation.failed"]
HitType = Literal["project", "folder", "document"]
KeyOwner = Literal["user", "workspace"]
KeyRefusedCode = Literal["FORBIDDEN", "PLAN_REQUIRED", "KEY_LIMIT_REACHED", "RESTRICTION_LIMIT_REACHED"]
NullableFont = Literal["system", "serif", "mono", None]
Plan = Literal["pro", "business"]
ProjectEventType = Literal["project.created", "project.updated", "project.deleted"]
ProposalErrorCode = Literal["VALIDATION_ERROR", "FORBIDDEN", "PLAN_REQUIRED", "QUOTA_REACHED", "PROPOSAL_LIMIT_REACHED", "NOT_FOUND", "CONFLICT", "APPROVALS_MISSING", "IDEMPOTENCY_CONFLICT"]
ProposalEventType = Literal["proposal.created", "proposal.updated", "proposal.approved", "proposal.commented", "proposal.accepted", "proposal.rejected", "proposal.withdrawn"]
ProposalOp = Literal["edit", "create", "delete", "restore", "move"]
ProposalState = Literal["open", "accepted", "rejected", "withdrawn"]
ReleaseEventType = Literal["release.created", "release.deleted"]
ReleaseRefusedCode = Literal["FORBIDDEN", "PLAN_REQUIRED", "RELEASE_LIMIT_REACHED", "QUOTA_REACHED"]
ReportedEventType = Literal["media.uploaded", "generation.started", "generation.completed", "generation.failed", "share.created", "share.updated", "share.deleted"]
Scope = Literal["projects:read", "projects:write", "projects:admin", "documents:read", "documents:write", "media:read", "media:write", "shares:read", "shares:write", "proposals:read", "proposals:write", "proposals:approve", "releases:read", "releases:write", "brandings:read", "brandings:write", "webhooks:read", "webhooks:write", "events:read", "events:write", "keys:read", "keys:write", "audit:read"]
ShareEventType = Literal["share.created", "share.updated", "share.deleted"]
ShareRefusedCode = Literal["FORBIDDEN", "PLAN_REQUIRED", "SHARE_LIMIT_REACHED"]
Shareable = Literal["document", "project", "folder"]
SortField = Literal["sort_order", "name", "created_at", "updated_at"]
SubscriptionEventType = Literal["subscription.failing", "subscription.deactivated", "subscription.reactivated"]
SubscriptionRefusedCode = Literal["FORBIDDEN", "PLAN_REQUIRED", "SUBSCRIPTION_LIMIT_REACHED"]
UploadRefusedCode = Literal["PLAN_REQUIRED", "FORBIDDEN", "QUOTA_REACHED", "UPLOAD_LIMIT_REACHED"]
Visibility = Literal["private"]


class Approval(TypedDict):
    created_at: str
    key_id: str | None
    user_id: str


class AttemptTimings(TypedDict):
    """How long each phase took; 0 for one that was not reached."""

    body_ms: float
    connect_ms: float
    dns_ms: float
    first_byte_ms: float
    tls_ms: float


class Attempt(TypedDict):
    duration_ms: int
    error: str | None
    error_class: ErrorClass
    number: int
    remote_address: str | None
    response_body: str
    started_at: str
    status_code: int | None
    timings: AttemptTimings


class AuditLineActor(TypedDict):
    """Who did it. If no field is set, the server did it by itself, for example when it emptied the trash."""

    key_id: Any
    operator: bool
    user_id: Any


class AuditLine(TypedDict):
    """One line of the audit log. It has no secrets."""

    action: AuditAction
    actor: AuditLineActor
    address: str | None
    after: Any
    before: Any
    id: str
    request_id: str | None
    target: str | None
    time: str


class AuditPage(TypedDict):
    data: list[AuditLine]
    limit: int
    offset: int
    total: int


class BatchOperation(TypedDict):
    action: BatchAction
    body: NotRequired[dict[str, Any] | None]
    if_match: NotRequired[str | None]
    resource_id: NotRequired[str | None]
    resource_type: BatchResource


class Batch(TypedDict):
    operations: list[BatchOperation]


class BatchError(TypedDict):
    code: BatchErrorCode
    error: str
    field: NotRequired[str]
    index: NotRequired[int]


class Review(TypedDict):
    """If it is set, the project's documents change only by accepted proposals, each approved by that number of other people. `null`: no review. Setting or lifting it needs `projects:admin`."""

    approvals: int


class Project(TypedDict):
    color: str | None
    created_at: str
    description: str | None
    document_count: int
    external_id: str | None
    folder_id: str | None
    icon: str | None
    id: str
    metadata: dict[str, str] | None
    name: str
    review: Review | None
    sort_order: int
    updated_at: str
    url: str | None
    visibility: Visibility


class Folder(TypedDict):
    branding_count: int
    color: str
    created_at: str
    depth: int
    entity_type: EntityType
    external_id: str | None
    id: str
    name: str
    parent_id: str | None
    project_count: int
    sort_order: int
    updated_at: str


class Document(TypedDict):
    content_bytes: int
    content_sha256: str
    created_at: str
    description: str | None
    external_id: str | None
    id: str
    metadata: dict[str, str] | None
    parent_id: str | None
    project_id: str | None
    sort_order: int
    title: str
    updated_at: str
    url: str | None
    version: int


class Share(TypedDict):
    branding_id: str | None
    created_at: str
    expires_at: str | None
    has_password: bool
    id: str
    last_viewed_at: str | None
    listed: bool
    release: str | None
    resource_id: str
    resource_type: Shareable
    show_releases: bool
    updated_at: str
    url: str
    views: int


class BatchResult(TypedDict):
    body: Project | Folder | Document | Share | None
    etag: str | None
    resource_id: str
    resource_type: BatchResource
    status: BatchStatus


class BatchResults(TypedDict):
    results: list[BatchResult]


class Branding(TypedDict):
    color_primary: str
    created_at: str
    folder_id: str | None
    font: Font
    footer: str | None
    id: str
    logo_media_id: str | None
    name: str
    sort_order: int
    updated_at: str


class BrandingChange(TypedDict):
    color_primary: NotRequired[str | None]
    folder_id: NotRequired[str | None]
    font: NotRequired[NullableFont]
    footer: NotRequired[str | None]
    logo_media_id: NotRequired[str | None]
    name: NotRequired[str]
    sort_order: NotRequired[int]


class BrandingMove(TypedDict):
    folder_id: str | None


class BrandingPage(TypedDict):
    data: list[Branding]
    limit: int
    offset: int
    total: int


class Comment(TypedDict):
    body: str
    change: int | None
    created_at: str
    key_id: str | None
    number: int
    proposal_id: str
    updated_at: str
    user_id: str


class CommentChange(TypedDict):
    body: str


class CommentPage(TypedDict):
    data: list[Comment]
    limit: int
    offset: int
    total: int


class ConflictError(TypedDict):
    code: Literal["CONFLICT"]
    error: str


class ConflictHunk(TypedDict):
    """Whole lines of each text, with the number of the first line, which counts from 1."""

    base: str
    base_line: int
    present: str
    present_line: int
    proposed: str
    proposed_line: int


class CreateConflictError(TypedDict):
    code: CreateConflictCode
    error: str


class Delivery(TypedDict):
    attempt_count: int
    created_at: str
    event_id: str
    event_type: EventType
    finished_at: str | None
    id: str
    last_error: str | None
    last_status_code: int | None
    next_attempt_at: str | None
    state: DeliveryState
    subscription_id: str


class DeliveryAnswer(TypedDict):
    delivery: Delivery


class DeliveryDetail(Delivery):
    attempts: list[Attempt]


class DeliveryDetailAnswer(TypedDict):
    delivery: DeliveryDetail


class DeliveryPage(TypedDict):
    data: list[Delivery]
    limit: int
    offset: int
    total: int


class DocumentChange(TypedDict):
    content: NotRequired[str | None]
    description: NotRequired[str | None]
    external_id: NotRequired[str | None]
    metadata: NotRequired[dict[str, str | None] | None]
    parent_id: NotRequired[str | None]
    project_id: NotRequired[str | None]
    sort_order: NotRequired[int]
    title: NotRequired[str]
    url: NotRequired[str | None]


class DocumentPayloadPrevious(TypedDict):
    """Of an update, the old values of the fields that changed."""

    content_bytes: NotRequired[int]
    content_sha256: NotRequired[str]
    description: NotRequired[str | None]
    external_id: NotRequired[str | None]
    metadata: NotRequired[dict[str, str] | None]
    parent_id: NotRequired[str | None]
    project_id: NotRequired[str | None]
    sort_order: NotRequired[int]
    title: NotRequired[str]
    updated_at: NotRequired[str]
    url: NotRequired[str | None]
    version: NotRequired[int]


class DocumentPayload(TypedDict):
    """The document; of an update also what it was, of a deletion what it was last. Events that were stored before documents had them lack `version`, `content_bytes`, `content_sha256`, `external_id`, `url`, `metadata`, `parent_id` and `sort_order`."""

    content_bytes: NotRequired[int]
    content_sha256: NotRequired[str]
    created_at: str
    description: str | None
    external_id: NotRequired[str | None]
    id: str
    metadata: NotRequired[dict[str, str] | None]
    parent_id: NotRequired[str | None]
    previous: NotRequired[DocumentPayloadPrevious]
    project_id: str | None
    sort_order: NotRequired[int]
    title: str
    updated_at: str
    url: NotRequired[str | None]
    version: NotRequired[int]


class DocumentEvent(TypedDict):
    id: str
    payload: DocumentPayload
    resource_id: str
    resource_type: Literal["document"]
    timestamp: str
    type: DocumentEventType
    user_id: str
    workspace_id: str | None


class DocumentMove(TypedDict):
    """Where a document goes. Send `before_id` or `after_id`, or neither."""

    after_id: NotRequired[str | None]
    before_id: NotRequired[str | None]
    parent_id: NotRequired[str | None]
    project_id: NotRequired[str | None]


class ListedDocument(Document):
    """The document, and in the list of deleted ones when it was deleted."""

    deleted_at: NotRequired[str]


class DocumentPage(TypedDict):
    data: list[ListedDocument]
    limit: int
    offset: int
    total: int


class DocumentPut(TypedDict):
    content: NotRequired[str | None]
    description: NotRequired[str | None]
    external_id: NotRequired[str | None]
    metadata: NotRequired[dict[str, str] | None]
    parent_id: NotRequired[str | None]
    project_id: NotRequired[str | None]
    sort_order: NotRequired[int]
    title: NotRequired[str]
    url: NotRequired[str | None]


class DocumentText(Document):
    """The document with its text."""

    content: str


class TreeEntry(TypedDict):
    """A document in the tree of its project."""

    children: int
    depth: int
    id: str
    parent_id: str | None
    sort_order: int
    title: str
    updated_at: str
    version: int


class DocumentTree(TypedDict):
    data: list[TreeEntry]
    total: int


class EmbeddedDocument(TypedDict):
    content_bytes: int
    content_sha256: str
    created_at: str
    description: str | None
    external_id: str | None
    id: str
    title: str
    updated_at: str
    version: int


class ProjectPayloadPrevious(TypedDict):
    """Of an update, the old values of the fields that changed."""

    color: NotRequired[str | None]
    description: NotRequired[str | None]
    external_id: NotRequired[str | None]
    folder_id: NotRequired[str | None]
    icon: NotRequired[str | None]
    metadata: NotRequired[dict[str, str] | None]
    name: NotRequired[str]
    review: NotRequired[Review | None]
    sort_order: NotRequired[int]
    updated_at: NotRequired[str]
    url: NotRequired[str | None]
    visibility: NotRequired[Visibility]


class ProjectPayload(TypedDict):
    """The project; of an update also what it was, of a deletion what it was last. Events that were stored before it had them lack `external_id`, `url`, `metadata` and `review`."""

    color: str | None
    created_at: str
    description: str | None
    document_count: int
    external_id: NotRequired[str | None]
    folder_id: str | None
    icon: str | None
    id: str
    metadata: NotRequired[dict[str, str] | None]
    name: str
    previous: NotRequired[ProjectPayloadPrevious]
    review: NotRequired[Review | None]
    sort_order: int
    updated_at: str
    url: NotRequired[str | None]
    visibility: Visibility


class ProjectEvent(TypedDict):
    id: str
    payload: ProjectPayload
    resource_id: str
    resource_type: Literal["project"]
    timestamp: str
    type: ProjectEventType
    user_id: str
    workspace_id: str | None


class FolderPayloadPrevious(TypedDict):
    """Of an update, the old values of the fields that changed."""

    color: NotRequired[str]
    external_id: NotRequired[str | None]
    name: NotRequired[str]
    parent_id: NotRequired[str | None]
    sort_order: NotRequired[int]
    updated_at: NotRequired[str]


class FolderPayload(TypedDict):
    """The folder; of an update also what it was, of a deletion what it was last. Events that were stored before it had them lack `external_id` and `branding_count`."""

    branding_count: NotRequired[int]
    color: str
    created_at: str
    depth: int
    entity_type: EntityType
    external_id: NotRequired[str | None]
    id: str
    name: str
    parent_id: str | None
    previous: NotRequired[FolderPayloadPrevious]
    project_count: int
    sort_order: int
    updated_at: str


class FolderEvent(TypedDict):
    id: str
    payload: FolderPayload
    resource_id: str
    resource_type: Literal["folder"]
    timestamp: str
    type: FolderEventType
    user_id: str
    workspace_id: str | None


class MediaEvent(TypedDict):
    id: str
    payload: dict[str, Any]
    resource_id: str
    resource_type: Literal["media"]
    timestamp: str
    type: Literal["media.uploaded"]
    user_id: str
    workspace_id: str | None


class GenerationEvent(TypedDict):
    id: str
    payload: dict[str, Any]
    resource_id: str
    resource_type: Literal["generation"]
    timestamp: str
    type: GenerationEventType
    user_id: str
    workspace_id: str | None


class ShareEvent(TypedDict):
    id: str
    payload: dict[str, Any]
    resource_id: str
    resource_type: Literal["share"]
    timestamp: str
    type: ShareEventType
    user_id: str
    workspace_id: str | None


class ProposalEvent(TypedDict):
    id: str
    payload: dict[str, Any]
    resource_id: str
    resource_type: Literal["proposal"]
    timestamp: str
    type: ProposalEventType
    user_id: str
    workspace_id: str | None


class Release(TypedDict):
    """The documents of a project at one moment, under a name."""

    created_at: str
    documents: int
    id: str
    key_id: str | None
    name: str
    notes: str | None
    project_id: str
    user_id: str


class ReleaseEvent(TypedDict):
    id: str
    payload: Release
    resource_id: str
    resource_type: Literal["release"]
    timestamp: str
    type: ReleaseEventType
    user_id: str
    workspace_id: str | None


class SubscriptionHealth(TypedDict):
    """The state of a subscription. Its address is shown without path and query."""

    active: bool
    deactivated_at: str | None
    deactivation_reason: DeactivationReason
    failure_count: int
    id: str
    last_error: str | None
    name: str
    origin: str


class SubscriptionEvent(TypedDict):
    id: str
    payload: SubscriptionHealth
    resource_id: str
    resource_type: Literal["webhook_subscription"]
    timestamp: str
    type: SubscriptionEventType
    user_id: str
    workspace_id: str | None


class EventDelivery(TypedDict):
    delivery: Delivery | None
    reason: str
    subscription_id: str
    subscription_name: str


class EventDeliveryPage(TypedDict):
    data: list[EventDelivery]
    limit: int
    offset: int
    total: int


class EventPage(TypedDict):
    data: list[Event]
    limit: int
    offset: int
    total: int


class FolderChange(TypedDict):
    color: NotRequired[str | None]
    external_id: NotRequired[str | None]
    name: NotRequired[str]
    sort_order: NotRequired[int]


class FolderMove(TypedDict):
    parent_id: str | None


class FolderPage(TypedDict):
    data: list[Folder]
    limit: int
    offset: int
    total: int


class FolderPut(TypedDict):
    color: NotRequired[str | None]
    entity_type: NotRequired[EntityType]
    external_id: NotRequired[str | None]
    name: NotRequired[str]
    parent_id: NotRequired[str | None]
    sort_order: NotRequired[int]


class ForbiddenError(TypedDict):
    code: ForbiddenCode
    error: str


class Hit(TypedDict):
    """A project, a folder or a document that a search found."""

    folder_id: str | None
    id: str
    path: list[str]
    project_id: str | None
    ranges: list[list[int]]
    snippet: str
    title: str
    type: HitType
    updated_at: str


class HitPage(TypedDict):
    data: list[Hit]
    limit: int
    offset: int
    total: int


class IconEntry(TypedDict):
    id: str
    name: str
    svg: str


class IconPage(TypedDict):
    data: list[IconEntry]
    limit: int
    offset: int
    total: int


class IdempotencyConflictError(TypedDict):
    code: Literal["IDEMPOTENCY_CONFLICT"]
    error: str


class NullableRestriction(TypedDict):
    """What the key is limited to: these projects, and these folders of projects with everything below them, 1 to 100 ids together; `null` is the whole workspace. The key sees nothing else. It cannot be changed. An extension of the contract."""

    folder_ids: NotRequired[list[str]]
    project_ids: NotRequired[list[str]]


class Key(TypedDict):
    created_at: str
    expires_at: str | None
    id: str
    last_used_at: str | None
    name: str
    owner: KeyOwner
    prefix: str
    restricted_to: NullableRestriction | None
    scopes: list[Scope]
    user_id: str


class IdentityRateLimit(TypedDict):
    limit: int
    remaining: int
    reset: int


class IdentityStorage(TypedDict):
    """What the workspace stores, in bytes of texts, their versions, media, reported events and answers kept for an `Idempotency-Key`; equal texts of one document count once. `null` for a restricted key."""

    quota: int | None
    used: int


class IdentityUser(TypedDict):
    email: str | None
    id: str
    name: str


class IdentityWorkspace(TypedDict):
    id: str
    name: str
    personal: bool


class Identity(TypedDict):
    key: Key
    plan: Plan
    rate_limit: IdentityRateLimit
    storage: IdentityStorage | None
    user: IdentityUser
    workspace: IdentityWorkspace


class InvalidRequestError(TypedDict):
    code: Literal["VALIDATION_ERROR"]
    error: str
    field: NotRequired[str]


class KeyPage(TypedDict):
    data: list[Key]
    limit: int
    offset: int
    total: int


class KeyRefusedError(TypedDict):
    code: KeyRefusedCode
    error: str


class KeyRotation(TypedDict):
    grace_seconds: NotRequired[int | None]


class KeyWithSecret(Key):
    key: str | None


class Medium(TypedDict):
    bytes: int
    content_type: str
    created_at: str
    document_id: str | None
    filename: str
    height: int | None
    id: str
    sha256: str
    url: str
    width: int | None


class MediumChange(TypedDict):
    document_id: NotRequired[str | None]
    filename: NotRequired[str]


class MediumForm(TypedDict):
    document_id: NotRequired[str]
    file: Any
    filename: NotRequired[str]


class MediumPage(TypedDict):
    data: list[Medium]
    limit: int
    offset: int
    total: int


class NewBranding(TypedDict):
    color_primary: NotRequired[str | None]
    folder_id: NotRequired[str | None]
    font: NotRequired[NullableFont]
    footer: NotRequired[str | None]
    logo_media_id: NotRequired[str | None]
    name: str
    sort_order: NotRequired[int]


class NewComment(TypedDict):
    body: str
    change: NotRequired[int | None]


class NewDocument(TypedDict):
    content: NotRequired[str | None]
    description: NotRequired[str | None]
    external_id: NotRequired[str | None]
    metadata: NotRequired[dict[str, str] | None]
    parent_id: NotRequired[str | None]
    project_id: NotRequired[str | None]
    sort_order: NotRequired[int]
    title: str
    url: NotRequired[str | None]


class NewEvent(TypedDict):
    payload: dict[str, Any]
    resource_id: str
    type: ReportedEventType
    user_id: NotRequired[str | None]


class NewFolder(TypedDict):
    color: NotRequired[str | None]
    entity_type: EntityType
    external_id: NotRequired[str | None]
    name: str
    parent_id: NotRequired[str | None]
    sort_order: NotRequired[int]


class NewKey(TypedDict):
    expires_at: NotRequired[str | None]
    name: str
    restricted_to: NotRequired[NullableRestriction | None]
    scopes: list[Scope]


class NewProject(TypedDict):
    color: NotRequired[str | None]
    description: NotRequired[str | None]
    external_id: NotRequired[str | None]
    folder_id: NotRequired[str | None]
    icon: NotRequired[str | None]
    metadata: NotRequired[dict[str, str] | None]
    name: str
    review: NotRequired[Review | None]
    sort_order: NotRequired[int]
    url: NotRequired[str | None]
    visibility: NotRequired[Visibility]


class NewProposedChange(TypedDict):
    """An `edit` has `document_id`, `base_version` and the fields that change, but not the place of the document. A `create` has the fields of a new document, a `delete` has `document_id` and `base_version`, a `restore` has `document_id`, and a `move` has `document_id` and the fields of a move."""

    after_id: NotRequired[str | None]
    base_version: NotRequired[int]
    before_id: NotRequired[str | None]
    content: NotRequired[str | None]
    description: NotRequired[str | None]
    document_id: NotRequired[str]
    external_id: NotRequired[str | None]
    metadata: NotRequired[dict[str, str | None] | None]
    op: ProposalOp
    parent_id: NotRequired[str | None]
    project_id: NotRequired[str | None]
    sort_order: NotRequired[int]
    title: NotRequired[str]
    url: NotRequired[str | None]


class NewProposal(TypedDict):
    changes: list[NewProposedChange]
    message: NotRequired[str | None]
    title: str


class NewRelease(TypedDict):
    name: str
    notes: NotRequired[str | None]


class NewShare(TypedDict):
    branding_id: NotRequired[str | None]
    expires_at: NotRequired[str | None]
    listed: NotRequired[bool]
    password: NotRequired[str | None]
    release: NotRequired[str | None]
    resource_id: str
    resource_type: Shareable
    show_releases: NotRequired[bool]


class NullableSubscriptionFilter(TypedDict):
    """Only events of what these ids name, at most 100 together; `null` is events of everything. An event passes that fits any of them, by where its resource was before the change or is after it. An id of something that was deleted stays, and fits nothing more. An extension of the contract."""

    folder_ids: NotRequired[list[str]]
    project_ids: NotRequired[list[str]]
    resource_ids: NotRequired[list[str]]


class NewSubscription(TypedDict):
    events: list[EventType]
    filter: NotRequired[NullableSubscriptionFilter | None]
    headers: NotRequired[dict[str, str] | None]
    name: str
    url: str


class NotFoundError(TypedDict):
    code: Literal["NOT_FOUND"]
    error: str


class PlanRequiredError(TypedDict):
    code: Literal["PLAN_REQUIRED"]
    error: str


class PreconditionFailedError(TypedDict):
    code: Literal["PRECONDITION_FAILED"]
    error: str


class ProjectChange(TypedDict):
    color: NotRequired[str | None]
    description: NotRequired[str | None]
    external_id: NotRequired[str | None]
    folder_id: NotRequired[str | None]
    icon: NotRequired[str | None]
    metadata: NotRequired[dict[str, str | None] | None]
    name: NotRequired[str]
    review: NotRequired[Review | None]
    sort_order: NotRequired[int]
    url: NotRequired[str | None]
    visibility: NotRequired[Visibility]


class ProjectDetail(Project):
    documents: list[EmbeddedDocument]


class ProjectMove(TypedDict):
    folder_id: str | None


class ProjectPage(TypedDict):
    data: list[Project]
    limit: int
    offset: int
    total: int


class ProjectPut(TypedDict):
    color: NotRequired[str | None]
    description: NotRequired[str | None]
    external_id: NotRequired[str | None]
    folder_id: NotRequired[str | None]
    icon: NotRequired[str | None]
    metadata: NotRequired[dict[str, str] | None]
    name: NotRequired[str]
    review: NotRequired[Review | None]
    sort_order: NotRequired[int]
    url: NotRequired[str | None]
    visibility: NotRequired[Visibility]


class ProposedChange(TypedDict):
    """The change as it was sent, without the text."""

    after_id: NotRequired[str | None]
    base_version: NotRequired[int]
    before_id: NotRequired[str | None]
    content_bytes: NotRequired[int]
    content_sha256: NotRequired[str]
    description: NotRequired[str | None]
    document_id: NotRequired[str]
    external_id: NotRequired[str | None]
    metadata: NotRequired[dict[str, str | None] | None]
    op: ProposalOp
    parent_id: NotRequired[str | None]
    project_id: NotRequired[str | None]
    sort_order: NotRequired[int]
    title: NotRequired[str]
    url: NotRequired[str | None]


class Proposal(TypedDict):
    approvals: list[Approval]
    changes: list[ProposedChange]
    created_at: str
    decided_at: str | None
    decided_by: str | None
    id: str
    key_id: str | None
    message: str | None
    note: str | None
    number: int
    revision: int
    state: ProposalState
    title: str
    updated_at: str
    user_id: str


class ProposalChange(TypedDict):
    changes: NotRequired[list[NewProposedChange]]
    message: NotRequired[str | None]
    title: NotRequired[str]


class ProposedConflict(TypedDict):
    change: int
    document_id: str
    hunks: list[ConflictHunk]
    reason: str


class ProposalDetail(TypedDict):
    approvals: list[Approval]
    changes: list[ProposedChange]
    conflicts: list[ProposedConflict]
    created_at: str
    decided_at: str | None
    decided_by: str | None
    id: str
    key_id: str | None
    message: str | None
    note: str | None
    number: int
    revision: int
    state: ProposalState
    title: str
    updated_at: str
    user_id: str


class ProposalError(TypedDict):
    code: ProposalErrorCode
    conflicts: NotRequired[list[ProposedConflict]]
    error: str
    field: NotRequired[str]
    index: NotRequired[int]


class ProposalPage(TypedDict):
    data: list[Proposal]
    limit: int
    offset: int
    total: int


class ProposalPreview(TypedDict):
    """A change of a proposal with its texts. A text that does not exist is `null`."""

    after_id: NotRequired[str | None]
    base: str | None
    base_version: NotRequired[int]
    before_id: NotRequired[str | None]
    change: int
    conflicts: list[ProposedConflict]
    content_bytes: NotRequired[int]
    content_sha256: NotRequired[str]
    description: NotRequired[str | None]
    diff: str | None
    document_id: NotRequired[str]
    external_id: NotRequired[str | None]
    merged: str | None
    metadata: NotRequired[dict[str, str | None] | None]
    op: ProposalOp
    parent_id: NotRequired[str | None]
    present: str | None
    project_id: NotRequired[str | None]
    proposed: str | None
    sort_order: NotRequired[int]
    title: NotRequired[str]
    url: NotRequired[str | None]


class ProposalRejection(TypedDict):
    note: NotRequired[str | None]


class RangeError(TypedDict):
    code: Literal["RANGE_NOT_SATISFIABLE"]
    error: str


class RateLimitedError(TypedDict):
    code: Literal["RATE_LIMITED"]
    error: str


class RecoverAnswer(TypedDict):
    next_since: NotRequired[str | None]
    queued: int


class Recovery(TypedDict):
    delivered: NotRequired[bool | None]
    since: str
    until: NotRequired[str | None]


class ReleaseChange(TypedDict):
    notes: NotRequired[str | None]


class DocumentNamesItem(TypedDict):
    id: str
    title: str


class ReleaseDiff(TypedDict):
    added: list[DocumentNamesItem]
    changed: list[DocumentNamesItem]
    moved: list[DocumentNamesItem]
    removed: list[DocumentNamesItem]


class ReleasePage(TypedDict):
    data: list[Release]
    limit: int
    offset: int
    total: int


class ReleaseRefusedError(TypedDict):
    code: ReleaseRefusedCode
    error: str


class SecretRotation(TypedDict):
    grace_seconds: NotRequired[int | None]


class ShareChange(TypedDict):
    branding_id: NotRequired[str | None]
    expires_at: NotRequired[str | None]
    listed: NotRequired[bool]
    password: NotRequired[str | None]
    release: NotRequired[str | None]
    show_releases: NotRequired[bool]


class SharePage(TypedDict):
    data: list[Share]
    limit: int
    offset: int
    total: int


class ShareRefusedError(TypedDict):
    code: ShareRefusedCode
    error: str


class Subscription(TypedDict):
    active: bool
    created_at: str
    deactivated_at: str | None
    deactivation_reason: DeactivationReason
    events: list[EventType]
    failure_count: int
    filter: NullableSubscriptionFilter | None
    header_names: list[str]
    held_count: int
    id: str
    last_error: str | None
    name: str
    updated_at: str
    url: str


class SubscriptionAnswer(TypedDict):
    subscription: Subscription


class SubscriptionChange(TypedDict):
    active: NotRequired[bool]
    events: NotRequired[list[EventType]]
    filter: NotRequired[NullableSubscriptionFilter | None]
    headers: NotRequired[dict[str, str] | None]
    name: NotRequired[str]
    url: NotRequired[str]


class SubscriptionPage(TypedDict):
    data: list[Subscription]
    limit: int
    offset: int
    total: int


class SubscriptionRefusedError(TypedDict):
    code: SubscriptionRefusedCode
    error: str


class SubscriptionWithSecret(Subscription):
    secret: str | None


class SubscriptionWithSecretAnswer(TypedDict):
    subscription: SubscriptionWithSecret


class TestResult(TypedDict):
    delivered: bool
    duration_ms: int
    error: str | None
    event_id: str
    response_body: str | None
    status_code: int | None


class TooLargeError(TypedDict):
    code: Literal["PAYLOAD_TOO_LARGE"]
    error: str


class UnauthorizedError(TypedDict):
    code: Literal["UNAUTHORIZED"]
    error: str


class UnavailableError(TypedDict):
    code: Literal["UNAVAILABLE"]
    error: str


class UnexpectedError(TypedDict):
    code: Literal["INTERNAL_ERROR"]
    error: str


class UnsupportedTypeError(TypedDict):
    code: Literal["UNSUPPORTED_MEDIA_TYPE"]
    error: str


class UploadRefusedError(TypedDict):
    code: UploadRefusedCode
    error: str


class Version(TypedDict):
    """The title and the text of a document as they were, or are."""

    content_bytes: int
    content_sha256: str
    created_at: str
    key_id: str | None
    proposal_id: str | None
    restored_version: int | None
    title: str
    user_id: str | None
    version: int


class VersionPage(TypedDict):
    data: list[Version]
    limit: int
    offset: int
    total: int


class VersionText(Version):
    """The version with its text."""

    content: str

Event = Union[ProjectEvent, FolderEvent, DocumentEvent, MediaEvent, GenerationEvent, ShareEvent, ProposalEvent, ReleaseEvent, SubscriptionEvent]
