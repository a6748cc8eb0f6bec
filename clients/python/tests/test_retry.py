"""What is made again, when, and what is not."""

from __future__ import annotations

from scripted import BUSY, Case, refused

from sheaf import Sheaf, SheafError, errors

PROJECT = {"id": "p1", "name": "Handbook"}


class Retry(Case):
    def test_a_post_is_repeated_with_one_key(self) -> None:
        sheaf, server = self.serve(BUSY, None, (201, {}, PROJECT))
        self.assertEqual(sheaf.projects.create({"name": "Handbook"})["id"], "p1")
        keys = {headers["idempotency-key"] for _, _, headers, _ in server.seen}
        self.assertEqual((len(server.seen), len(keys)), (3, 1))

    def test_the_callers_key_is_kept(self) -> None:
        sheaf, server = self.serve((201, {}, PROJECT))
        sheaf.projects.create({"name": "Handbook"}, idempotency_key="mine")
        self.assertEqual(server.seen[0][2]["idempotency-key"], "mine")

    def test_the_server_says_how_long(self) -> None:
        sheaf, _ = self.serve(refused(429, "RATE_LIMITED", Retry_After="7"), (200, {}, PROJECT))
        sheaf.projects.get("p1")
        self.assertTrue(7 <= self.pauses[0] <= 8, self.pauses)

    def test_a_date_is_compared_with_the_answers_own(self) -> None:
        headers = {"retry-after": "Mon, 16 Nov 2026 10:00:09 GMT", "date": "Mon, 16 Nov 2026 10:00:00 GMT"}
        self.assertEqual(errors.retry_after(headers), 9)
        self.assertEqual(errors.retry_after({"retry-after": "soon"}), 0)

    def test_pauses_grow(self) -> None:
        sheaf, _ = self.serve(BUSY, BUSY, BUSY, BUSY, BUSY)
        self.raises(errors.Unavailable, lambda: sheaf.projects.get("p1"))
        self.assertEqual(len(self.pauses), 4)
        for i, pause in enumerate(self.pauses):
            self.assertTrue(0.125 * 2**i <= pause <= 0.25 * 2**i, self.pauses)

    def test_what_takes_too_long_is_not_awaited(self) -> None:
        sheaf, server = self.serve(refused(429, "RATE_LIMITED", Retry_After="500"))
        error = self.raises(errors.RateLimited, lambda: sheaf.projects.get("p1"))
        self.assertEqual((error.retry_after, len(server.seen)), (500, 1))

    def test_what_is_wrong_is_not_repeated(self) -> None:
        said = {"error": "no", "code": "VALIDATION_ERROR", "field": "name"}
        sheaf, server = self.serve((400, {"X-Request-Id": "r1"}, said))
        error = self.raises(errors.ValidationError, lambda: sheaf.projects.create({"name": ""}))
        self.assertEqual((error.field, error.request_id, error.status, len(server.seen)), ("name", "r1", 400, 1))

    def test_a_change_on_a_condition_is_not_repeated_once_it_may_have_happened(self) -> None:
        sheaf, server = self.serve(None)
        error = self.raises(errors.Unreachable, lambda: sheaf.projects.update("p1", {"name": "New"}, if_match='"1"'))
        self.assertEqual((error.sent, len(server.seen)), (True, 1))

    def test_a_change_without_one_is(self) -> None:
        sheaf, server = self.serve(None, (200, {}, PROJECT))
        sheaf.projects.update("p1", {"name": "New"})
        self.assertEqual(len(server.seen), 2)

    def test_what_takes_no_key_is_not_repeated(self) -> None:
        sheaf, server = self.serve(None)
        self.raises(errors.Unreachable, lambda: sheaf.subscriptions.test("s1"))
        self.assertEqual([headers.get("idempotency-key") for _, _, headers, _ in server.seen], [None])

    def test_a_second_delete_that_finds_nothing_is_done(self) -> None:
        sheaf, server = self.serve(None, refused(404, "NOT_FOUND"))
        sheaf.projects.delete("p1")
        self.assertEqual(len(server.seen), 2)

    def test_a_first_delete_that_finds_nothing_is_not(self) -> None:
        sheaf, _ = self.serve(refused(404, "NOT_FOUND"))
        self.raises(errors.NotFound, lambda: sheaf.projects.delete("p1"))

    def test_where_nobody_is_every_request_is_repeated(self) -> None:
        sheaf, server = self.serve()
        server.close()
        error = self.raises(errors.Unreachable, lambda: sheaf.subscriptions.test("s1"))
        self.assertEqual((error.sent, len(self.pauses)), (False, 4))

    def test_repetitions_can_be_turned_off(self) -> None:
        sheaf, server = self.serve(BUSY, retries=0)
        self.raises(errors.Unavailable, lambda: sheaf.projects.get("p1"))
        self.assertEqual((len(server.seen), self.pauses), (1, []))

    def test_repetitions_are_told(self) -> None:
        told: list[tuple[SheafError, float]] = []
        _, server = self.serve(BUSY, (200, {}, PROJECT))
        with Sheaf(server.url, "shf_key", on_retry=lambda error, seconds: told.append((error, seconds))) as sheaf:
            sheaf.projects.get("p1")
        self.assertIsInstance(told[0][0], errors.Unavailable)
        self.assertEqual([told[0][1]], self.pauses)
