"""The ways in which a call fails. All of them are a SheafError.

    try:
        project = sheaf.projects.get(id)
    except NotFound:
        ...
"""

from __future__ import annotations

import json
from email.utils import parsedate_to_datetime
from typing import Mapping


class SheafError(Exception):
    """A call that came to nothing."""


class Unreachable(SheafError):
    """No whole answer came. Whether the request had its effect is known only where sent is False."""

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent


class NotSheaf(SheafError):
    """The answer is none of Sheaf's: some other program answered."""


class Refused(SheafError):
    """The server's answer is no success. One that the service did not write itself, such as a proxy's, has no code."""

    def __init__(
        self, message: str, *, status: int, code: str = "", field: str = "", request_id: str = "", retry_after: float = 0,
        index: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(f"{message} ({code})" if code else message)
        self.message = message
        """What is wrong and what to do, for a person."""
        self.status = status
        self.code = code
        """The stable word of the refusal; newer servers may send words that have no class here."""
        self.field = field
        """The field of the body, or the parameter, that is wrong; empty where it is none or several."""
        self.request_id = request_id
        """Names the request in the server's log."""
        self.retry_after = retry_after
        """How many seconds the server asked to wait; 0 when it did not."""
        self.index = index
        """Which operation of a batch is refused, counted from 0."""


class ValidationError(Refused):
    """A path, parameter or body is not as the reference has it."""


class Unauthorized(Refused):
    """The key is missing, unknown, revoked or expired."""


class Forbidden(Refused):
    """The key lacks a scope, or the plan does not include this."""


class PlanRequired(Forbidden):
    """The workspace's plan does not include this."""


class LimitReached(Forbidden):
    """The plan has no room for one more: of keys, subscriptions, shares, proposals, records, bytes or unfinished uploads."""


class NotFound(Refused):
    """There is no such thing, or none that the key may see."""


class Conflict(Refused):
    """Another record holds the external id, or the state of this one does not allow it."""


class IdempotencyConflict(Conflict):
    """The Idempotency-Key was used with another body."""


class PreconditionFailed(Refused):
    """The record has changed since it had the ETag that if_match names."""


class NotModified(Refused):
    """The record still has the ETag that if_none_match names."""


class TooLarge(Refused):
    """The body is larger than the service takes."""


class RateLimited(Refused):
    """Too many requests, also after the pauses that the client made."""


class Unavailable(Refused):
    """The service cannot answer at the moment."""


class InternalError(Refused):
    """Something unexpected happened in the service; request_id names it in the server's log."""


_CLASSES: dict[str, type[Refused]] = {
    "VALIDATION_ERROR": ValidationError,
    "UNAUTHORIZED": Unauthorized,
    "FORBIDDEN": Forbidden,
    "PLAN_REQUIRED": PlanRequired,
    "KEY_LIMIT_REACHED": LimitReached,
    "SUBSCRIPTION_LIMIT_REACHED": LimitReached,
    "SHARE_LIMIT_REACHED": LimitReached,
    "PROPOSAL_LIMIT_REACHED": LimitReached,
    "QUOTA_REACHED": LimitReached,
    "UPLOAD_LIMIT_REACHED": LimitReached,
    "RESTRICTION_LIMIT_REACHED": LimitReached,
    "NOT_FOUND": NotFound,
    "CONFLICT": Conflict,
    "IDEMPOTENCY_CONFLICT": IdempotencyConflict,
    "PRECONDITION_FAILED": PreconditionFailed,
    "NOT_MODIFIED": NotModified,
    "PAYLOAD_TOO_LARGE": TooLarge,
    "RATE_LIMITED": RateLimited,
    "INTERNAL_ERROR": InternalError,
    "UNAVAILABLE": Unavailable,
}


def refusal(host: str, status: int, headers: Mapping[str, str], body: bytes) -> Refused:
    """Returns the error of an answer that is no success. The names of its headers are in lower case."""
    request_id, wait = headers.get("x-request-id", ""), retry_after(headers)
    if status == 304:
        return NotModified("not modified", status=status, code="NOT_MODIFIED", request_id=request_id, retry_after=wait)
    try:
        said = json.loads(body)
    except ValueError:
        said = None
    if isinstance(said, dict) and isinstance(said.get("code"), str):
        kind = _CLASSES.get(said["code"], Refused)
        return kind(
            str(said.get("error", "")), status=status, code=said["code"], field=str(said.get("field", "")),
            request_id=request_id, retry_after=wait, index=said.get("index"),
        )  # fmt: skip
    message = f"{host} answered {status}, not as Sheaf does"
    if to := headers.get("location"):
        message += f": it points to {to}"
    return Refused(message, status=status, request_id=request_id, retry_after=wait)


def retry_after(headers: Mapping[str, str]) -> float:
    """Reads seconds, or a date that is compared with the answer's own: the clocks need not agree."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return float(min(int(value), 1 << 30))
    try:
        until, now = parsedate_to_datetime(value), parsedate_to_datetime(headers.get("date", ""))
        return max(0.0, (until - now).total_seconds())
    except (ValueError, TypeError):
        return 0.0
