"""Events are what happened, in the order of its commit. Reading needs the scope events:read, publishing events:write."""

from __future__ import annotations

from datetime import datetime
from typing import Iterator, cast

from ._call import Caller, Request, conditions, segment
from ._page import Listing, Log
from ._stream import Follower
from .types import Direction, Event, EventDelivery, EventType, NewEvent

PATH = "/api/v1/events"


class Events:
    """The operations on events."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def all(
        self, *, type: EventType | None = None, resource_id: str | None = None, since: str | datetime | None = None,
        after: str | None = None, order: Direction | None = None, limit: int | None = None, offset: int | None = None,
    ) -> Log[Event]:  # fmt: skip
        """Returns those that match, up to the end of the log: each once, also when more come meanwhile. An event to go on
        after that is no longer kept is NotFound: begin with since.
        """
        query = {
            "type": type, "resource_id": resource_id, "since": since, "after": after, "order": order, "limit": limit,
            "offset": offset,
        }  # fmt: skip
        return Log(self._caller, PATH, query, lambda event: event["id"])

    def stream(
        self, *, type: EventType | None = None, resource_id: str | None = None, since: str | datetime | None = None,
        after: str | None = None,
    ) -> Iterator[Event]:  # fmt: skip
        """Returns events as they happen: those after an event, or since a time, or else from now on.

        If the connection breaks, it is reopened as often as needed, after the last event: none is missed, and none comes
        twice. While the caller works on an event no more is read, and nothing is lost however long that takes. An event to go
        on after that is no longer kept is NotFound: what lies between is lost, and the caller decides where to begin.
        """
        return self._follower(type=type, resource_id=resource_id, since=since, after=after).run()

    def _follower(
        self, *, type: EventType | None, resource_id: str | None, since: str | datetime | None, after: str | None
    ) -> Follower:
        return Follower(self._caller, {"type": type, "resource_id": resource_id, "since": since}, after or "")

    def get(self, id: str) -> Event:
        """Returns one event."""
        return cast(Event, self._caller.record(Request("GET", f"{PATH}/{segment(id)}")))

    def publish(self, fields: NewEvent, *, idempotency_key: str | None = None) -> Event:
        """Reports an event of another part of your system."""
        request = Request("POST", PATH, body=fields, headers=conditions(idempotency_key=idempotency_key))
        return cast(Event, self._caller.record(request))

    def deliveries(self, id: str, *, limit: int | None = None, offset: int | None = None) -> Listing[EventDelivery]:
        """Returns the deliveries of an event, one for each subscription. It needs webhooks:read too."""
        return Listing(self._caller, f"{PATH}/{segment(id)}/deliveries", {"limit": limit, "offset": offset})
