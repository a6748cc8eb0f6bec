"""Talks to a Sheaf server: projects, folders, documents, media, shares, proposals, events, the audit log, API keys and
webhooks. It needs nothing but the standard library.

    from sheaf import Sheaf

    with Sheaf("https://docs.example.com", key) as sheaf:
        for project in sheaf.projects.all(sort="name"):
            print(project["name"])

Each noun is an attribute of Sheaf with methods that are named alike: all (every record, page after page), get, create, update,
delete. Records are dictionaries with the fields that the server sent, typed by sheaf.types. What is refused is raised as one of
sheaf.errors; what fails in passing is made again first (see README.md).
"""

from __future__ import annotations

import ssl
from types import TracebackType
from typing import Callable, cast

from . import errors, types, webhook
from ._call import Caller, Request, conditions, etag
from ._page import Listing, Log, Page
from .audit import Audit
from .branding import Brandings
from .delivery import Deliveries
from .document import Documents
from .errors import SheafError
from .event import Events
from .folder import Folders
from .key import Keys
from .medium import Media
from .project import Projects
from .proposal import Proposals
from .release import Releases
from .share import Shares
from .subscription import Subscriptions

__all__ = ["NONE", "Listing", "Log", "Page", "Sheaf", "SheafError", "errors", "etag", "types", "webhook"]

NONE = "null"
"""The value of a filter for those that have none: at the root level, in no project, of no document."""


class Sheaf:
    """A client with one key. It is safe for use by several threads."""

    def __init__(
        self, server: str, key: str, *, retries: int = 4, timeout: float = 60.0, user_agent: str = "sheaf-python",
        tls: ssl.SSLContext | None = None, on_retry: Callable[[SheafError, float], None] | None = None,
    ) -> None:  # fmt: skip
        """server is the address of the service, such as https://docs.example.com. A request is repeated retries times at most;
        on_retry is told why, and the seconds of the pause that follows. timeout bounds every wait for the server, in seconds.
        tls is for servers whose certificate the system does not know. The environment's proxies are heeded.
        """
        self._caller = Caller(
            server, key, retries=retries, timeout=timeout, user_agent=user_agent, tls=tls, on_retry=on_retry
        )
        self.projects = Projects(self._caller)
        self.folders = Folders(self._caller)
        self.brandings = Brandings(self._caller)
        self.documents = Documents(self._caller)
        self.media = Media(self._caller)
        self.shares = Shares(self._caller)
        self.proposals = Proposals(self._caller)
        self.releases = Releases(self._caller)
        self.events = Events(self._caller)
        self.audit = Audit(self._caller)
        self.keys = Keys(self._caller)
        self.subscriptions = Subscriptions(self._caller)
        self.deliveries = Deliveries(self._caller)

    def me(self) -> types.Identity:
        """Returns who the key stands for: the call to test a connection with."""
        return cast(types.Identity, self._caller.record(Request("GET", "/api/v1/me")))

    def icons(self, *, limit: int | None = None, offset: int | None = None) -> Listing[types.IconEntry]:
        """Returns the icons that the service draws for projects."""
        return Listing(self._caller, "/api/v1/icons", {"limit": limit, "offset": offset})

    def search(
        self, q: str, *, type: list[types.HitType] | None = None, project_id: str | None = None, folder_id: str | None = None,
        limit: int | None = None, offset: int | None = None,
    ) -> Listing[types.Hit]:  # fmt: skip
        """Returns what has every word: first what has all of them in its title, then the newest."""
        query = {
            "q": q, "type": ",".join(type) if type else None, "project_id": project_id, "folder_id": folder_id,
            "limit": limit, "offset": offset,
        }  # fmt: skip
        return Listing(self._caller, "/api/v1/search", query)

    def batch(
        self, operations: list[types.BatchOperation], *, idempotency_key: str | None = None
    ) -> list[types.BatchResult]:
        """Makes up to 100 changes, all of them or none. When one is refused nothing is done, and the error's index says which."""
        headers = conditions(idempotency_key=idempotency_key)
        record = self._caller.record(Request("POST", "/api/v1/batch", body={"operations": operations}, headers=headers))
        return cast("list[types.BatchResult]", record["results"])

    def close(self) -> None:
        """Closes the connections that wait for the next request."""
        self._caller.wire.close()

    def __enter__(self) -> Sheaf:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
