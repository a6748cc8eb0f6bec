"""API keys of the workspace. Their scopes are keys:read and keys:write."""

from __future__ import annotations

from typing import cast

from ._call import Caller, Request, conditions, segment
from ._page import Listing
from .types import Direction, Key, KeyWithSecret, NewKey

PATH = "/api/v1/api-keys"


class Keys:
    """The operations on API keys."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def all(
        self, *, order: Direction | None = None, limit: int | None = None, offset: int | None = None,
    ) -> Listing[Key]:  # fmt: skip
        """Returns the live keys."""
        query = {
            "order": order, "limit": limit, "offset": offset,
        }  # fmt: skip
        return Listing(self._caller, PATH, query)

    def create(self, fields: NewKey, *, idempotency_key: str | None = None) -> KeyWithSecret:
        """Makes a key, which is shown once: None where the first answer was lost. Revoke that one and make another."""
        request = Request("POST", PATH, body=fields, headers=conditions(idempotency_key=idempotency_key))
        return cast(KeyWithSecret, self._caller.record(request))

    def rotate(self, id: str, *, grace_seconds: int = 0, idempotency_key: str | None = None) -> KeyWithSecret:
        """Gives a key a new secret, which is shown once. The present one works too for the seconds of grace, at most a day."""
        headers = conditions(idempotency_key=idempotency_key)
        request = Request("POST", f"{PATH}/{segment(id)}/rotate", body={"grace_seconds": grace_seconds}, headers=headers)
        return cast(KeyWithSecret, self._caller.record(request))

    def revoke(self, id: str) -> None:
        """Ends a key at once, the client's own too."""
        self._caller.call(Request("DELETE", f"{PATH}/{segment(id)}"))
