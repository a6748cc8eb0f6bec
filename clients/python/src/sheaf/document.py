"""Documents are Markdown, in a project or in none, with all their versions. Their scopes are documents:read and documents:write."""

from __future__ import annotations

from datetime import datetime
from typing import cast

from ._call import Caller, Request, conditions, segment
from ._page import Listing
from .types import ContentFormat, Direction, Document, DocumentChange, DocumentMove, DocumentPut, DocumentSortField, DocumentText, ListedDocument, NewDocument, Version, VersionText

PATH = "/api/v1/documents"


class Documents:
    """The operations on documents."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def all(
        self, *, project_id: str | None = None, parent_id: str | None = None, q: str | None = None,
        external_id: str | None = None, updated_since: str | datetime | None = None, deleted: bool | None = None,
        sort: DocumentSortField | None = None, order: Direction | None = None, limit: int | None = None,
        offset: int | None = None,
    ) -> Listing[ListedDocument]:  # fmt: skip
        """Returns those that match, without their texts. project_id NONE is for those in no project, parent_id NONE for those at the top level."""
        query = {
            "project_id": project_id, "parent_id": parent_id, "q": q, "external_id": external_id,
            "updated_since": updated_since, "deleted": deleted, "sort": sort, "order": order, "limit": limit,
            "offset": offset,
        }  # fmt: skip
        return Listing(self._caller, PATH, query)

    def get(self, id: str, *, if_none_match: str | None = None) -> DocumentText:
        """Returns one document with its text. NotModified while it still has the ETag if_none_match."""
        request = Request("GET", f"{PATH}/{segment(id)}", headers=conditions(if_none_match=if_none_match))
        return cast(DocumentText, self._caller.record(request))

    def create(self, fields: NewDocument, *, idempotency_key: str | None = None) -> Document:
        """Makes a document."""
        request = Request("POST", PATH, body=fields, headers=conditions(idempotency_key=idempotency_key))
        return cast(Document, self._caller.record(request))

    def update(self, id: str, change: DocumentChange, *, if_match: str | None = None) -> Document:
        """Changes the fields that are there; None clears one. Returns the whole document."""
        request = Request("PATCH", f"{PATH}/{segment(id)}", body=change, headers=conditions(if_match=if_match))
        return cast(Document, self._caller.record(request))

    def move(self, id: str, to: DocumentMove, *, if_match: str | None = None, idempotency_key: str | None = None) -> Document:
        """Moves the document with everything below it. If project_id or parent_id is left out, the value of the neighbour is used; without a neighbour, the document keeps its own. Without before_id and after_id, it goes to the end of its level."""
        headers = conditions(if_match=if_match, idempotency_key=idempotency_key)
        request = Request("POST", f"{PATH}/{segment(id)}/move", body=to, headers=headers)
        return cast(Document, self._caller.record(request))

    def delete(self, id: str, *, if_match: str | None = None) -> None:
        """Moves the document and everything below it to the trash; restore brings them back."""
        self._caller.call(Request("DELETE", f"{PATH}/{segment(id)}", headers=conditions(if_match=if_match)))

    def put(self, external_id: str, fields: DocumentPut, *, if_match: str | None = None) -> Document:
        """Changes the document of that external id, brings it back where it is deleted, or makes it where there is none. The same again changes nothing."""
        request = Request("PUT", PATH, query={"external_id": external_id}, body=fields, headers=conditions(if_match=if_match))
        return cast(Document, self._caller.record(request))

    def restore(self, id: str, *, idempotency_key: str | None = None) -> Document:
        """Brings a deleted document back, with the documents below it that were deleted with it. If its project is gone, it is in none. If its parent is gone, it is at the top level."""
        request = Request("POST", f"{PATH}/{segment(id)}/restore", headers=conditions(idempotency_key=idempotency_key))
        return cast(Document, self._caller.record(request))

    def purge(self, id: str, *, releases: bool = False, if_match: str | None = None) -> None:
        """Removes a deleted document for good, with its text and versions. One that is not deleted is a Conflict. So is one
        that is in releases, unless releases says that it leaves them too, which needs releases:write."""
        query = {"releases": "true" if releases else None}
        self._caller.call(Request("DELETE", f"{PATH}/{segment(id)}/permanent", query=query, headers=conditions(if_match=if_match)))

    def content(self, id: str, format: ContentFormat = "markdown") -> str:
        """Returns the text of a document: as it was written, or as HTML that the service made of it."""
        query = None if format == "markdown" else format
        return self._caller.call(Request("GET", f"{PATH}/{segment(id)}/content", query={"format": query})).body.decode()

    def put_content(self, id: str, text: str, *, if_match: str | None = None) -> Document:
        """Gives a document this text, of at most 1,048,576 bytes, and returns the document without it."""
        request = Request(
            "PUT", f"{PATH}/{segment(id)}/content", content=text.encode(), content_type="text/markdown; charset=utf-8",
            headers=conditions(if_match=if_match),
        )  # fmt: skip
        return cast(Document, self._caller.record(request))

    def versions(
        self, id: str, *, order: Direction | None = None, limit: int | None = None, offset: int | None = None
    ) -> Listing[Version]:
        """Returns the versions of a document, newest first unless the order is asc."""
        return Listing(self._caller, f"{PATH}/{segment(id)}/versions", {"order": order, "limit": limit, "offset": offset})

    def version(self, id: str, number: int) -> VersionText:
        """Returns one version of a document with its text."""
        return cast(VersionText, self._caller.record(Request("GET", f"{PATH}/{segment(id)}/versions/{int(number)}")))

    def diff(self, id: str, number: int, to: int | None = None) -> str:
        """Returns what changed in the text from a version to another, or to the present one, as a unified diff."""
        request = Request("GET", f"{PATH}/{segment(id)}/versions/{int(number)}/diff", query={"to": to})
        return self._caller.call(request).body.decode()

    def restore_version(
        self, id: str, number: int, *, if_match: str | None = None, idempotency_key: str | None = None
    ) -> Document:
        """Gives a document the title and the text that it had in a version, as a new version."""
        headers = conditions(if_match=if_match, idempotency_key=idempotency_key)
        request = Request("POST", f"{PATH}/{segment(id)}/versions/{int(number)}/restore", headers=headers)
        return cast(Document, self._caller.record(request))
