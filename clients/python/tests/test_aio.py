"""The client for asyncio: what it adds to the other."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from pathlib import Path
from typing import Any, Coroutine

from scripted import BUSY, Answer, Case, Server, refused

from sheaf import errors, etag
from sheaf.aio import AsyncSheaf

sys.path.insert(0, str(Path(__file__).parent.parent))
import generate_aio  # noqa: E402

EVENT = b'data: {"id": "evt_1", "type": "project.created"}\n\n'
STREAM = {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}


def chunk(text: bytes) -> bytes:
    return f"{len(text):x}\r\n".encode() + text + b"\r\n"


class Aio(Case):
    def start(self, *answers: Answer | None) -> tuple[AsyncSheaf, Server]:
        server = Server(list(answers))
        self.addCleanup(server.close)
        return AsyncSheaf(server.url, "shf_key"), server

    def run_it(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run(asyncio.wait_for(work, 30))

    def test_it_is_generated_from_the_other(self) -> None:
        written = (generate_aio.SOURCE / "aio.py").read_text()
        self.assertEqual(written, generate_aio.generated(), "run python3 generate_aio.py")

    def test_records_are_those_of_the_other_client(self) -> None:
        client, server = self.start(BUSY, (201, {"ETag": '"1"'}, {"id": "p1"}), refused(412, "PRECONDITION_FAILED"), (204, {}, None))

        async def work() -> None:
            async with client as sheaf:
                made = await sheaf.projects.create({"name": "Handbook"}, idempotency_key="mine")
                with self.assertRaises(errors.PreconditionFailed):
                    await sheaf.projects.update(made["id"], {"name": "New"}, if_match=etag(made))
                await sheaf.projects.delete("p1")

        self.run_it(work())
        self.assertEqual([method for method, _, _, _ in server.seen], ["POST", "POST", "PATCH", "DELETE"])
        self.assertEqual((server.seen[1][2]["idempotency-key"], server.seen[2][2]["if-match"], len(self.pauses)), ("mine", '"1"', 1))

    def test_lists_are_read_page_by_page(self) -> None:
        pages: list[Answer] = [(200, {}, {"data": [{"id": i}], "total": 2, "limit": 1, "offset": i}) for i in (0, 1)]
        client, server = self.start(*pages, (200, {}, {"data": [{"id": 7}], "total": 9, "limit": 1, "offset": 0}))

        async def work() -> None:
            async with client as sheaf:
                found = sheaf.documents.all(project_id="p1", limit=1)
                self.assertEqual([document["id"] async for document in found], [0, 1])
                self.assertEqual((await found.page()).total, 9)

        self.run_it(work())
        self.assertIn("project_id=p1", server.seen[1][1])

    def test_requests_run_at_once(self) -> None:
        client, server = self.start(*[(200, {}, {"id": "p"})] * 4)
        together = threading.Barrier(4, timeout=10)
        original = client._of._caller._attempt

        def meets(*args: Any) -> Any:
            together.wait()
            return original(*args)

        client._of._caller._attempt = meets  # type: ignore[method-assign]

        async def work() -> None:
            async with client as sheaf:
                await asyncio.gather(*(sheaf.projects.get("p") for _ in range(4)))

        self.run_it(work())
        self.assertEqual(len(server.seen), 4)

    def test_a_stream_gives_events_and_ends_with_its_reader(self) -> None:
        head = chunk(b": hello\n\n")
        client, server = self.start((200, STREAM, head + chunk(EVENT)))
        held = threading.Event()
        self.addCleanup(held.set)
        server.hold = held

        async def work() -> None:
            async with client as sheaf:
                events = sheaf.events.stream(after="evt_0")
                self.assertEqual((await anext(events))["id"], "evt_1")
                waiting = asyncio.ensure_future(anext(events))
                await asyncio.sleep(0.05)
                self.assertFalse(waiting.done())
                waiting.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await waiting
                await events.aclose()  # type: ignore[attr-defined]

        self.run_it(work())
        end = time.monotonic() + 10
        while any(thread.name == "sheaf-stream" for thread in threading.enumerate()):
            self.assertLess(time.monotonic(), end, "the thread of the stream still waits for the server")
            time.sleep(0.01)
        self.assertEqual(server.seen[0][2]["last-event-id"], "evt_0")

    def test_a_stream_raises_what_no_other_connection_would_help(self) -> None:
        client, _ = self.start(refused(404, "NOT_FOUND"))

        async def work() -> None:
            async with client as sheaf:
                with self.assertRaises(errors.NotFound):
                    async for _ in sheaf.events.stream(after="evt_0"):
                        self.fail("there is no event")

        self.run_it(work())
