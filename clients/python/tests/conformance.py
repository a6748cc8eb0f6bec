"""Plays one row of the table of clients (see test/clients): a task as JSON on standard input, its result on standard output."""

from __future__ import annotations

import base64
import hashlib
import io
import itertools
import json
import sys
from typing import Any, Callable

from sheaf import Sheaf, SheafError, errors, etag, webhook


def create(sheaf: Sheaf, task: dict[str, Any]) -> dict[str, Any]:
    project = sheaf.projects.create({"name": task["name"], "color": task.get("color"), "metadata": task.get("metadata")})
    return {"id": project["id"]}


def page(sheaf: Sheaf, task: dict[str, Any]) -> dict[str, Any]:
    return {"ids": [document["id"] for document in sheaf.documents.all(project_id=task["project_id"])]}


def stream(sheaf: Sheaf, task: dict[str, Any]) -> dict[str, Any]:
    events = sheaf.events.stream(after=task["after"])
    return {"ids": [event["id"] for event in itertools.islice(events, task["count"])]}


def verify(sheaf: Sheaf, task: dict[str, Any]) -> dict[str, Any]:
    return {"verdicts": [verdict(trial) for trial in task["trials"]]}


def verdict(trial: dict[str, Any]) -> str:
    body = base64.b64decode(trial["body"])
    return word(lambda: webhook.parse(trial["secret"], trial["headers"], body, clock=lambda: float(trial["now"])))


def upload(sheaf: Sheaf, task: dict[str, Any]) -> dict[str, Any]:
    medium = sheaf.media.upload(base64.b64decode(task["content"]), filename=task["filename"])
    back = io.BytesIO()
    sheaf.media.download(medium["id"], back)
    return {"id": medium["id"], "sha256": hashlib.sha256(back.getvalue()).hexdigest()}


def pieces(sheaf: Sheaf, task: dict[str, Any]) -> dict[str, Any]:
    content = io.BytesIO(bytes([task["seed"]]) * task["bytes"])
    return {"id": sheaf.media.upload_from(content, filename=task["filename"])["id"]}


def share(sheaf: Sheaf, task: dict[str, Any]) -> dict[str, Any]:
    made = sheaf.shares.create({"resource_type": "document", "resource_id": task["document_id"]})
    return {"url": made["url"]}


def refuse(sheaf: Sheaf, task: dict[str, Any]) -> dict[str, Any]:
    field = ""
    try:
        sheaf.projects.create({"name": "Wrong", "color": "blue"})
    except errors.ValidationError as error:
        field = error.field
    with Sheaf(task["server"], "shf_unknown") as stranger:
        key = word(stranger.me)
    missing = word(lambda: sheaf.projects.get(task["id"]))
    invalid = word(lambda: sheaf.projects.create({"name": "Wrong", "color": "blue"}))
    return {"missing": missing, "invalid": invalid, "field": field, "key": key}


def change(sheaf: Sheaf, task: dict[str, Any]) -> dict[str, Any]:
    id = task["id"]
    read = etag(sheaf.documents.get(id))
    changed = sheaf.documents.update(id, {"title": "Second"}, if_match=read)
    second = word(lambda: sheaf.documents.update(id, {"title": "Third"}, if_match=read))
    sheaf.documents.put_content(id, "two\n")
    return {"second": second, "title": changed["title"]}


def arrange(sheaf: Sheaf, task: dict[str, Any]) -> dict[str, Any]:
    project = task["project_id"]

    def tree() -> list[str]:
        return [f"{entry['depth']} {entry['title']}" for entry in sheaf.projects.tree(project)["data"]]

    top = sheaf.documents.create({"title": "top", "project_id": project})
    first, second = (
        sheaf.documents.create({"title": title, "project_id": project, "parent_id": top["id"]}) for title in ("first", "second")
    )
    sheaf.documents.move(second["id"], {"before_id": first["id"]})
    swapped = tree()
    sheaf.documents.move(first["id"], {"parent_id": None})
    return {"swapped": swapped, "top": tree()}


def word(act: Callable[[], object]) -> str:
    """Returns the class of the error, or nothing."""
    try:
        act()
    except SheafError as error:
        return type(error).__name__
    return ""


PLAYS = {
    "create": create, "page": page, "stream": stream, "verify": verify, "upload": upload, "pieces": pieces, "share": share,
    "refuse": refuse, "change": change, "arrange": arrange,
}  # fmt: skip


def main() -> None:
    task = json.load(sys.stdin)
    with Sheaf(task["server"], task["key"]) as sheaf:
        json.dump(PLAYS[task["row"]](sheaf, task), sys.stdout)


if __name__ == "__main__":
    main()
