"""Media are files: pictures in texts, films, anything else. Their scopes are media:read and media:write."""

from __future__ import annotations

from http.client import HTTPException, HTTPResponse
from typing import BinaryIO, cast

from ._call import Caller, Request, conditions, segment
from ._page import Listing
from ._wire import lowered
from .errors import Unreachable, refusal
from .types import Direction, Medium, MediumChange

PATH = "/api/v1/media"


class Media:
    """The operations on media."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def all(
        self, *, document_id: str | None = None, content_type: str | None = None, order: Direction | None = None,
        limit: int | None = None, offset: int | None = None,
    ) -> Listing[Medium]:  # fmt: skip
        """Returns those that match. content_type is how the type begins, such as image/."""
        query = {
            "document_id": document_id, "content_type": content_type, "order": order, "limit": limit,
            "offset": offset,
        }  # fmt: skip
        return Listing(self._caller, PATH, query)

    def get(self, id: str, *, if_none_match: str | None = None) -> Medium:
        """Returns one medium, without its bytes. NotModified while it still has the ETag if_none_match."""
        request = Request("GET", f"{PATH}/{segment(id)}", headers=conditions(if_none_match=if_none_match))
        return cast(Medium, self._caller.record(request))

    def update(self, id: str, change: MediumChange, *, if_match: str | None = None) -> Medium:
        """Changes the fields that are there; None clears one. Returns the whole medium."""
        request = Request("PATCH", f"{PATH}/{segment(id)}", body=change, headers=conditions(if_match=if_match))
        return cast(Medium, self._caller.record(request))

    def delete(self, id: str, *, if_match: str | None = None) -> None:
        """Removes the medium for ever. Texts that show it have its alternative text in its place."""
        self._caller.call(Request("DELETE", f"{PATH}/{segment(id)}", headers=conditions(if_match=if_match)))

    def upload(
        self, content: bytes, *, filename: str, document_id: str | None = None, idempotency_key: str | None = None
    ) -> Medium:
        """Stores a file of at most 10 MB. Larger ones go by tus, for which there are clients."""
        request = Request(
            "POST", PATH, query={"filename": filename, "document_id": document_id}, content=content,
            content_type="application/octet-stream", headers=conditions(idempotency_key=idempotency_key),
        )  # fmt: skip
        return cast(Medium, self._caller.record(request))

    def download(self, id: str, into: BinaryIO) -> int:
        """Writes the bytes of a medium into a file and returns how many there are. It is not repeated."""
        return fetch(self._caller, f"{PATH}/{segment(id)}/content", into)


def fetch(caller: Caller, path: str, into: BinaryIO) -> int:
    """Writes the file at path into a file and returns how many bytes it has."""
    request = Request("GET", path)
    headers, body = caller.prepare(request)
    wire = caller.wire
    connection, response = wire.open("GET", caller.target(request), headers, body, timeout=caller.timeout, fresh=True)
    try:
        if response.status != 200:
            raise refusal(wire.host, response.status, lowered(response.headers), response.read())
        return _copy(response, into)
    except (OSError, HTTPException) as error:
        raise Unreachable(f"the file from {wire.host} broke off: {error}", sent=True) from error
    finally:
        connection.close()


def _copy(response: HTTPResponse, into: BinaryIO) -> int:
    total = 0
    while piece := response.read(1 << 16):
        into.write(piece)
        total += len(piece)
    return total
