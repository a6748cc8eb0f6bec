"""Proposals are sets of changes to documents that wait for a decision. Reading proposals needs the scope proposals:read. Making
and discussing them needs proposals:write. Approving, accepting and rejecting them needs proposals:approve."""

from __future__ import annotations

from datetime import datetime
from typing import cast

from ._call import Caller, Request, conditions, segment
from ._page import Listing
from .types import Comment, Direction, NewComment, NewProposal, Proposal, ProposalChange, ProposalDetail, ProposalPreview, ProposalState

PATH = "/api/v1/proposals"


class Proposals:
    """The operations on proposals. Accepting also needs documents:write, and reading texts needs documents:read."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def all(
        self, *, state: ProposalState | None = None, project_id: str | None = None, document_id: str | None = None,
        user_id: str | None = None, updated_since: str | datetime | None = None, order: Direction | None = None,
        limit: int | None = None, offset: int | None = None,
    ) -> Listing[Proposal]:  # fmt: skip
        """Returns the proposals that match, oldest first unless the order is desc. user_id is the author."""
        query = {
            "state": state, "project_id": project_id, "document_id": document_id, "user_id": user_id,
            "updated_since": updated_since, "order": order, "limit": limit, "offset": offset,
        }  # fmt: skip
        return Listing(self._caller, PATH, query)

    def get(self, id: str, *, if_none_match: str | None = None) -> ProposalDetail:
        """Returns one proposal with its present conflicts. NotModified while it still has the ETag if_none_match."""
        request = Request("GET", f"{PATH}/{segment(id)}", headers=conditions(if_none_match=if_none_match))
        return cast(ProposalDetail, self._caller.record(request))

    def create(self, fields: NewProposal, *, idempotency_key: str | None = None) -> Proposal:
        """Makes a proposal of 1 to 100 changes. No document changes."""
        request = Request("POST", PATH, body=fields, headers=conditions(idempotency_key=idempotency_key))
        return cast(Proposal, self._caller.record(request))

    def update(self, id: str, change: ProposalChange, *, if_match: str | None = None) -> Proposal:
        """Changes an open proposal. New changes replace all earlier ones, and remove the approvals."""
        request = Request("PATCH", f"{PATH}/{segment(id)}", body=change, headers=conditions(if_match=if_match))
        return cast(Proposal, self._caller.record(request))

    def preview(self, id: str, change: int) -> ProposalPreview:
        """Returns one change, counted from 0, with its texts."""
        return cast(ProposalPreview, self._caller.record(Request("GET", f"{PATH}/{segment(id)}/changes/{int(change)}")))

    def approve(self, id: str, *, if_match: str, idempotency_key: str | None = None) -> Proposal:
        """Approves the revision of the proposal that get returned with the ETag if_match."""
        return self._act(id, "approve", if_match, idempotency_key)

    def take_back_approval(self, id: str, *, if_match: str | None = None) -> None:
        """Removes the approval of the key's user."""
        self._caller.call(Request("DELETE", f"{PATH}/{segment(id)}/approve", headers=conditions(if_match=if_match)))

    def accept(self, id: str, *, if_match: str, idempotency_key: str | None = None) -> Proposal:
        """Makes all changes of the revision with the ETag if_match, or none. Raises Conflict if a document has changed in the same places."""
        return self._act(id, "accept", if_match, idempotency_key)

    def reject(
        self, id: str, note: str | None = None, *, if_match: str | None = None, idempotency_key: str | None = None
    ) -> Proposal:
        """Ends the proposal. The note is the reason."""
        headers = conditions(if_match=if_match, idempotency_key=idempotency_key)
        request = Request("POST", f"{PATH}/{segment(id)}/reject", body={"note": note}, headers=headers)
        return cast(Proposal, self._caller.record(request))

    def withdraw(self, id: str, *, if_match: str | None = None, idempotency_key: str | None = None) -> Proposal:
        """Ends a proposal of the key's own user."""
        return self._act(id, "withdraw", if_match, idempotency_key)

    def _act(self, id: str, act: str, if_match: str | None, idempotency_key: str | None) -> Proposal:
        headers = conditions(if_match=if_match, idempotency_key=idempotency_key)
        return cast(Proposal, self._caller.record(Request("POST", f"{PATH}/{segment(id)}/{act}", headers=headers)))

    def comments(
        self, id: str, *, order: Direction | None = None, limit: int | None = None, offset: int | None = None
    ) -> Listing[Comment]:
        """Returns the comments of a proposal, oldest first unless the order is desc."""
        return Listing(self._caller, f"{PATH}/{segment(id)}/comments", {"order": order, "limit": limit, "offset": offset})

    def comment(self, id: str, fields: NewComment, *, idempotency_key: str | None = None) -> Comment:
        """Makes a comment on an open proposal."""
        request = Request("POST", f"{PATH}/{segment(id)}/comments", body=fields, headers=conditions(idempotency_key=idempotency_key))
        return cast(Comment, self._caller.record(request))

    def update_comment(self, id: str, number: int, body: str, *, if_match: str | None = None) -> Comment:
        """Gives a comment of the key's own user another text."""
        request = Request("PATCH", f"{PATH}/{segment(id)}/comments/{int(number)}", body={"body": body}, headers=conditions(if_match=if_match))
        return cast(Comment, self._caller.record(request))

    def delete_comment(self, id: str, number: int, *, if_match: str | None = None) -> None:
        """Deletes a comment of the key's own user."""
        self._caller.call(Request("DELETE", f"{PATH}/{segment(id)}/comments/{int(number)}", headers=conditions(if_match=if_match)))
