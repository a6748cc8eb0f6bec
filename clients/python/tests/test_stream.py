"""The event stream where connections break, go silent or are none of Sheaf's."""

from __future__ import annotations

from unittest import mock

from scripted import BUSY, Answer, Case, refused

from sheaf import errors

GREETING = b": hello\n\n"


def event(id: str) -> bytes:
    return b'id: %b\nevent: project.created\ndata: {"id":\ndata: "%b"}\n\n' % (id.encode(), id.encode())


def stream(*parts: bytes) -> Answer:
    return 200, {"Content-Type": "text/event-stream"}, b"".join(parts)


class Stream(Case):
    def test_it_goes_on_after_the_last(self) -> None:
        broken = stream(GREETING, event("1"), event("2")[:-1])
        sheaf, server = self.serve(broken, BUSY, None, stream(event("2"), event("3")))
        events = sheaf.events.stream(after="0")
        self.assertEqual([next(events)["id"] for _ in range(3)], ["1", "2", "3"])
        self.assertEqual([headers["last-event-id"] for _, _, headers, _ in server.seen], ["0", "1", "1", "1"])
        self.assertEqual(len(self.pauses), 3)

    def test_from_now_on_has_a_place_to_return_to(self) -> None:
        newest: Answer = (200, {}, {"data": [{"id": "7"}], "total": 7, "limit": 1, "offset": 0})
        sheaf, server = self.serve(newest, stream(event("8")))
        self.assertEqual(next(sheaf.events.stream(type="project.created"))["id"], "8")
        self.assertEqual(server.seen[1][1], "/api/v1/events/stream?type=project.created")
        self.assertEqual(server.seen[1][2]["last-event-id"], "7")

    def test_an_empty_log_begins_with_whatever_comes(self) -> None:
        empty: Answer = (200, {}, {"data": [], "total": 0, "limit": 1, "offset": 0})
        sheaf, server = self.serve(empty, stream(event("1")))
        self.assertEqual(next(sheaf.events.stream())["id"], "1")
        self.assertIn("since=1970", server.seen[1][1])

    def test_what_is_lost_is_told(self) -> None:
        sheaf, _ = self.serve(refused(404, "NOT_FOUND"))
        self.raises(errors.NotFound, lambda: next(sheaf.events.stream(after="0")))

    def test_silence_is_cut_and_the_log_is_read(self) -> None:
        endless = {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}
        held: Answer = (200, {}, {"data": [{"id": "1"}], "total": 1, "limit": 100, "offset": 0})
        sheaf, server = self.serve((200, endless, b"9\r\n: hello\n\n\r\n"), held, stream(event("2")))
        with mock.patch("sheaf._stream.SILENCE", 0.1):
            events = sheaf.events.stream(after="0")
            self.assertEqual([next(events)["id"] for _ in range(2)], ["1", "2"])
        paths = [path.split("?")[0] for _, path, _, _ in server.seen]
        self.assertEqual(paths, ["/api/v1/events/stream", "/api/v1/events", "/api/v1/events/stream"])
        self.assertEqual(server.seen[2][2]["last-event-id"], "1")

    def test_an_event_without_end_is_refused(self) -> None:
        sheaf, _ = self.serve(stream(b"data: " + b"x" * 2048))
        with mock.patch("sheaf._stream.MAX_FRAME", 1024):
            self.raises(errors.NotSheaf, lambda: next(sheaf.events.stream(after="0")))

    def test_what_is_no_stream_is_refused(self) -> None:
        sheaf, _ = self.serve((200, {"Content-Type": "text/html"}, b"<html>"), stream(b"data: 7\n\n"))
        for _ in range(2):
            self.raises(errors.NotSheaf, lambda: next(sheaf.events.stream(after="0")))
