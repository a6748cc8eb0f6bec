"""Connections to one server: each request gets one, and a few wait for the next request."""

from __future__ import annotations

import http.client
import ssl
import threading
import time
import urllib.parse
import urllib.request
from typing import Mapping

from .errors import Unreachable

# How long an unused connection is trusted to be still there, and how many are kept.
_IDLE_SECONDS = 30.0
_IDLE_MOST = 8


class Wire:
    """Makes requests to one server. It is safe for use by several threads."""

    def __init__(self, server: str, tls: ssl.SSLContext | None) -> None:
        parts = urllib.parse.urlsplit(server)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError(f"{server!r} is not the address of a server, such as https://docs.example.com")
        self.host = parts.netloc
        self.prefix = parts.path.rstrip("/")
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._secure = parts.scheme == "https"
        self._name, self._port = parts.hostname, parts.port
        self._tls = tls or (ssl.create_default_context() if self._secure else None)
        self._proxy = _proxy(parts.scheme, parts.hostname)
        self._lock = threading.Lock()  # guards _idle
        self._idle: list[tuple[float, http.client.HTTPConnection]] = []

    def open(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None, *, timeout: float, fresh: bool
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Sends a request and returns when the head of its answer came. fresh takes no connection that was used before:
        such a one may turn out to be closed, and then nobody knows whether the request arrived.
        """
        connection = None if fresh else self._take()
        if connection is None:
            connection = self._dial(timeout)
        if connection.sock is not None:
            connection.sock.settimeout(timeout)
        if self._proxy and not self._secure:
            target = self._origin + target
        try:
            connection.request(method, target, body=body, headers=dict(headers))
            return connection, connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Unreachable(f"{self.host} does not answer: {_why(error)}", sent=True) from error

    def read(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> bytes:
        """Reads the rest of an answer, and keeps the connection for the next request."""
        try:
            body = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Unreachable(f"the answer of {self.host} broke off: {_why(error)}", sent=True) from error
        if response.will_close:
            connection.close()
        else:
            self._keep(connection)
        return body

    def close(self) -> None:
        """Closes the connections that wait."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, connection in idle:
            connection.close()

    def _dial(self, timeout: float) -> http.client.HTTPConnection:
        name, port = self._proxy or (self._name, self._port)
        if self._secure:
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(name, port, timeout=timeout, context=self._tls)
            if self._proxy:
                connection.set_tunnel(self._name, self._port or 443)
        else:
            connection = http.client.HTTPConnection(name, port, timeout=timeout)
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            raise Unreachable(f"{self.host} cannot be reached: {_why(error)}", sent=False) from error
        return connection

    def _take(self) -> http.client.HTTPConnection | None:
        """Returns the connection that was used last, if it is likely to be still there."""
        stale: list[http.client.HTTPConnection] = []
        found = None
        with self._lock:
            while self._idle and found is None:
                since, connection = self._idle.pop()
                if time.monotonic() - since < _IDLE_SECONDS:
                    found = connection
                else:
                    stale.append(connection)
        for connection in stale:
            connection.close()
        return found

    def _keep(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < _IDLE_MOST:
                self._idle.append((time.monotonic(), connection))
                return
        connection.close()


def lowered(headers: http.client.HTTPMessage) -> dict[str, str]:
    """Returns the headers of an answer, by their names in lower case; of a repeated one the first."""
    out: dict[str, str] = {}
    for name, value in headers.items():
        out.setdefault(name.lower(), value)
    return out


def _proxy(scheme: str, host: str) -> tuple[str, int | None] | None:
    """Returns the proxy that the environment names for the server."""
    address = urllib.request.getproxies().get(scheme)
    if not address or urllib.request.proxy_bypass(host):
        return None
    parts = urllib.parse.urlsplit(address if "//" in address else "//" + address)
    return (parts.hostname, parts.port) if parts.hostname else None


def _why(error: BaseException) -> str:
    return str(error) or type(error).__name__
