"""Lists: page by page, or record by record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Generic, Iterator, Mapping, TypeVar

from ._call import Caller, Record, Request
from .errors import NotSheaf

T = TypeVar("T")


@dataclass(frozen=True)
class Page(Generic[T]):
    """A part of a list."""

    data: list[T]
    total: int
    """Of all matching records."""
    limit: int
    offset: int

    @property
    def more(self) -> bool:
        """Whether anything stands behind this page."""
        return self.offset + self.limit < self.total


class Listing(Generic[T]):
    """What matches a question, read when it is iterated: page after page, each when it is needed. Changes made meanwhile may
    let it miss or repeat some. It can be iterated again, which reads again.
    """

    def __init__(self, caller: Caller, path: str, query: Mapping[str, Any]) -> None:
        self._caller, self._path, self._query = caller, path, dict(query)

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            yield from page.data

    def page(self) -> Page[T]:
        """Reads the page at the offset, the first unless another was asked for; of 50 unless there is a limit."""
        return self._read(self._query)

    def pages(self) -> Iterator[Page[T]]:
        """Reads page after page; of 100 unless there is a limit."""
        query = {**self._query, "limit": self._query.get("limit") or 100, "offset": self._query.get("offset") or 0}
        while True:
            page = self._read(query)
            yield page
            # The limit that was used, as the contract says; and a server that answers with none must not be asked for ever.
            query["offset"] += page.limit
            if page.limit <= 0 or query["offset"] >= page.total:
                return

    def _read(self, query: Mapping[str, Any]) -> Page[T]:
        return read_page(self._caller, self._path, query)


class Log(Listing[T]):
    """A listing that goes on after the last record of each page, so that it misses and repeats none. Backwards it goes by
    offset, and what comes meanwhile lets it repeat some.
    """

    def __init__(self, caller: Caller, path: str, query: Mapping[str, Any], id_of: Callable[[T], str]) -> None:
        super().__init__(caller, path, query)
        self._id_of = id_of

    def pages(self) -> Iterator[Page[T]]:
        """Reads page after page, up to the end of the log."""
        if self._query.get("order") == "desc":
            yield from super().pages()
            return
        query = {**self._query, "limit": self._query.get("limit") or 100}
        while True:
            page = self._read(query)
            yield page
            if not page.data or page.offset + len(page.data) >= page.total:
                return
            query["after"], query["offset"] = self._id_of(page.data[-1]), None


def read_page(caller: Caller, path: str, query: Mapping[str, Any]) -> Page[Any]:
    """Reads one page."""
    said = caller.record(Request("GET", path, query=query))
    try:
        return Page([Record(each) for each in said["data"]], said["total"], said["limit"], said["offset"])
    except (KeyError, TypeError) as error:
        raise NotSheaf(f"the answer of {caller.wire.host} is no page of Sheaf's") from error
