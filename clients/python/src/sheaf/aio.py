"""The client for asyncio: the same nouns and methods, as coroutines and asynchronous iterators.

    from sheaf.aio import AsyncSheaf

    async with AsyncSheaf("https://docs.example.com", key) as sheaf:
        async for project in sheaf.projects.all(sort="name"):
            print(project["name"])

Each request runs in one of a few threads. What is cancelled is no longer waited for, but may still have its effect.
"""

# Written by generate_aio.py.

from __future__ import annotations

import ssl
from datetime import datetime
from types import TracebackType
from typing import AsyncIterator, BinaryIO, Callable

from . import Sheaf, types
from ._aio import AsyncListing, Runner, follow
from .errors import SheafError
from .types import (
    Branding,
    BrandingChange,
    Comment,
    ContentFormat,
    Delivery,
    DeliveryDetail,
    DeliveryState,
    Direction,
    Document,
    DocumentChange,
    DocumentMove,
    DocumentPut,
    DocumentSortField,
    DocumentText,
    DocumentTree,
    EntityType,
    Event,
    EventDelivery,
    EventType,
    Folder,
    FolderChange,
    FolderPut,
    Key,
    KeyWithSecret,
    ListedDocument,
    Medium,
    MediumChange,
    NewBranding,
    NewComment,
    NewDocument,
    NewEvent,
    NewFolder,
    NewKey,
    NewProject,
    NewProposal,
    NewRelease,
    NewShare,
    NewSubscription,
    Project,
    ProjectChange,
    ProjectDetail,
    ProjectPut,
    Proposal,
    ProposalChange,
    ProposalDetail,
    ProposalPreview,
    ProposalState,
    Release,
    ReleaseChange,
    ReleaseDiff,
    Share,
    ShareChange,
    SortField,
    Subscription,
    SubscriptionChange,
    SubscriptionWithSecret,
    TestResult,
    Version,
    VersionText,
)


class Projects:
    """The operations on projects."""

    def __init__(self, run: Runner, of: Sheaf) -> None:
        self._run, self._of = run, of.projects

    def all(self, *, folder_id: str | None=None, q: str | None=None, external_id: str | None=None, updated_since: str | datetime | None=None, sort: SortField | None=None, order: Direction | None=None, limit: int | None=None, offset: int | None=None) -> AsyncListing[Project]:
        """Returns those that match. folder_id is the folder that they are directly in, NONE the root level."""
        return AsyncListing(self._run, self._of.all(folder_id=folder_id, q=q, external_id=external_id, updated_since=updated_since, sort=sort, order=order, limit=limit, offset=offset))

    async def get(self, id: str, *, if_none_match: str | None=None) -> ProjectDetail:
        """Returns one project with the documents that changed last, at most 100. NotModified while it still has the ETag if_none_match."""
        return await self._run.call(self._of.get, id, if_none_match=if_none_match)

    async def tree(self, id: str, *, if_none_match: str | None=None) -> DocumentTree:
        """Returns all documents of a project in reading order, at most 10,000: each is followed by those below it. It needs documents:read too."""
        return await self._run.call(self._of.tree, id, if_none_match=if_none_match)

    async def create(self, fields: NewProject, *, idempotency_key: str | None=None) -> Project:
        """Makes a project."""
        return await self._run.call(self._of.create, fields, idempotency_key=idempotency_key)

    async def update(self, id: str, change: ProjectChange, *, if_match: str | None=None) -> Project:
        """Changes the fields that are there; None clears one. Returns the whole project."""
        return await self._run.call(self._of.update, id, change, if_match=if_match)

    async def move(self, id: str, folder_id: str | None, *, if_match: str | None=None, idempotency_key: str | None=None) -> Project:
        """Puts the project into a folder, or with None at the root level."""
        return await self._run.call(self._of.move, id, folder_id, if_match=if_match, idempotency_key=idempotency_key)

    async def delete(self, id: str, *, if_match: str | None=None) -> None:
        """Removes the project for ever. Its documents stay, in no project."""
        await self._run.call(self._of.delete, id, if_match=if_match)

    async def put(self, external_id: str, fields: ProjectPut, *, if_match: str | None=None) -> Project:
        """Changes the project of that external id, or makes it where there is none. The same again changes nothing."""
        return await self._run.call(self._of.put, external_id, fields, if_match=if_match)


