"""A release has the documents of a project as they were at one moment, under a name. Reading releases needs the scope
releases:read. Making, changing and deleting them needs releases:write."""

from __future__ import annotations

from typing import BinaryIO, cast

from ._call import Caller, Request, conditions, segment
from ._page import Listing
from .medium import fetch
from .types import ContentFormat, Direction, Document, DocumentTree, NewRelease, Release, ReleaseChange, ReleaseDiff

PATH = "/api/v1/releases"


class Releases:
    """The operations on releases. Reading their documents also needs documents:read, and reading their media media:read too."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def all(
        self, project_id: str, *, name: str | None = None, order: Direction | None = None,
        limit: int | None = None, offset: int | None = None,
    ) -> Listing[Release]:  # fmt: skip
        """Returns the releases of a project, oldest first unless the order is desc."""
        query = {"name": name, "order": order, "limit": limit, "offset": offset}
        return Listing(self._caller, f"/api/v1/projects/{segment(project_id)}/releases", query)

    def get(self, id: str, *, if_none_match: str | None = None) -> Release:
        """Returns one release. NotModified while it still has the ETag if_none_match."""
        request = Request("GET", f"{PATH}/{segment(id)}", headers=conditions(if_none_match=if_none_match))
        return cast(Release, self._caller.record(request))

    def create(self, project_id: str, fields: NewRelease, *, idempotency_key: str | None = None) -> Release:
        """Freezes the documents of a project under a name. Raises Conflict if another release of the project has the name."""
        request = Request(
            "POST", f"/api/v1/projects/{segment(project_id)}/releases", body=fields, headers=conditions(idempotency_key=idempotency_key)
        )
        return cast(Release, self._caller.record(request))

    def update(self, id: str, change: ReleaseChange, *, if_match: str | None = None) -> Release:
        """Changes the notes of a release. Nothing else of it can change."""
        request = Request("PATCH", f"{PATH}/{segment(id)}", body=change, headers=conditions(if_match=if_match))
        return cast(Release, self._caller.record(request))

    def delete(self, id: str, *, if_match: str | None = None) -> None:
        """Deletes a release. Raises Conflict if a share names it."""
        self._caller.call(Request("DELETE", f"{PATH}/{segment(id)}", headers=conditions(if_match=if_match)))

    def tree(self, id: str) -> DocumentTree:
        """Returns all documents of a release in reading order."""
        return cast(DocumentTree, self._caller.record(Request("GET", f"{PATH}/{segment(id)}/tree")))

    def diff(self, id: str, to: str = "present") -> ReleaseDiff:
        """Returns what differs between a release and another one of its project, or the documents as they are now."""
        return cast(ReleaseDiff, self._caller.record(Request("GET", f"{PATH}/{segment(id)}/diff", query={"to": to})))

    def document(self, id: str, document_id: str) -> Document:
        """Returns a document as the release has it."""
        return cast(Document, self._caller.record(Request("GET", f"{PATH}/{segment(id)}/documents/{segment(document_id)}")))

    def content(self, id: str, document_id: str, format: ContentFormat = "markdown") -> str:
        """Returns the text of a document as the release has it: as it was written, or as HTML that the service made of it."""
        query = None if format == "markdown" else format
        path = f"{PATH}/{segment(id)}/documents/{segment(document_id)}/content"
        return self._caller.call(Request("GET", path, query={"format": query})).body.decode()

    def download_medium(self, id: str, medium_id: str, into: BinaryIO) -> int:
        """Writes the bytes of a medium that a text of the release names into a file, as media.download does."""
        return fetch(self._caller, f"{PATH}/{segment(id)}/media/{segment(medium_id)}/content", into)
