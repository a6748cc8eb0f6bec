"""A server that fails as told, which a real one does not, and a test case that makes no pauses."""

from __future__ import annotations

import json
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable
from unittest import mock

from sheaf import Sheaf

Answer = tuple[int, dict[str, str], Any]


class Server:
    """Answers one request after the other as told; for None it cuts the connection."""

    def __init__(self, answers: list[Answer | None]) -> None:
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []
        self._waiting = iter(answers)
        self.hold: threading.Event | None = None  # keeps an answer open until it is set
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                owner.seen.append((self.command, self.path, headers, body))
                answer = next(owner._waiting)
                if answer is None:
                    self.close_connection = True
                else:
                    self.answer(*answer)

            def answer(self, status: int, headers: dict[str, str], content: Any) -> None:
                text = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if status not in (204, 304) and "Transfer-Encoding" not in headers:
                    self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                if status not in (204, 304) and self.command != "HEAD":
                    self.wfile.write(text)
                if owner.hold:
                    self.wfile.flush()
                    owner.hold.wait()
                    self.close_connection = True

            do_GET = do_HEAD = do_POST = do_PATCH = do_PUT = do_DELETE = handle_any

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler


class Case(unittest.TestCase):
    """A test with such a server, and pauses that are noted and not made."""

    def setUp(self) -> None:
        self.pauses: list[float] = []
        patch = mock.patch("sheaf._call._sleep", self.pauses.append)
        patch.start()
        self.addCleanup(patch.stop)

    def serve(self, *answers: Answer | None, retries: int = 4) -> tuple[Sheaf, Server]:
        server = Server(list(answers))
        self.addCleanup(server.close)
        sheaf = Sheaf(server.url + "/", "shf_key", retries=retries)
        self.addCleanup(sheaf.close)
        return sheaf, server

    def raises(self, kind: type[BaseException], act: Callable[[], object]) -> Any:
        with self.assertRaises(kind) as caught:
            act()
        return caught.exception


def refused(status: int, code: str, **headers: str) -> Answer:
    return status, {name.replace("_", "-"): value for name, value in headers.items()}, {"error": "no", "code": code}


BUSY = refused(503, "UNAVAILABLE")
