"""Media are files: pictures in texts, films, anything else. Their scopes are media:read and media:write."""

from __future__ import annotations

import base64
import io
from http.client import HTTPException, HTTPResponse
from typing import BinaryIO, cast

from ._call import Caller, Record, Request, conditions, segment
from ._page import Listing
from ._wire import lowered
from .errors import NotSheaf, SheafError, Unreachable, refusal
from .types import Direction, Medium, MediumChange

PATH = "/api/v1/media"
UPLOADS = "/api/v1/uploads"
# The bytes that one request of an upload sends. The server takes up to 10 MB.
MAX_PIECE = 8 << 20


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
        """Stores a file of at most 10 MB in one request. upload_from takes larger ones."""
        request = Request(
            "POST", PATH, query={"filename": filename, "document_id": document_id}, content=content,
            content_type="application/octet-stream", headers=conditions(idempotency_key=idempotency_key),
        )  # fmt: skip
        return cast(Medium, self._caller.record(request))

    def upload_from(self, content: BinaryIO, *, filename: str, document_id: str | None = None) -> Medium:
        """Stores a file of whatever size the server takes, from its beginning, in several requests (tus 1.0). When one fails it
        asks how far the server has come, and goes on from there, as often as other requests are repeated without anything
        arriving in between. It holds a few megabytes of the file, which must be seekable.
        """
        return cast(Medium, Upload(self._caller, content, filename, document_id).run())

    def download(self, id: str, into: BinaryIO) -> int:
        """Writes the bytes of a medium into a file and returns how many there are. It is not repeated."""
        return fetch(self._caller, f"{PATH}/{segment(id)}/content", into)


class Upload:
    """One file that is sent in pieces."""

    def __init__(self, caller: Caller, content: BinaryIO, filename: str, document_id: str | None) -> None:
        self._caller, self._content = caller, content
        named = {"filename": filename, "document_id": document_id or ""}
        self._metadata = ",".join(f"{name} {base64.b64encode(value.encode()).decode()}" for name, value in named.items() if value)

    def run(self) -> Record:
        """Sends the file, and returns its medium."""
        size = self._content.seek(0, io.SEEK_END)
        id = self._begin(size)
        at = failed = 0
        while at < size:
            self._content.seek(at)
            piece = self._content.read(min(size - at, MAX_PIECE))
            if not piece:
                raise ValueError("the file became shorter while it was sent")
            there, error = self._send(id, at, piece)
            if there > at:
                failed = 0
            elif error and failed >= self._caller.retries:
                raise error
            elif error:
                self._caller.pause(error, failed)
                failed += 1
            at = there
        return self._caller.record(Request("GET", f"{PATH}/{segment(id)}"))

    def _begin(self, size: int) -> str:
        """Announces the file, and returns the id that it will have."""
        headers = {"Tus-Resumable": "1.0.0", "Upload-Length": str(size), "Upload-Metadata": self._metadata}
        answer = self._caller.call(Request("POST", UPLOADS, headers=headers, keyed=False))
        id = answer.headers.get("location", "").rpartition("/")[2]
        if not id:
            raise NotSheaf(f"the answer of {self._caller.wire.host} names no upload")
        return id

    def _send(self, id: str, at: int, piece: bytes) -> tuple[int, SheafError | None]:
        """Sends a piece, and returns how much of the file the server has then. It asks for that if sending failed: some of the
        piece may have arrived.
        """
        headers = {"Tus-Resumable": "1.0.0", "Upload-Offset": str(at)}
        path = f"{UPLOADS}/{segment(id)}"
        try:
            self._caller.once(Request("PATCH", path, content=piece, content_type="application/offset+octet-stream", headers=headers))
            return at + len(piece), None
        except SheafError as failed:
            error = failed
        try:
            answer = self._caller.call(Request("HEAD", path, headers={"Tus-Resumable": "1.0.0"}))
            return max(at, int(answer.headers["upload-offset"])), error
        except (SheafError, KeyError, ValueError):
            return at, error


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
