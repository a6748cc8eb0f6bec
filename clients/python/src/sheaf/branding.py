"""Brandings are the look of what is shared. Their scopes are brandings:read and brandings:write."""

from __future__ import annotations

from datetime import datetime
from typing import cast

from ._call import Caller, Request, conditions, segment
from ._page import Listing
from .types import Branding, BrandingChange, Direction, NewBranding, SortField

PATH = "/api/v1/brandings"


class Brandings:
    """The operations on brandings."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def all(
        self, *, folder_id: str | None = None, q: str | None = None, updated_since: str | datetime | None = None,
        sort: SortField | None = None, order: Direction | None = None, limit: int | None = None,
        offset: int | None = None,
    ) -> Listing[Branding]:  # fmt: skip
        """Returns those that match. folder_id is the folder that they are directly in, NONE the root level."""
        query = {
            "folder_id": folder_id, "q": q, "updated_since": updated_since, "sort": sort, "order": order,
            "limit": limit, "offset": offset,
        }  # fmt: skip
        return Listing(self._caller, PATH, query)

    def get(self, id: str, *, if_none_match: str | None = None) -> Branding:
        """Returns one branding. NotModified while it still has the ETag if_none_match."""
        request = Request("GET", f"{PATH}/{segment(id)}", headers=conditions(if_none_match=if_none_match))
        return cast(Branding, self._caller.record(request))

    def create(self, fields: NewBranding, *, idempotency_key: str | None = None) -> Branding:
        """Makes a branding."""
        request = Request("POST", PATH, body=fields, headers=conditions(idempotency_key=idempotency_key))
        return cast(Branding, self._caller.record(request))

    def update(self, id: str, change: BrandingChange, *, if_match: str | None = None) -> Branding:
        """Changes the fields that are there; None clears one. Returns the whole branding."""
        request = Request("PATCH", f"{PATH}/{segment(id)}", body=change, headers=conditions(if_match=if_match))
        return cast(Branding, self._caller.record(request))

    def move(self, id: str, folder_id: str | None, *, if_match: str | None = None, idempotency_key: str | None = None) -> Branding:
        """Puts the branding into a folder, or with None at the root level."""
        headers = conditions(if_match=if_match, idempotency_key=idempotency_key)
        request = Request("POST", f"{PATH}/{segment(id)}/move", body={"folder_id": folder_id}, headers=headers)
        return cast(Branding, self._caller.record(request))

    def delete(self, id: str, *, if_match: str | None = None) -> None:
        """Removes the branding for ever."""
        self._caller.call(Request("DELETE", f"{PATH}/{segment(id)}", headers=conditions(if_match=if_match)))
