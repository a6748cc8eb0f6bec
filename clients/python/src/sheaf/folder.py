"""Folders hold projects or brandings, three levels deep. Their scopes are projects:read and projects:write."""

from __future__ import annotations

from datetime import datetime
from typing import cast

from ._call import Caller, Request, conditions, segment
from ._page import Listing
from .types import Direction, EntityType, Folder, FolderChange, FolderPut, NewFolder, SortField

PATH = "/api/v1/folders"


class Folders:
    """The operations on folders."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def all(
        self, *, entity_type: EntityType | None = None, parent_id: str | None = None, q: str | None = None,
        external_id: str | None = None, updated_since: str | datetime | None = None, sort: SortField | None = None,
        order: Direction | None = None, limit: int | None = None, offset: int | None = None,
    ) -> Listing[Folder]:  # fmt: skip
        """Returns those that match. parent_id is the folder that they are directly in, NONE the root level."""
        query = {
            "entity_type": entity_type, "parent_id": parent_id, "q": q, "external_id": external_id,
            "updated_since": updated_since, "sort": sort, "order": order, "limit": limit, "offset": offset,
        }  # fmt: skip
        return Listing(self._caller, PATH, query)

    def get(self, id: str, *, if_none_match: str | None = None) -> Folder:
        """Returns one folder. NotModified while it still has the ETag if_none_match."""
        request = Request("GET", f"{PATH}/{segment(id)}", headers=conditions(if_none_match=if_none_match))
        return cast(Folder, self._caller.record(request))

    def create(self, fields: NewFolder, *, idempotency_key: str | None = None) -> Folder:
        """Makes a folder."""
        request = Request("POST", PATH, body=fields, headers=conditions(idempotency_key=idempotency_key))
        return cast(Folder, self._caller.record(request))

    def update(self, id: str, change: FolderChange, *, if_match: str | None = None) -> Folder:
        """Changes the fields that are there; None clears one. Returns the whole folder."""
        request = Request("PATCH", f"{PATH}/{segment(id)}", body=change, headers=conditions(if_match=if_match))
        return cast(Folder, self._caller.record(request))

    def move(self, id: str, parent_id: str | None, *, if_match: str | None = None, idempotency_key: str | None = None) -> Folder:
        """Puts the folder, with all that is in it, into another, or with None at the root level."""
        headers = conditions(if_match=if_match, idempotency_key=idempotency_key)
        request = Request("POST", f"{PATH}/{segment(id)}/move", body={"parent_id": parent_id}, headers=headers)
        return cast(Folder, self._caller.record(request))

    def delete(self, id: str, *, if_match: str | None = None) -> None:
        """Removes the folder and all folders below it. What was in them stays, at the root level."""
        self._caller.call(Request("DELETE", f"{PATH}/{segment(id)}", headers=conditions(if_match=if_match)))

    def put(self, external_id: str, fields: FolderPut, *, if_match: str | None = None) -> Folder:
        """Changes the folder of that external id, or makes it where there is none. The same again changes nothing."""
        request = Request("PUT", PATH, query={"external_id": external_id}, body=fields, headers=conditions(if_match=if_match))
        return cast(Folder, self._caller.record(request))
