"""Writes src/sheaf/aio.py: the nouns of the client once more, with coroutines. Their methods run those of the client in threads.

    python3 generate_aio.py
"""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parent / "src" / "sheaf"
NOUNS = ["project", "folder", "branding", "document", "medium", "share", "proposal", "release", "event", "key", "subscription", "delivery"]

HEAD = '''"""The client for asyncio: the same nouns and methods, as coroutines and asynchronous iterators.

    from sheaf.aio import AsyncSheaf

    async with AsyncSheaf("https://docs.example.com", key) as sheaf:
        async for project in sheaf.projects.all(sort="name"):
            print(project["name"])

Each request runs in one of a few threads. What is cancelled is no longer waited for, but may still have its effect.
"""

# Written by generate_aio.py.

from __future__ import annotations

import ssl
from datetime import datetime
from types import TracebackType
from typing import AsyncIterator, BinaryIO, Callable

from . import Sheaf, types
from ._aio import AsyncListing, Runner, follow
from .errors import SheafError
'''

CLIENT = '''

class AsyncSheaf:
    """A client with one key, for one event loop."""

    def __init__(
        self, server: str, key: str, *, retries: int = 4, timeout: float = 60.0, user_agent: str = "sheaf-python", threads: int = 8,
        tls: ssl.SSLContext | None = None, on_retry: Callable[[SheafError, float], None] | None = None,
    ) -> None:  # fmt: skip
        """As Sheaf. threads is how many requests run at a time; on_retry is called in one of their threads."""
        self._of = Sheaf(server, key, retries=retries, timeout=timeout, user_agent=user_agent, tls=tls, on_retry=on_retry)
        self._run = Runner(threads)
%s
    async def close(self) -> None:
        """Closes the connections that wait for the next request."""
        self._of.close()
        self._run.close()

    async def __aenter__(self) -> AsyncSheaf:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()
'''


def generated() -> str:
    """Returns the module."""
    names: set[str] = set()
    classes: list[str] = []
    members: list[str] = []
    for noun in NOUNS:
        tree = ast.parse((SOURCE / f"{noun}.py").read_text())
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module == "types":
                names |= {each.name for each in node.names}
        public = next(node for node in tree.body if isinstance(node, ast.ClassDef) and any(isinstance(m, ast.FunctionDef) and m.name in ("all", "stream") for m in node.body))
        classes.append(f'\n\nclass {public.name}:\n    """{ast.get_docstring(public)}"""\n\n    def __init__(self, run: Runner, of: Sheaf) -> None:\n'
                       f"        self._run, self._of = run, of.{attribute(public.name)}\n" + "".join(method(m, "self._of") for m in methods(public)))  # fmt: skip
        members.append(f"        self.{attribute(public.name)} = {public.name}(self._run, self._of)\n")
    whole = ast.parse((SOURCE / "__init__.py").read_text())
    client = next(node for node in whole.body if isinstance(node, ast.ClassDef))
    own = "".join(method(m, "self._of") for m in methods(client) if m.name != "close")
    imported = "from .types import (\n" + "".join(f"    {name},\n" for name in sorted(names)) + ")\n"
    return HEAD + imported + "".join(classes) + CLIENT % ("".join(members) + own)


def attribute(name: str) -> str:
    return name.lower()


def methods(node: ast.ClassDef) -> list[ast.FunctionDef]:
    return [m for m in node.body if isinstance(m, ast.FunctionDef) and not m.name.startswith("_")]


def method(m: ast.FunctionDef, of: str) -> str:
    """Returns one method of an asynchronous class."""
    returns = ast.unparse(m.returns) if m.returns else "None"
    takes = [f"{a.arg}" for a in m.args.args[1:]] + [f"{a.arg}={a.arg}" for a in m.args.kwonlyargs]
    about = (ast.get_docstring(m) or "").replace("\n", "\n        ")
    quoted = f'        """{about}"""\n'
    signature = f"({ast.unparse(m.args)})"
    kind, _, of_what = returns.partition("[")
    if kind in ("Listing", "Log"):
        call = f"{of}.{m.name}({', '.join(takes)})"
        return f"\n    def {m.name}{signature} -> AsyncListing[{of_what}:\n{quoted}        return AsyncListing(self._run, {call})\n"
    if kind == "Iterator":
        call = f"{of}._follower({', '.join(takes)})"
        return f"\n    def {m.name}{signature} -> AsyncIterator[{of_what}:\n{quoted}        return follow({call})\n"
    call = ", ".join([f"{of}.{m.name}", *takes])
    return f"\n    async def {m.name}{signature} -> {returns}:\n{quoted}        {'' if returns == 'None' else 'return '}await self._run.call({call})\n"


if __name__ == "__main__":
    (SOURCE / "aio.py").write_text(generated())