class Folders:
    """The operations on folders."""

    def __init__(self, run: Runner, of: Sheaf) -> None:
        self._run, self._of = run, of.folders

    def all(self, *, entity_type: EntityType | None=None, parent_id: str | None=None, q: str | None=None, external_id: str | None=None, updated_since: str | datetime | None=None, sort: SortField | None=None, order: Direction | None=None, limit: int | None=None, offset: int | None=None) -> AsyncListing[Folder]:
        """Returns those that match. parent_id is the folder that they are directly in, NONE the root level."""
        return AsyncListing(self._run, self._of.all(entity_type=entity_type, parent_id=parent_id, q=q, external_id=external_id, updated_since=updated_since, sort=sort, order=order, limit=limit, offset=offset))

    async def get(self, id: str, *, if_none_match: str | None=None) -> Folder:
        """Returns one folder. NotModified while it still has the ETag if_none_match."""
        return await self._run.call(self._of.get, id, if_none_match=if_none_match)

    async def create(self, fields: NewFolder, *, idempotency_key: str | None=None) -> Folder:
        """Makes a folder."""
        return await self._run.call(self._of.create, fields, idempotency_key=idempotency_key)

    async def update(self, id: str, change: FolderChange, *, if_match: str | None=None) -> Folder:
        """Changes the fields that are there; None clears one. Returns the whole folder."""
        return await self._run.call(self._of.update, id, change, if_match=if_match)

    async def move(self, id: str, parent_id: str | None, *, if_match: str | None=None, idempotency_key: str | None=None) -> Folder:
        """Puts the folder, with all that is in it, into another, or with None at the root level."""
        return await self._run.call(self._of.move, id, parent_id, if_match=if_match, idempotency_key=idempotency_key)

    async def delete(self, id: str, *, if_match: str | None=None) -> None:
        """Removes the folder and all folders below it. What was in them stays, at the root level."""
        await self._run.call(self._of.delete, id, if_match=if_match)

    async def put(self, external_id: str, fields: FolderPut, *, if_match: str | None=None) -> Folder:
        """Changes the folder of that external id, or makes it where there is none. The same again changes nothing."""
        return await self._run.call(self._of.put, external_id, fields, if_match=if_match)


class Brandings:
    """The operations on brandings."""

    def __init__(self, run: Runner, of: Sheaf) -> None:
        self._run, self._of = run, of.brandings

    def all(self, *, folder_id: str | None=None, q: str | None=None, updated_since: str | datetime | None=None, sort: SortField | None=None, order: Direction | None=None, limit: int | None=None, offset: int | None=None) -> AsyncListing[Branding]:
        """Returns those that match. folder_id is the folder that they are directly in, NONE the root level."""
        return AsyncListing(self._run, self._of.all(folder_id=folder_id, q=q, updated_since=updated_since, sort=sort, order=order, limit=limit, offset=offset))

    async def get(self, id: str, *, if_none_match: str | None=None) -> Branding:
        """Returns one branding. NotModified while it still has the ETag if_none_match."""
        return await self._run.call(self._of.get, id, if_none_match=if_none_match)

    async def create(self, fields: NewBranding, *, idempotency_key: str | None=None) -> Branding:
        """Makes a branding."""
        return await self._run.call(self._of.create, fields, idempotency_key=idempotency_key)

    async def update(self, id: str, change: BrandingChange, *, if_match: str | None=None) -> Branding:
        """Changes the fields that are there; None clears one. Returns the whole branding."""
        return await self._run.call(self._of.update, id, change, if_match=if_match)

    async def move(self, id: str, folder_id: str | None, *, if_match: str | None=None, idempotency_key: str | None=None) -> Branding:
        """Puts the branding into a folder, or with None at the root level."""
        return await self._run.call(self._of.move, id, folder_id, if_match=if_match, idempotency_key=idempotency_key)

    async def delete(self, id: str, *, if_match: str | None=None) -> None:
        """Removes the branding for ever."""
        await self._run.call(self._of.delete, id, if_match=if_match)


