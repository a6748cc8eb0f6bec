"""Subscriptions send events to an endpoint of yours. Their scopes are webhooks:read and webhooks:write."""

from __future__ import annotations

from datetime import datetime
from typing import cast

from ._call import Caller, Record, Request, conditions, segment
from ._page import Listing
from .types import Direction, NewSubscription, Subscription, SubscriptionChange, SubscriptionWithSecret, TestResult

PATH = "/api/webhooks/subscriptions"


class Subscriptions:
    """The operations on webhook subscriptions."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def all(
        self, *, order: Direction | None = None, limit: int | None = None, offset: int | None = None,
    ) -> Listing[Subscription]:  # fmt: skip
        """Returns the subscriptions."""
        query = {
            "order": order, "limit": limit, "offset": offset,
        }  # fmt: skip
        return Listing(self._caller, PATH, query)

    def get(self, id: str, *, if_none_match: str | None = None) -> Subscription:
        """Returns one subscription."""
        return cast(Subscription, self._send("GET", f"/{segment(id)}", headers=conditions(if_none_match=if_none_match)))

    def create(self, fields: NewSubscription, *, idempotency_key: str | None = None) -> SubscriptionWithSecret:
        """Makes a subscription with its secret, which is shown once: None where the first answer was lost. Rotate it then.
        It sends nothing to the address.
        """
        headers = conditions(idempotency_key=idempotency_key)
        return cast(SubscriptionWithSecret, self._send("POST", "", fields, headers))

    def update(self, id: str, change: SubscriptionChange, *, if_match: str | None = None) -> Subscription:
        """Changes the fields that are there. {"active": True} is how a deactivated one is used again."""
        return cast(Subscription, self._send("PATCH", f"/{segment(id)}", change, conditions(if_match=if_match)))

    def delete(self, id: str, *, if_match: str | None = None) -> None:
        """Removes the subscription and cancels its deliveries."""
        self._caller.call(Request("DELETE", f"{PATH}/{segment(id)}", headers=conditions(if_match=if_match)))

    def test(self, id: str) -> TestResult:
        """Sends one event of type webhook.test and waits for the answer. It is not repeated."""
        return cast(TestResult, self._caller.record(Request("POST", f"{PATH}/{segment(id)}/test", keyed=False)))

    def rotate_secret(self, id: str, *, grace_seconds: int = 86400, idempotency_key: str | None = None) -> SubscriptionWithSecret:
        """Makes a new secret. The old one signs too for the seconds of grace, at most 7 days."""
        headers = conditions(idempotency_key=idempotency_key)
        body = {"grace_seconds": grace_seconds}
        return cast(SubscriptionWithSecret, self._send("POST", f"/{segment(id)}/rotate-secret", body, headers))

    def recover(
        self, id: str, since: str | datetime, *, until: str | datetime | None = None, delivered: bool = False,
        idempotency_key: str | None = None,
    ) -> int:  # fmt: skip
        """Sends failed and held deliveries of events since then again, up to a time where one is given, and returns how many
        there are. With delivered it also sends what arrived already and what the subscription never had: a new endpoint is
        given the past. It makes a request for each 10,000 events of the log; the key of those after the first has their
        number behind it.
        """
        body: dict[str, object] = {"since": since}
        if until is not None:
            body["until"] = until
        if delivered:
            body["delivered"] = True
        queued, key, number = 0, idempotency_key, 1
        while True:
            headers = conditions(idempotency_key=key)
            answer = self._caller.record(Request("POST", f"{PATH}/{segment(id)}/recover", body=body, headers=headers))
            queued += int(answer["queued"])
            following = answer.get("next_since")
            if following is None or following == body["since"]:
                return queued
            body, number = {**body, "since": following}, number + 1
            key = idempotency_key and f"{idempotency_key}-{number}"

    def _send(self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None) -> Record:
        request = Request(method, PATH + path, body=body, headers=headers or {})
        return self._caller.record(request, wrap="subscription")
