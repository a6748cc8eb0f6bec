"""Projects group documents. Reading needs the scope projects:read, all else projects:write."""

from __future__ import annotations

from datetime import datetime
from typing import cast

from ._call import Caller, Request, conditions, segment
from ._page import Listing
from .types import Direction, DocumentTree, NewProject, Project, ProjectChange, ProjectDetail, ProjectPut, SortField

PATH = "/api/v1/projects"


class Projects:
    """The operations on projects."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def all(
        self, *, folder_id: str | None = None, q: str | None = None, external_id: str | None = None,
        updated_since: str | datetime | None = None, sort: SortField | None = None, order: Direction | None = None,
        limit: int | None = None, offset: int | None = None,
    ) -> Listing[Project]:  # fmt: skip
        """Returns those that match. folder_id is the folder that they are directly in, NONE the root level."""
        query = {
            "folder_id": folder_id, "q": q, "external_id": external_id, "updated_since": updated_since,
            "sort": sort, "order": order, "limit": limit, "offset": offset,
        }  # fmt: skip
        return Listing(self._caller, PATH, query)

    def get(self, id: str, *, if_none_match: str | None = None) -> ProjectDetail:
        """Returns one project with the documents that changed last, at most 100. NotModified while it still has the ETag if_none_match."""
        request = Request("GET", f"{PATH}/{segment(id)}", headers=conditions(if_none_match=if_none_match))
        return cast(ProjectDetail, self._caller.record(request))

    def tree(self, id: str, *, if_none_match: str | None = None) -> DocumentTree:
        """Returns all documents of a project in reading order, at most 10,000: each is followed by those below it. It needs documents:read too."""
        request = Request("GET", f"{PATH}/{segment(id)}/tree", headers=conditions(if_none_match=if_none_match))
        return cast(DocumentTree, self._caller.record(request))

    def create(self, fields: NewProject, *, idempotency_key: str | None = None) -> Project:
        """Makes a project."""
        request = Request("POST", PATH, body=fields, headers=conditions(idempotency_key=idempotency_key))
        return cast(Project, self._caller.record(request))

    def update(self, id: str, change: ProjectChange, *, if_match: str | None = None) -> Project:
        """Changes the fields that are there; None clears one. Returns the whole project."""
        request = Request("PATCH", f"{PATH}/{segment(id)}", body=change, headers=conditions(if_match=if_match))
        return cast(Project, self._caller.record(request))

    def move(self, id: str, folder_id: str | None, *, if_match: str | None = None, idempotency_key: str | None = None) -> Project:
        """Puts the project into a folder, or with None at the root level."""
        headers = conditions(if_match=if_match, idempotency_key=idempotency_key)
        request = Request("POST", f"{PATH}/{segment(id)}/move", body={"folder_id": folder_id}, headers=headers)
        return cast(Project, self._caller.record(request))

    def delete(self, id: str, *, if_match: str | None = None) -> None:
        """Removes the project for ever. Its documents stay, in no project."""
        self._caller.call(Request("DELETE", f"{PATH}/{segment(id)}", headers=conditions(if_match=if_match)))

    def put(self, external_id: str, fields: ProjectPut, *, if_match: str | None = None) -> Project:
        """Changes the project of that external id, or makes it where there is none. The same again changes nothing."""
        request = Request("PUT", PATH, query={"external_id": external_id}, body=fields, headers=conditions(if_match=if_match))
        return cast(Project, self._caller.record(request))