class Documents:
    """The operations on documents."""

    def __init__(self, run: Runner, of: Sheaf) -> None:
        self._run, self._of = run, of.documents

    def all(self, *, project_id: str | None=None, parent_id: str | None=None, q: str | None=None, external_id: str | None=None, updated_since: str | datetime | None=None, deleted: bool | None=None, sort: DocumentSortField | None=None, order: Direction | None=None, limit: int | None=None, offset: int | None=None) -> AsyncListing[ListedDocument]:
        """Returns those that match, without their texts. project_id NONE is for those in no project, parent_id NONE for those at the top level."""
        return AsyncListing(self._run, self._of.all(project_id=project_id, parent_id=parent_id, q=q, external_id=external_id, updated_since=updated_since, deleted=deleted, sort=sort, order=order, limit=limit, offset=offset))

    async def get(self, id: str, *, if_none_match: str | None=None) -> DocumentText:
        """Returns one document with its text. NotModified while it still has the ETag if_none_match."""
        return await self._run.call(self._of.get, id, if_none_match=if_none_match)

    async def create(self, fields: NewDocument, *, idempotency_key: str | None=None) -> Document:
        """Makes a document."""
        return await self._run.call(self._of.create, fields, idempotency_key=idempotency_key)

    async def update(self, id: str, change: DocumentChange, *, if_match: str | None=None) -> Document:
        """Changes the fields that are there; None clears one. Returns the whole document."""
        return await self._run.call(self._of.update, id, change, if_match=if_match)

    async def move(self, id: str, to: DocumentMove, *, if_match: str | None=None, idempotency_key: str | None=None) -> Document:
        """Moves the document with everything below it. If project_id or parent_id is left out, the value of the neighbour is used; without a neighbour, the document keeps its own. Without before_id and after_id, it goes to the end of its level."""
        return await self._run.call(self._of.move, id, to, if_match=if_match, idempotency_key=idempotency_key)

    async def delete(self, id: str, *, if_match: str | None=None) -> None:
        """Moves the document and everything below it to the trash; restore brings them back."""
        await self._run.call(self._of.delete, id, if_match=if_match)

    async def put(self, external_id: str, fields: DocumentPut, *, if_match: str | None=None) -> Document:
        """Changes the document of that external id, brings it back where it is deleted, or makes it where there is none. The same again changes nothing."""
        return await self._run.call(self._of.put, external_id, fields, if_match=if_match)

    async def restore(self, id: str, *, idempotency_key: str | None=None) -> Document:
        """Brings a deleted document back, with the documents below it that were deleted with it. If its project is gone, it is in none. If its parent is gone, it is at the top level."""
        return await self._run.call(self._of.restore, id, idempotency_key=idempotency_key)

    async def purge(self, id: str, *, releases: bool=False, if_match: str | None=None) -> None:
        """Removes a deleted document for good, with its text and versions. One that is not deleted is a Conflict. So is one
        that is in releases, unless releases says that it leaves them too, which needs releases:write."""
        await self._run.call(self._of.purge, id, releases=releases, if_match=if_match)

    async def content(self, id: str, format: ContentFormat='markdown') -> str:
        """Returns the text of a document: as it was written, or as HTML that the service made of it."""
        return await self._run.call(self._of.content, id, format)

    async def put_content(self, id: str, text: str, *, if_match: str | None=None) -> Document:
        """Gives a document this text, of at most 1,048,576 bytes, and returns the document without it."""
        return await self._run.call(self._of.put_content, id, text, if_match=if_match)

    def versions(self, id: str, *, order: Direction | None=None, limit: int | None=None, offset: int | None=None) -> AsyncListing[Version]:
        """Returns the versions of a document, newest first unless the order is asc."""
        return AsyncListing(self._run, self._of.versions(id, order=order, limit=limit, offset=offset))

    async def version(self, id: str, number: int) -> VersionText:
        """Returns one version of a document with its text."""
        return await self._run.call(self._of.version, id, number)

    async def diff(self, id: str, number: int, to: int | None=None) -> str:
        """Returns what changed in the text from a version to another, or to the present one, as a unified diff."""
        return await self._run.call(self._of.diff, id, number, to)

    async def restore_version(self, id: str, number: int, *, if_match: str | None=None, idempotency_key: str | None=None) -> Document:
        """Gives a document the title and the text that it had in a version, as a new version."""
        return await self._run.call(self._of.restore_version, id, number, if_match=if_match, idempotency_key=idempotency_key)


