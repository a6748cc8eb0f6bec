"""One operation: a request, made again where that may help, and the record in its answer.

What is repeated, a few times, with growing and randomly varied pauses or the one that the server asked for:

- 429, which the server sends before it does anything, and a connection that could not be made: every request.
- 502, 503, 504 and a connection that broke, after which nobody knows whether the request had its effect: reads; every
  POST that takes an Idempotency-Key, for which one is made; DELETE, for which a 404 then means that it is done; PATCH and
  PUT, which set the same values once more, unless they have if_match: their own first attempt would make them look stale.
"""

from __future__ import annotations

import json
import random
import ssl
import time
import urllib.parse
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Callable, Mapping

from ._wire import Wire, lowered
from .errors import NotFound, NotSheaf, Refused, SheafError, Unreachable, refusal

FIRST_PAUSE = 0.25
# The longest pause that the server did not ask for, and the longest that is made because it does: the rate limit's
# window is a minute.
MAX_PAUSE = 30.0
MAX_RETRY_AFTER = 120.0

_sleep = time.sleep


class Record(dict[str, Any]):
    """A record as the server sent it, fields that this package does not know included."""

    etag: str = ""


def etag(record: Mapping[str, Any]) -> str:
    """Returns the ETag that came with a record, for if_match and if_none_match. Records of lists have none: get them one by
    one.
    """
    found = getattr(record, "etag", "")
    if not found:
        raise ValueError("this record came without an ETag: only those that are read, made or changed one by one have one")
    return str(found)


@dataclass
class Request:
    """One operation, as the methods of the public classes describe it."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    content: bytes | None = None
    """A body that is sent as it is, in place of JSON."""
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    keyed: bool = True
    """Whether a POST takes an Idempotency-Key; repeating one that does not has another effect."""

    def harmless(self) -> bool:
        """Reports whether a second attempt changes nothing that the first may have done."""
        if self.method == "POST":
            return self.keyed
        if self.method in ("PATCH", "PUT"):
            return "If-Match" not in self.headers
        return True


@dataclass
class Answer:
    """An answer of 2xx, read whole. The names of its headers are in lower case."""

    headers: Mapping[str, str]
    body: bytes


class Caller:
    """Makes requests with one key."""

    def __init__(
        self, server: str, key: str, *, retries: int, timeout: float, user_agent: str, tls: ssl.SSLContext | None,
        on_retry: Callable[[SheafError, float], None] | None,
    ) -> None:  # fmt: skip
        if not key:
            raise ValueError("the API key is empty")
        self.wire = Wire(server, tls)
        self.timeout = timeout
        self.retries = retries
        self._on_retry = on_retry
        self._headers = {"Authorization": f"Bearer {key}", "User-Agent": user_agent}

    def record(self, request: Request, wrap: str = "") -> Record:
        """Makes the request and returns the record in its answer; wrap is the member that holds it."""
        answer = self.call(request)
        try:
            said = json.loads(answer.body)
            record = Record(said[wrap] if wrap else said)
        except (ValueError, KeyError, TypeError) as error:
            raise NotSheaf(f"the answer of {self.wire.host} is not Sheaf's: {error}") from error
        record.etag = answer.headers.get("etag", "")
        return record

    def call(self, request: Request) -> Answer:
        """Makes the request, again where that may help."""
        headers, body = self.prepare(request)
        unknown = False  # an attempt may have had its effect
        attempt = 0
        while True:
            try:
                return self._attempt(request, headers, body)
            except SheafError as error:
                if unknown and request.method == "DELETE" and isinstance(error, NotFound):
                    return Answer({}, b"")
                again, maybe = repeatable(request, error)
                unknown = unknown or maybe
                if not again or attempt >= self.retries:
                    raise
                self.pause(error, attempt)
            attempt += 1

    def once(self, request: Request) -> Answer:
        """Makes the request, and never again: the caller finds out what it did."""
        return self._attempt(request, *self.prepare(request))

    def prepare(self, request: Request) -> tuple[dict[str, str], bytes | None]:
        """Encodes a request. A POST gets a random Idempotency-Key, so that every attempt of it is the same request."""
        headers = {**self._headers, **request.headers}
        if request.method == "POST" and request.keyed:
            headers.setdefault("Idempotency-Key", str(uuid.uuid4()))
        body = request.content
        if request.body is not None:
            body = json.dumps(request.body, ensure_ascii=False, default=_plain).encode()
        if body is not None:
            headers["Content-Type"] = request.content_type
        elif request.method in ("POST", "PUT", "PATCH"):
            body = b""
        return headers, body

    def target(self, request: Request) -> str:
        """Returns the path and the query of a request."""
        query = {name: _text(value) for name, value in request.query.items() if value is not None}
        return self.wire.prefix + request.path + ("?" + urllib.parse.urlencode(query) if query else "")

    def pause(self, error: SheafError, attempt: int) -> None:
        """Waits before the next attempt."""
        seconds = backoff(error, attempt)
        if self._on_retry:
            self._on_retry(error, seconds)
        _sleep(seconds)

    def _attempt(self, request: Request, headers: Mapping[str, str], body: bytes | None) -> Answer:
        connection, response = self.wire.open(
            request.method, self.target(request), headers, body, timeout=self.timeout, fresh=not request.harmless()
        )
        content = self.wire.read(connection, response)
        if 200 <= response.status < 300:
            return Answer(lowered(response.headers), content)
        raise refusal(self.wire.host, response.status, lowered(response.headers), content)


def repeatable(request: Request, error: SheafError) -> tuple[bool, bool]:
    """Reports whether the request may be made again after the error, and whether the attempt may have had its effect."""
    if isinstance(error, Refused):
        if error.status == 429:
            return error.retry_after <= MAX_RETRY_AFTER, False
        if error.status in (502, 503, 504):
            return request.harmless() and error.retry_after <= MAX_RETRY_AFTER, True
        return False, False
    if isinstance(error, Unreachable):
        return not error.sent or request.harmless(), error.sent
    return False, False


def backoff(error: SheafError, attempt: int) -> float:
    """Returns the pause after an attempt, counted from 0, in seconds."""
    step = min(FIRST_PAUSE * float(1 << min(attempt, 20)), MAX_PAUSE)
    if isinstance(error, Refused) and error.retry_after > 0:
        return error.retry_after + random.uniform(0, min(step, 1.0))  # later than asked, and not all clients at once
    return step / 2 + random.uniform(0, step / 2)


def segment(id: str) -> str:
    """Makes one segment of a path of whatever a caller gives as an id."""
    if id in ("", ".", ".."):
        return "-"  # refused by the server, and not another address
    return urllib.parse.quote(id, safe="")


def conditions(*, if_match: str | None = None, if_none_match: str | None = None, idempotency_key: str | None = None) -> dict[str, str]:
    """Returns the headers for what a caller set."""
    named = {"If-Match": if_match, "If-None-Match": if_none_match, "Idempotency-Key": idempotency_key}
    return {name: value for name, value in named.items() if value is not None}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(_plain(value)) if isinstance(value, datetime) else str(value)


def _plain(value: Any) -> Any:
    """Writes a time as the service reads it. One without a zone is refused: it would mean another time elsewhere."""
    if not isinstance(value, datetime):
        raise TypeError(f"{type(value).__name__} has no form in JSON")
    if value.tzinfo is None:
        raise ValueError("a time needs its zone, such as datetime.now(timezone.utc)")
    return value.astimezone(timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")
