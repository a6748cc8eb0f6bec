"""For programs that receive Sheaf's deliveries: verifies that a request was sent by the service and not altered.

    event = webhook.parse(secret, request.headers, request.body)

Every delivery is signed twice, with the same secret, and either signature is enough to trust it: X-Service-Signature,
t=<unix seconds>,v1=<hex>, an HMAC-SHA256 of "<t>.<body>" keyed with the whole secret; and the three headers of Standard
Webhooks, keyed with the bytes that the secret's part after whsec_ encodes in base64. When a request has any of these three,
that scheme decides alone: it signs the id as well, so that webhook-id in a verified request is genuine.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from typing import Callable, Iterable, Mapping, cast

from .errors import SheafError
from .types import Event

DEFAULT_HEADER = "X-Service-Signature"
DEFAULT_TOLERANCE = 300.0

_PREFIX = "whsec_"
_DECIMAL = re.compile(r"[0-9]+")


class WebhookError(SheafError):
    """The request is not to be trusted."""


class NotSigned(WebhookError):
    """The request carries no signature of either scheme."""


class Malformed(WebhookError):
    """A signature header is there but cannot be read."""


class Mismatch(WebhookError):
    """No signature fits the body and the secret. The body was altered on its way (or decoded and encoded again), the secret is
    another subscription's, or the sender is not the service.
    """


class Stale(WebhookError):
    """The signature is genuine, but its time is further from the clock than the tolerance: a replay, or a wrong clock."""


class BadSecret(WebhookError):
    """The receiver's own secret is empty or not a secret of the service."""


class NoEvent(WebhookError):
    """The request is genuine, but its body is no event."""


def parse(
    secret: str | Iterable[str], headers: Mapping[str, str], body: bytes, *, header: str = DEFAULT_HEADER,
    tolerance: float = DEFAULT_TOLERANCE, clock: Callable[[], float] = time.time,
) -> Event:  # fmt: skip
    """Verifies a request as verify does and returns the event in its body."""
    verify(secret, headers, body, header=header, tolerance=tolerance, clock=clock)
    try:
        event = json.loads(body)
    except ValueError as error:
        raise NoEvent(f"the body is not an event: {error}") from error
    if not isinstance(event, dict) or not event.get("id") or not event.get("type"):
        raise NoEvent("the body is not an event: it has no id or no type")
    return cast(Event, event)


def verify(
    secret: str | Iterable[str], headers: Mapping[str, str], body: bytes, *, header: str = DEFAULT_HEADER,
    tolerance: float = DEFAULT_TOLERANCE, clock: Callable[[], float] = time.time,
) -> None:  # fmt: skip
    """Returns when headers hold a valid signature of body, made with the secret, or one of several, at a time within the
    tolerance in seconds; otherwise it raises a WebhookError. body are the bytes as they came, before any decoding. The secret is
    the whole text that the service showed, whsec_ included. Signatures are compared in constant time. A rotation at the
    service needs no second secret: it signs with both.
    """
    secrets = [one.strip() for one in ([secret] if isinstance(secret, str) else secret)]
    if not secrets or any(not one.removeprefix(_PREFIX) for one in secrets):
        raise BadSecret("the receiver's secret is empty")  # anybody could sign with an empty key
    given: dict[str, str] = {}
    for name, value in headers.items():
        given.setdefault(name.lower(), value)
    if any(name in given for name in ("webhook-id", "webhook-timestamp", "webhook-signature")):
        stamp = _standard(secrets, given, body)
    else:
        stamp = _service(secrets, given.get(header.lower(), ""), body)
    # After the comparison, so that Stale always speaks of a time that the service itself has signed.
    if abs(clock() - int(stamp[:20])) > (tolerance if tolerance > 0 else DEFAULT_TOLERANCE):
        raise Stale("the signature's time is outside the tolerance")


def _service(secrets: list[str], value: str, body: bytes) -> str:
    """Checks the first scheme, and returns the time as it was written: that is what is signed."""
    if not value:
        raise NotSigned("the request is not signed")
    stamp, found, signatures = "", False, []
    for item in value.split(","):
        name, _, text = item.partition("=")
        if name == "t":
            if stamp or not _DECIMAL.fullmatch(text):
                raise Malformed("t must be there once, in seconds")
            stamp = text
        elif name == "v1":
            found = True
            signatures += _decoded(binascii.unhexlify, text)
    if not stamp or not found:
        raise Malformed(f"the signature must have the form t=<seconds>,v1=<hex>, not {value[:80]!r}")
    _match(signatures, [(one.encode(), stamp) for one in secrets], body)
    return stamp


def _standard(secrets: list[str], given: Mapping[str, str], body: bytes) -> str:
    """Checks the scheme of Standard Webhooks, and returns its time."""
    id, stamp = given.get("webhook-id", ""), given.get("webhook-timestamp", "")
    if not id or not _DECIMAL.fullmatch(stamp):
        raise Malformed("webhook-id and webhook-timestamp (in seconds) must both be there")
    items = [item[3:] for item in given.get("webhook-signature", "").split() if item.startswith("v1,")]
    if not items:
        raise Malformed("webhook-signature must have the form v1,<base64>")
    signatures = [each for item in items for each in _decoded(_base64, item)]
    _match(signatures, [(_standard_key(one), f"{id}.{stamp}") for one in secrets], body)
    return stamp


def _match(signatures: list[bytes], keys: list[tuple[bytes, str]], body: bytes) -> None:
    for key, signed in keys:
        want = hmac.new(key, signed.encode() + b"." + body, hashlib.sha256).digest()
        if any(hmac.compare_digest(each, want) for each in signatures):
            return
    raise Mismatch("no signature matches")


def _standard_key(secret: str) -> bytes:
    for key in _decoded(_base64, secret.removeprefix(_PREFIX)):
        if key:
            return key
    raise BadSecret("what follows whsec_ is not base64")


def _base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _decoded(decode: Callable[[str], bytes], text: str) -> list[bytes]:
    """Returns the bytes, or none: what cannot be decoded matches nothing."""
    try:
        return [decode(text)]
    except ValueError:
        return []
