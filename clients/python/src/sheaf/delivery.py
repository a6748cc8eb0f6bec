"""A delivery sends one event to one subscription. It lists each attempt and its result."""

from __future__ import annotations

from typing import cast

from ._call import Caller, Request, conditions, segment
from ._page import Listing
from .types import Delivery, DeliveryDetail, DeliveryState, Direction

PATH = "/api/webhooks/deliveries"


class Deliveries:
    """The operations on deliveries. Reading needs the scope webhooks:read, redeliver webhooks:write."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def all(
        self, subscription_id: str, *, state: DeliveryState | None = None, order: Direction | None = None,
        limit: int | None = None, offset: int | None = None,
    ) -> Listing[Delivery]:  # fmt: skip
        """Returns the deliveries of a subscription."""
        query = {"state": state, "order": order, "limit": limit, "offset": offset}
        return Listing(self._caller, f"/api/webhooks/subscriptions/{segment(subscription_id)}/deliveries", query)

    def get(self, id: str) -> DeliveryDetail:
        """Returns one delivery with its attempts."""
        return cast(DeliveryDetail, self._caller.record(Request("GET", f"{PATH}/{segment(id)}"), wrap="delivery"))

    def redeliver(self, id: str, *, idempotency_key: str | None = None) -> Delivery:
        """Makes one more attempt, also for an inactive subscription."""
        request = Request("POST", f"{PATH}/{segment(id)}/redeliver", headers=conditions(idempotency_key=idempotency_key))
        return cast(Delivery, self._caller.record(request, wrap="delivery"))