class Media:
    """The operations on media."""

    def __init__(self, run: Runner, of: Sheaf) -> None:
        self._run, self._of = run, of.media

    def all(self, *, document_id: str | None=None, content_type: str | None=None, order: Direction | None=None, limit: int | None=None, offset: int | None=None) -> AsyncListing[Medium]:
        """Returns those that match. content_type is how the type begins, such as image/."""
        return AsyncListing(self._run, self._of.all(document_id=document_id, content_type=content_type, order=order, limit=limit, offset=offset))

    async def get(self, id: str, *, if_none_match: str | None=None) -> Medium:
        """Returns one medium, without its bytes. NotModified while it still has the ETag if_none_match."""
        return await self._run.call(self._of.get, id, if_none_match=if_none_match)

    async def update(self, id: str, change: MediumChange, *, if_match: str | None=None) -> Medium:
        """Changes the fields that are there; None clears one. Returns the whole medium."""
        return await self._run.call(self._of.update, id, change, if_match=if_match)

    async def delete(self, id: str, *, if_match: str | None=None) -> None:
        """Removes the medium for ever. Texts that show it have its alternative text in its place."""
        await self._run.call(self._of.delete, id, if_match=if_match)

    async def upload(self, content: bytes, *, filename: str, document_id: str | None=None, idempotency_key: str | None=None) -> Medium:
        """Stores a file of at most 10 MB in one request. upload_from takes larger ones."""
        return await self._run.call(self._of.upload, content, filename=filename, document_id=document_id, idempotency_key=idempotency_key)

    async def upload_from(self, content: BinaryIO, *, filename: str, document_id: str | None=None) -> Medium:
        """Stores a file of whatever size the server takes, from its beginning, in several requests (tus 1.0). When one fails it
        asks how far the server has come, and goes on from there, as often as other requests are repeated without anything
        arriving in between. It holds a few megabytes of the file, which must be seekable."""
        return await self._run.call(self._of.upload_from, content, filename=filename, document_id=document_id)

    async def download(self, id: str, into: BinaryIO) -> int:
        """Writes the bytes of a medium into a file and returns how many there are. It is not repeated."""
        return await self._run.call(self._of.download, id, into)


class Shares:
    """The operations on shares. Their scopes are shares:read and shares:write; making one needs those to read what it shows too."""

    def __init__(self, run: Runner, of: Sheaf) -> None:
        self._run, self._of = run, of.shares

    def all(self, *, resource_id: str | None=None, order: Direction | None=None, limit: int | None=None, offset: int | None=None) -> AsyncListing[Share]:
        """Returns those that match. resource_id is what they show."""
        return AsyncListing(self._run, self._of.all(resource_id=resource_id, order=order, limit=limit, offset=offset))

    async def get(self, id: str, *, if_none_match: str | None=None) -> Share:
        """Returns one share. NotModified while it still has the ETag if_none_match."""
        return await self._run.call(self._of.get, id, if_none_match=if_none_match)

    async def create(self, fields: NewShare, *, idempotency_key: str | None=None) -> Share:
        """Makes a share."""
        return await self._run.call(self._of.create, fields, idempotency_key=idempotency_key)

    async def update(self, id: str, change: ShareChange, *, if_match: str | None=None) -> Share:
        """Changes the fields that are there; None clears one. Returns the whole share."""
        return await self._run.call(self._of.update, id, change, if_match=if_match)

    async def delete(self, id: str, *, if_match: str | None=None) -> None:
        """Ends the share; its address is then not found."""
        await self._run.call(self._of.delete, id, if_match=if_match)


