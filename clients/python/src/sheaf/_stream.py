"""The event stream: connects, hands out each event, and after a broken connection goes on after the last one.

    run ── anchor ──┬── follow ── connect, then each event
                    └── pause, when the connection ended for a passing reason

A connection that says nothing for too long is cut, since what is in between may have died, or hold back what it should pass
on; then the log is read up to its end before the next one.
"""

from __future__ import annotations

import http.client
import json
import socket
from typing import Any, Iterator, Mapping, cast

from ._call import Caller, Record, Request
from ._page import Log, read_page
from ._wire import lowered
from .errors import NotSheaf, Refused, SheafError, Unreachable, refusal
from .types import Event

# How long a stream may say nothing: the server shows every 15 seconds that it lives.
SILENCE = 45.0
# The largest event of a stream: the largest payload is 256 KiB.
MAX_FRAME = 8 << 20

LOG = "/api/v1/events"


class Follower:
    """One reader of the stream. after is the last event that the caller had."""

    def __init__(self, caller: Caller, query: Mapping[str, Any], after: str) -> None:
        self._caller, self._query, self._after = caller, dict(query), after
        self._failed = 0  # connections in a row that brought nothing; the pauses grow with it
        self._open: socket.socket | None = None
        self.stopped = False

    def run(self) -> Iterator[Event]:
        """Reads the stream until the caller has had enough, or for an error that another connection would meet too."""
        self._anchor()
        while True:
            try:
                yield from self._follow()
            except (Unreachable, Refused) as error:
                if self.stopped:
                    return
                if not _passing(error):
                    raise
                self._caller.pause(error, self._failed)
                self._failed += 1

    def stop(self) -> None:
        """Ends run, which another thread is in: at once if it waits for the server."""
        self.stopped = True
        if waiting := self._open:
            try:
                waiting.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it has ended by itself

    def _anchor(self) -> None:
        """Turns "from now on" into a place in the log, to which a connection that breaks before the first event can return."""
        if self._after or self._query.get("since"):
            return
        newest = read_page(self._caller, LOG, {"limit": 1, "order": "desc"}).data
        if newest:
            self._after = newest[0]["id"]
        else:
            self._query["since"] = "1970-01-01T00:00:00Z"  # whatever will be in the log is new

    def _follow(self) -> Iterator[Event]:
        """Reads one connection until it ends."""
        connection, response = self._connect()
        self._open = connection.sock
        try:
            for data in frames(response):
                self._failed = 0  # it said more than its greeting
                if data:
                    yield self._passed(data)
        except TimeoutError as error:
            yield from self._catch_up()
            raise Unreachable("the connection has gone silent", sent=True) from error
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"the stream broke off: {error}", sent=True) from error
        finally:
            self._open = None
            connection.close()
        raise Unreachable("the server closed the stream", sent=True)

    def _passed(self, data: bytes) -> Event:
        try:
            event = Record(json.loads(data))
            self._after = event["id"]
        except (ValueError, KeyError, TypeError) as error:
            raise NotSheaf("the answer is no event stream of Sheaf's") from error
        return cast(Event, event)

    def _catch_up(self) -> Iterator[Event]:
        """Reads what something in between may have held back: it is in the log."""
        query = {**self._query, "after": self._after or None}
        log: Log[Event] = Log(self._caller, LOG, query, lambda event: event["id"])
        for event in log:
            self._failed, self._after = 0, event["id"]
            yield event

    def _connect(self) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Opens the stream behind the last event."""
        request = Request("GET", LOG + "/stream", query=self._query)
        request.headers = {"Accept": "text/event-stream", "Cache-Control": "no-cache"}
        if self._after:
            request.headers["Last-Event-ID"] = self._after
        headers, body = self._caller.prepare(request)
        wire = self._caller.wire
        connection, response = wire.open("GET", self._caller.target(request), headers, body, timeout=SILENCE, fresh=True)
        if response.status == 200 and (response.headers.get("Content-Type") or "").startswith("text/event-stream"):
            return connection, response
        try:
            if response.status == 200:
                raise NotSheaf("the answer is no event stream of Sheaf's")
            raise refusal(wire.host, response.status, lowered(response.headers), response.read(1 << 20))
        finally:
            connection.close()


def frames(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Returns the data of each whole block of a stream of server-sent events; without data it is a sign of life. The first,
    the greeting, is left out. One that the end of the stream cuts off does not count.
    """
    data: list[bytes] = []
    size, greeted = 0, False
    while line := response.readline(MAX_FRAME + 1):
        size += len(line)
        if size > MAX_FRAME:
            raise NotSheaf("the stream sent an event larger than 8 MiB")
        text = line.rstrip(b"\r\n")
        if not line.endswith(b"\n"):
            return
        if text.startswith(b"data:"):
            data.append(text[5:].removeprefix(b" "))
        if not text:
            if greeted or data:
                yield b"\n".join(data)
            data, size, greeted = [], 0, True


def _passing(error: SheafError) -> bool:
    """Reports whether another connection may succeed where this one ended."""
    return not isinstance(error, Refused) or error.status == 429 or error.status >= 500
