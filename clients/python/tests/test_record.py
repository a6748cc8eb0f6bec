"""Records, lists and what is asked for."""

from __future__ import annotations

import json
from datetime import datetime, timezone

from scripted import Answer, Case, refused

from sheaf import NONE, Sheaf, errors, etag, types

PROJECT = {"id": "p1", "name": "Handbook"}


def page(*ids: str, total: int, limit: int = 2, offset: int = 0) -> Answer:
    return 200, {}, {"data": [{"id": id} for id in ids], "total": total, "limit": limit, "offset": offset}


class Records(Case):
    def test_etags(self) -> None:
        sheaf, server = self.serve((200, {"ETag": '"7"'}, PROJECT), (304, {}, b""), page("p1", total=1))
        self.assertEqual(etag(sheaf.projects.get("p1")), '"7"')
        self.raises(errors.NotModified, lambda: sheaf.projects.get("p1", if_none_match='"7"'))
        self.assertEqual(server.seen[1][2]["if-none-match"], '"7"')
        self.raises(ValueError, lambda: [etag(project) for project in sheaf.projects.all()])

    def test_what_is_asked(self) -> None:
        sheaf, server = self.serve(page(total=0), page(total=0))
        since = datetime(2026, 11, 16, 11, tzinfo=timezone.utc)
        list(sheaf.documents.all(project_id=NONE, deleted=True, updated_since=since))
        asked = "/api/v1/documents?project_id=null&updated_since=2026-11-16T11%3A00%3A00.000000Z&deleted=true&limit=100&offset=0"
        self.assertEqual(server.seen[0][1], asked)
        list(sheaf.search("two words", type=["project", "document"]))
        self.assertIn("q=two+words&type=project%2Cdocument", server.seen[1][1])
        self.raises(ValueError, lambda: list(sheaf.projects.all(updated_since=datetime(2026, 11, 16))))

    def test_the_tree_of_a_project(self) -> None:
        tree = {"data": [{"id": "d1", "title": "Start", "parent_id": None, "depth": 1, "children": 0}], "total": 1}
        sheaf, server = self.serve((200, {"ETag": '"t"'}, tree), (200, {"ETag": '"2"'}, {"id": "d1"}), page(total=0), refused(400, "VALIDATION_ERROR"))
        got = sheaf.projects.tree("p1")
        self.assertEqual((etag(got), got["data"][0]["depth"], server.seen[0][1]), ('"t"', 1, "/api/v1/projects/p1/tree"))
        moved = sheaf.documents.move("d1", {"parent_id": None, "after_id": "d2"}, if_match='"1"', idempotency_key="k")
        method, path, headers, body = server.seen[1]
        self.assertEqual((method, path, json.loads(body)), ("POST", "/api/v1/documents/d1/move", {"parent_id": None, "after_id": "d2"}))
        self.assertEqual((headers["if-match"], headers["idempotency-key"], etag(moved)), ('"1"', "k", '"2"'))
        list(sheaf.documents.all(project_id="p1", parent_id=NONE, sort="sort_order"))
        self.assertEqual(server.seen[2][1], "/api/v1/documents?project_id=p1&parent_id=null&sort=sort_order&limit=100&offset=0")
        self.raises(errors.ValidationError, lambda: sheaf.documents.move("d1", {"parent_id": "d1"}))

    def test_an_id_is_one_segment(self) -> None:
        sheaf, server = self.serve(refused(404, "NOT_FOUND"), refused(404, "NOT_FOUND"))
        for id in ("../me", ".."):
            self.raises(errors.NotFound, lambda: sheaf.projects.get(id))
        self.assertEqual([path for _, path, _, _ in server.seen], ["/api/v1/projects/..%2Fme", "/api/v1/projects/-"])

    def test_pages(self) -> None:
        sheaf, server = self.serve(page("1", "2", total=3), page("3", total=3, offset=2), page("1", "2", total=3))
        listing = sheaf.projects.all(limit=2)
        self.assertEqual([project["id"] for project in listing], ["1", "2", "3"])
        self.assertIn("offset=2", server.seen[1][1])
        first = listing.page()
        self.assertEqual((first.total, first.more, len(first.data)), (3, True, 2))

    def test_the_log_goes_on_after_the_last(self) -> None:
        sheaf, server = self.serve(page("a", "b", total=3), page("c", total=1))
        self.assertEqual([event["id"] for event in sheaf.events.all(limit=2)], ["a", "b", "c"])
        self.assertIn("after=b", server.seen[1][1])

    def test_the_audit_log_goes_on_after_the_last(self) -> None:
        sheaf, server = self.serve(page("a", "b", total=3), page("c", total=1), page("c", "b", total=3))
        lines = sheaf.audit.all(action="key.created", user_id="u", limit=2)
        self.assertEqual([line["id"] for line in lines], ["a", "b", "c"])
        self.assertEqual(server.seen[1][1], "/api/v1/audit?action=key.created&user_id=u&after=b&limit=2")
        backwards = sheaf.audit.all(order="desc", limit=2)
        self.assertEqual(backwards.page().data[0]["id"], "c")

    def test_the_past_is_sent_page_by_page(self) -> None:
        later = "2026-11-16T12:00:00.000Z"
        sheaf, server = self.serve(
            (202, {}, {"queued": 7, "next_since": later}), (202, {}, {"queued": 2, "next_since": None}), (202, {}, {"queued": 1}),
        )  # fmt: skip
        since = datetime(2026, 11, 16, 11, tzinfo=timezone.utc)
        queued = sheaf.subscriptions.recover("s1", since, until="2026-11-17T00:00:00Z", delivered=True, idempotency_key="k")
        self.assertEqual(queued, 9)
        asked = [json.loads(body) for _, _, _, body in server.seen]
        rest = {"until": "2026-11-17T00:00:00Z", "delivered": True}
        self.assertEqual(asked, [{"since": "2026-11-16T11:00:00.000000Z", **rest}, {"since": later, **rest}])
        self.assertEqual([headers["idempotency-key"] for _, _, headers, _ in server.seen], ["k", "k-2"])
        self.assertEqual(sheaf.subscriptions.recover("s1", later), 1)
        self.assertEqual(json.loads(server.seen[2][3]), {"since": later})

    def test_what_is_no_answer_of_sheafs(self) -> None:
        elsewhere = (302, {"Location": "https://other.test"}, b"")
        sheaf, _ = self.serve((200, {}, b"<html>"), elsewhere, (502, {}, b"<html>"), retries=0)
        self.raises(errors.NotSheaf, lambda: sheaf.projects.get("p1"))
        self.assertIn("it points to https://other.test", str(self.raises(errors.Refused, lambda: sheaf.projects.get("p1"))))
        self.assertEqual(self.raises(errors.Refused, lambda: sheaf.projects.get("p1")).code, "")

    def test_a_batch_says_which_operation_is_refused(self) -> None:
        said = {"error": "no", "code": "NOT_FOUND", "index": 1}
        sheaf, server = self.serve((404, {}, said), (200, {}, {"results": [{"status": 204}]}))
        operations: list[types.BatchOperation] = [{"action": "delete", "resource_type": "project", "resource_id": "p1"}]
        self.assertEqual(self.raises(errors.NotFound, lambda: sheaf.batch(operations)).index, 1)
        self.assertEqual(sheaf.batch(operations)[0]["status"], 204)
        self.assertEqual(json.loads(server.seen[1][3]), {"operations": operations})
        self.assertTrue(server.seen[1][2]["idempotency-key"])

    def test_an_address_that_is_none(self) -> None:
        for server in ("docs.example.com", "ftp://docs.example.com", "https://docs.example.com?a=b", ""):
            self.raises(ValueError, lambda: Sheaf(server, "shf_key"))
        self.raises(ValueError, lambda: Sheaf("https://docs.example.com", ""))
