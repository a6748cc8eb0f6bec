"""Shares are addresses under which people without an account read a document, or a project with its documents."""

from __future__ import annotations

from typing import cast

from ._call import Caller, Request, conditions, segment
from ._page import Listing
from .types import Direction, NewShare, Share, ShareChange

PATH = "/api/v1/shares"


class Shares:
    """The operations on shares. Their scopes are shares:read and shares:write; making one needs those to read what it shows too."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def all(
        self, *, resource_id: str | None = None, order: Direction | None = None, limit: int | None = None,
        offset: int | None = None,
    ) -> Listing[Share]:  # fmt: skip
        """Returns those that match. resource_id is what they show."""
        query = {
            "resource_id": resource_id, "order": order, "limit": limit, "offset": offset,
        }  # fmt: skip
        return Listing(self._caller, PATH, query)

    def get(self, id: str, *, if_none_match: str | None = None) -> Share:
        """Returns one share. NotModified while it still has the ETag if_none_match."""
        request = Request("GET", f"{PATH}/{segment(id)}", headers=conditions(if_none_match=if_none_match))
        return cast(Share, self._caller.record(request))

    def create(self, fields: NewShare, *, idempotency_key: str | None = None) -> Share:
        """Makes a share."""
        request = Request("POST", PATH, body=fields, headers=conditions(idempotency_key=idempotency_key))
        return cast(Share, self._caller.record(request))

    def update(self, id: str, change: ShareChange, *, if_match: str | None = None) -> Share:
        """Changes the fields that are there; None clears one. Returns the whole share."""
        request = Request("PATCH", f"{PATH}/{segment(id)}", body=change, headers=conditions(if_match=if_match))
        return cast(Share, self._caller.record(request))

    def delete(self, id: str, *, if_match: str | None = None) -> None:
        """Ends the share; its address is then not found."""
        self._caller.call(Request("DELETE", f"{PATH}/{segment(id)}", headers=conditions(if_match=if_match)))