class Proposals:
    """The operations on proposals. Accepting also needs documents:write, and reading texts needs documents:read."""

    def __init__(self, run: Runner, of: Sheaf) -> None:
        self._run, self._of = run, of.proposals

    def all(self, *, state: ProposalState | None=None, project_id: str | None=None, document_id: str | None=None, user_id: str | None=None, updated_since: str | datetime | None=None, order: Direction | None=None, limit: int | None=None, offset: int | None=None) -> AsyncListing[Proposal]:
        """Returns the proposals that match, oldest first unless the order is desc. user_id is the author."""
        return AsyncListing(self._run, self._of.all(state=state, project_id=project_id, document_id=document_id, user_id=user_id, updated_since=updated_since, order=order, limit=limit, offset=offset))

    async def get(self, id: str, *, if_none_match: str | None=None) -> ProposalDetail:
        """Returns one proposal with its present conflicts. NotModified while it still has the ETag if_none_match."""
        return await self._run.call(self._of.get, id, if_none_match=if_none_match)

    async def create(self, fields: NewProposal, *, idempotency_key: str | None=None) -> Proposal:
        """Makes a proposal of 1 to 100 changes. No document changes."""
        return await self._run.call(self._of.create, fields, idempotency_key=idempotency_key)

    async def update(self, id: str, change: ProposalChange, *, if_match: str | None=None) -> Proposal:
        """Changes an open proposal. New changes replace all earlier ones, and remove the approvals."""
        return await self._run.call(self._of.update, id, change, if_match=if_match)

    async def preview(self, id: str, change: int) -> ProposalPreview:
        """Returns one change, counted from 0, with its texts."""
        return await self._run.call(self._of.preview, id, change)

    async def approve(self, id: str, *, if_match: str, idempotency_key: str | None=None) -> Proposal:
        """Approves the revision of the proposal that get returned with the ETag if_match."""
        return await self._run.call(self._of.approve, id, if_match=if_match, idempotency_key=idempotency_key)

    async def take_back_approval(self, id: str, *, if_match: str | None=None) -> None:
        """Removes the approval of the key's user."""
        await self._run.call(self._of.take_back_approval, id, if_match=if_match)

    async def accept(self, id: str, *, if_match: str, idempotency_key: str | None=None) -> Proposal:
        """Makes all changes of the revision with the ETag if_match, or none. Raises Conflict if a document has changed in the same places."""
        return await self._run.call(self._of.accept, id, if_match=if_match, idempotency_key=idempotency_key)

    async def reject(self, id: str, note: str | None=None, *, if_match: str | None=None, idempotency_key: str | None=None) -> Proposal:
        """Ends the proposal. The note is the reason."""
        return await self._run.call(self._of.reject, id, note, if_match=if_match, idempotency_key=idempotency_key)

    async def withdraw(self, id: str, *, if_match: str | None=None, idempotency_key: str | None=None) -> Proposal:
        """Ends a proposal of the key's own user."""
        return await self._run.call(self._of.withdraw, id, if_match=if_match, idempotency_key=idempotency_key)

    def comments(self, id: str, *, order: Direction | None=None, limit: int | None=None, offset: int | None=None) -> AsyncListing[Comment]:
        """Returns the comments of a proposal, oldest first unless the order is desc."""
        return AsyncListing(self._run, self._of.comments(id, order=order, limit=limit, offset=offset))

    async def comment(self, id: str, fields: NewComment, *, idempotency_key: str | None=None) -> Comment:
        """Makes a comment on an open proposal."""
        return await self._run.call(self._of.comment, id, fields, idempotency_key=idempotency_key)

    async def update_comment(self, id: str, number: int, body: str, *, if_match: str | None=None) -> Comment:
        """Gives a comment of the key's own user another text."""
        return await self._run.call(self._of.update_comment, id, number, body, if_match=if_match)

    async def delete_comment(self, id: str, number: int, *, if_match: str | None=None) -> None:
        """Deletes a comment of the key's own user."""
        await self._run.call(self._of.delete_comment, id, number, if_match=if_match)


