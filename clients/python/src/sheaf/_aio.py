"""Runs the client in threads, for asyncio."""

from __future__ import annotations

import asyncio
import functools
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import AsyncIterator, Callable, Generic, ParamSpec, TypeVar

from ._page import Listing, Page
from ._stream import Follower
from .types import Event

T = TypeVar("T")
P = ParamSpec("P")


class Runner:
    """Runs calls in a few threads."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="sheaf")

    async def call(self, act: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Returns what act returns, or raises what it raises."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, functools.partial(act, *args, **named))

    def close(self) -> None:
        """Ends the threads, those that run a call after it."""
        self._pool.shutdown(wait=False)


class AsyncListing(Generic[T]):
    """What matches a question, read when it is iterated: page after page, each when it is needed. It can be iterated again,
    which reads again.
    """

    def __init__(self, run: Runner, of: Listing[T]) -> None:
        self._run, self._of = run, of

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for record in page.data:
                yield record

    async def page(self) -> Page[T]:
        """Reads the page at the offset, the first unless another was asked for; of 50 unless there is a limit."""
        return await self._run.call(self._of.page)

    async def pages(self) -> AsyncIterator[Page[T]]:
        """Reads page after page; of 100 unless there is a limit."""
        pages = self._of.pages()
        while (page := await self._run.call(next, pages, None)) is not None:
            yield page


async def follow(follower: Follower) -> AsyncIterator[Event]:
    """Returns the events of a stream, which a thread of its own reads: it may be silent for ever."""
    loop = asyncio.get_running_loop()
    read: asyncio.Queue[Event | BaseException] = asyncio.Queue()
    room = threading.Semaphore(1)  # no more is read while the caller works on an event

    def tell(it: Event | BaseException) -> None:
        try:
            loop.call_soon_threadsafe(read.put_nowait, it)
        except RuntimeError:
            pass  # the loop has ended, and with it the caller

    def work() -> None:
        try:
            for event in follower.run():
                tell(event)
                room.acquire()
                if follower.stopped:
                    return
        except BaseException as error:  # the caller's to handle
            tell(error)

    room.acquire()
    threading.Thread(target=work, name="sheaf-stream", daemon=True).start()
    try:
        while True:
            it = await read.get()
            if isinstance(it, BaseException):
                raise it
            yield it
            room.release()
    finally:
        follower.stop()
        room.release()
