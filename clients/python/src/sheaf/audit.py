"""The audit log says who changed who may do what. Reading it needs the scope audit:read and the Business plan."""

from __future__ import annotations

from datetime import datetime

from ._call import Caller
from ._page import Log
from .types import AuditAction, AuditLine, Direction

PATH = "/api/v1/audit"


class Audit:
    """The operations on the audit log."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def all(
        self, *, action: AuditAction | None = None, user_id: str | None = None, key_id: str | None = None,
        target: str | None = None, since: str | datetime | None = None, before: str | datetime | None = None,
        after: str | None = None, order: Direction | None = None, limit: int | None = None, offset: int | None = None,
    ) -> Log[AuditLine]:  # fmt: skip
        """Returns the lines that match, up to the end of the log: each once, also when more come meanwhile. A line to go on
        after that is no longer kept is NotFound: begin with since.
        """
        query = {
            "action": action, "user_id": user_id, "key_id": key_id, "target": target, "since": since, "before": before,
            "after": after, "order": order, "limit": limit, "offset": offset,
        }  # fmt: skip
        return Log(self._caller, PATH, query, lambda line: line["id"])