class Releases:
    """The operations on releases. Reading their documents also needs documents:read, and reading their media media:read too."""

    def __init__(self, run: Runner, of: Sheaf) -> None:
        self._run, self._of = run, of.releases

    def all(self, project_id: str, *, name: str | None=None, order: Direction | None=None, limit: int | None=None, offset: int | None=None) -> AsyncListing[Release]:
        """Returns the releases of a project, oldest first unless the order is desc."""
        return AsyncListing(self._run, self._of.all(project_id, name=name, order=order, limit=limit, offset=offset))

    async def get(self, id: str, *, if_none_match: str | None=None) -> Release:
        """Returns one release. NotModified while it still has the ETag if_none_match."""
        return await self._run.call(self._of.get, id, if_none_match=if_none_match)

    async def create(self, project_id: str, fields: NewRelease, *, idempotency_key: str | None=None) -> Release:
        """Freezes the documents of a project under a name. Raises Conflict if another release of the project has the name."""
        return await self._run.call(self._of.create, project_id, fields, idempotency_key=idempotency_key)

    async def update(self, id: str, change: ReleaseChange, *, if_match: str | None=None) -> Release:
        """Changes the notes of a release. Nothing else of it can change."""
        return await self._run.call(self._of.update, id, change, if_match=if_match)

    async def delete(self, id: str, *, if_match: str | None=None) -> None:
        """Deletes a release. Raises Conflict if a share names it."""
        await self._run.call(self._of.delete, id, if_match=if_match)

    async def tree(self, id: str) -> DocumentTree:
        """Returns all documents of a release in reading order."""
        return await self._run.call(self._of.tree, id)

    async def diff(self, id: str, to: str='present') -> ReleaseDiff:
        """Returns what differs between a release and another one of its project, or the documents as they are now."""
        return await self._run.call(self._of.diff, id, to)

    async def document(self, id: str, document_id: str) -> Document:
        """Returns a document as the release has it."""
        return await self._run.call(self._of.document, id, document_id)

    async def content(self, id: str, document_id: str, format: ContentFormat='markdown') -> str:
        """Returns the text of a document as the release has it: as it was written, or as HTML that the service made of it."""
        return await self._run.call(self._of.content, id, document_id, format)

    async def download_medium(self, id: str, medium_id: str, into: BinaryIO) -> int:
        """Writes the bytes of a medium that a text of the release names into a file, as media.download does."""
        return await self._run.call(self._of.download_medium, id, medium_id, into)


class Events:
    """The operations on events."""

    def __init__(self, run: Runner, of: Sheaf) -> None:
        self._run, self._of = run, of.events

    def all(self, *, type: EventType | None=None, resource_id: str | None=None, since: str | datetime | None=None, after: str | None=None, order: Direction | None=None, limit: int | None=None, offset: int | None=None) -> AsyncListing[Event]:
        """Returns those that match, up to the end of the log: each once, also when more come meanwhile. An event to go on
        after that is no longer kept is NotFound: begin with since."""
        return AsyncListing(self._run, self._of.all(type=type, resource_id=resource_id, since=since, after=after, order=order, limit=limit, offset=offset))

    def stream(self, *, type: EventType | None=None, resource_id: str | None=None, since: str | datetime | None=None, after: str | None=None) -> AsyncIterator[Event]:
        """Returns events as they happen: those after an event, or since a time, or else from now on.
        
        If the connection breaks, it is reopened as often as needed, after the last event: none is missed, and none comes
        twice. While the caller works on an event no more is read, and nothing is lost however long that takes. An event to go
        on after that is no longer kept is NotFound: what lies between is lost, and the caller decides where to begin."""
        return follow(self._of._follower(type=type, resource_id=resource_id, since=since, after=after))

    async def get(self, id: str) -> Event:
        """Returns one event."""
        return await self._run.call(self._of.get, id)

    async def publish(self, fields: NewEvent, *, idempotency_key: str | None=None) -> Event:
        """Reports an event of another part of your system."""
        return await self._run.call(self._of.publish, fields, idempotency_key=idempotency_key)

    def deliveries(self, id: str, *, limit: int | None=None, offset: int | None=None) -> AsyncListing[EventDelivery]:
        """Returns the deliveries of an event, one for each subscription. It needs webhooks:read too."""
        return AsyncListing(self._run, self._of.deliveries(id, limit=limit, offset=offset))


class Keys:
    """The operations on API keys."""

    def __init__(self, run: Runner, of: Sheaf) -> None:
        self._run, self._of = run, of.keys

    def all(self, *, order: Direction | None=None, limit: int | None=None, offset: int | None=None) -> AsyncListing[Key]:
        """Returns the live keys."""
        return AsyncListing(self._run, self._of.all(order=order, limit=limit, offset=offset))

    async def create(self, fields: NewKey, *, idempotency_key: str | None=None) -> KeyWithSecret:
        """Makes a key, which is shown once: None where the first answer was lost. Revoke that one and make another."""
        return await self._run.call(self._of.create, fields, idempotency_key=idempotency_key)

    async def rotate(self, id: str, *, grace_seconds: int=0, idempotency_key: str | None=None) -> KeyWithSecret:
        """Gives a key a new secret, which is shown once. The present one works too for the seconds of grace, at most a day."""
        return await self._run.call(self._of.rotate, id, grace_seconds=grace_seconds, idempotency_key=idempotency_key)

    async def revoke(self, id: str) -> None:
        """Ends a key at once, the client's own too."""
        await self._run.call(self._of.revoke, id)


class Subscriptions:
    """The operations on webhook subscriptions."""

    def __init__(self, run: Runner, of: Sheaf) -> None:
        self._run, self._of = run, of.subscriptions

    def all(self, *, order: Direction | None=None, limit: int | None=None, offset: int | None=None) -> AsyncListing[Subscription]:
        """Returns the subscriptions."""
        return AsyncListing(self._run, self._of.all(order=order, limit=limit, offset=offset))

    async def get(self, id: str, *, if_none_match: str | None=None) -> Subscription:
        """Returns one subscription."""
        return await self._run.call(self._of.get, id, if_none_match=if_none_match)

    async def create(self, fields: NewSubscription, *, idempotency_key: str | None=None) -> SubscriptionWithSecret:
        """Makes a subscription with its secret, which is shown once: None where the first answer was lost. Rotate it then.
        It sends nothing to the address."""
        return await self._run.call(self._of.create, fields, idempotency_key=idempotency_key)

    async def update(self, id: str, change: SubscriptionChange, *, if_match: str | None=None) -> Subscription:
        """Changes the fields that are there. {"active": True} is how a deactivated one is used again."""
        return await self._run.call(self._of.update, id, change, if_match=if_match)

    async def delete(self, id: str, *, if_match: str | None=None) -> None:
        """Removes the subscription and cancels its deliveries."""
        await self._run.call(self._of.delete, id, if_match=if_match)

    async def test(self, id: str) -> TestResult:
        """Sends one event of type webhook.test and waits for the answer. It is not repeated."""
        return await self._run.call(self._of.test, id)

    async def rotate_secret(self, id: str, *, grace_seconds: int=86400, idempotency_key: str | None=None) -> SubscriptionWithSecret:
        """Makes a new secret. The old one signs too for the seconds of grace, at most 7 days."""
        return await self._run.call(self._of.rotate_secret, id, grace_seconds=grace_seconds, idempotency_key=idempotency_key)

    async def recover(self, id: str, since: str | datetime, *, until: str | datetime | None=None, delivered: bool=False, idempotency_key: str | None=None) -> int:
        """Sends failed and held deliveries of events since then again, up to a time where one is given, and returns how many
        there are. With delivered it also sends what arrived already and what the subscription never had: a new endpoint is
        given the past. It makes a request for each 10,000 events of the log; the key of those after the first has their
        number behind it."""
        return await self._run.call(self._of.recover, id, since, until=until, delivered=delivered, idempotency_key=idempotency_key)


class Deliveries:
    """The operations on deliveries. Reading needs the scope webhooks:read, redeliver webhooks:write."""

    def __init__(self, run: Runner, of: Sheaf) -> None:
        self._run, self._of = run, of.deliveries

    def all(self, subscription_id: str, *, state: DeliveryState | None=None, order: Direction | None=None, limit: int | None=None, offset: int | None=None) -> AsyncListing[Delivery]:
        """Returns the deliveries of a subscription."""
        return AsyncListing(self._run, self._of.all(subscription_id, state=state, order=order, limit=limit, offset=offset))

    async def get(self, id: str) -> DeliveryDetail:
        """Returns one delivery with its attempts."""
        return await self._run.call(self._of.get, id)

    async def redeliver(self, id: str, *, idempotency_key: str | None=None) -> Delivery:
        """Makes one more attempt, also for an inactive subscription."""
        return await self._run.call(self._of.redeliver, id, idempotency_key=idempotency_key)


class AsyncSheaf:
    """A client with one key, for one event loop."""

    def __init__(
        self, server: str, key: str, *, retries: int = 4, timeout: float = 60.0, user_agent: str = "sheaf-python", threads: int = 8,
        tls: ssl.SSLContext | None = None, on_retry: Callable[[SheafError, float], None] | None = None,
    ) -> None:  # fmt: skip
        """As Sheaf. threads is how many requests run at a time; on_retry is called in one of their threads."""
        self._of = Sheaf(server, key, retries=retries, timeout=timeout, user_agent=user_agent, tls=tls, on_retry=on_retry)
        self._run = Runner(threads)
        self.projects = Projects(self._run, self._of)
        self.folders = Folders(self._run, self._of)
        self.brandings = Brandings(self._run, self._of)
        self.documents = Documents(self._run, self._of)
        self.media = Media(self._run, self._of)
        self.shares = Shares(self._run, self._of)
        self.proposals = Proposals(self._run, self._of)
        self.releases = Releases(self._run, self._of)
        self.events = Events(self._run, self._of)
        self.keys = Keys(self._run, self._of)
        self.subscriptions = Subscriptions(self._run, self._of)
        self.deliveries = Deliveries(self._run, self._of)

    async def me(self) -> types.Identity:
        """Returns who the key stands for: the call to test a connection with."""
        return await self._run.call(self._of.me)

    def icons(self, *, limit: int | None=None, offset: int | None=None) -> AsyncListing[types.IconEntry]:
        """Returns the icons that the service draws for projects."""
        return AsyncListing(self._run, self._of.icons(limit=limit, offset=offset))

    def search(self, q: str, *, type: list[types.HitType] | None=None, project_id: str | None=None, folder_id: str | None=None, limit: int | None=None, offset: int | None=None) -> AsyncListing[types.Hit]:
        """Returns what has every word: first what has all of them in its title, then the newest."""
        return AsyncListing(self._run, self._of.search(q, type=type, project_id=project_id, folder_id=folder_id, limit=limit, offset=offset))

    async def batch(self, operations: list[types.BatchOperation], *, idempotency_key: str | None=None) -> list[types.BatchResult]:
        """Makes up to 100 changes, all of them or none. When one is refused nothing is done, and the error's index says which."""
        return await self._run.call(self._of.batch, operations, idempotency_key=idempotency_key)

    async def close(self) -> None:
        """Closes the connections that wait for the next request."""
        self._of.close()
        self._run.close()

    async def __aenter__(self) -> AsyncSheaf:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()
