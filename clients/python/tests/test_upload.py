"""Files in several pieces."""

from __future__ import annotations

import base64
import io
from unittest import mock

from scripted import BUSY, Case, refused

from sheaf import errors

MADE = (201, {"Location": "/api/v1/uploads/u1"}, None)
THERE = (204, {}, None)
MEDIUM = (200, {}, {"id": "u1", "bytes": 10})


def at(offset: int) -> tuple[int, dict[str, str], object]:
    return 200, {"Upload-Offset": str(offset)}, b""


class Uploads(Case):
    def setUp(self) -> None:
        super().setUp()
        patch = mock.patch("sheaf.medium.MAX_PIECE", 4)
        patch.start()
        self.addCleanup(patch.stop)

    def test_a_file_goes_piece_by_piece(self) -> None:
        sheaf, server = self.serve(MADE, THERE, THERE, THERE, MEDIUM)
        made = sheaf.media.upload_from(io.BytesIO(b"0123456789"), filename="é.txt", document_id="d1")
        self.assertEqual(made["id"], "u1")
        first = server.seen[0][2]
        names = dict(pair.split(" ") for pair in first["upload-metadata"].split(","))
        self.assertEqual({k: base64.b64decode(v).decode() for k, v in names.items()}, {"filename": "é.txt", "document_id": "d1"})
        self.assertEqual((first["upload-length"], first.get("idempotency-key")), ("10", None))
        pieces = [(headers["upload-offset"], body) for method, _, headers, body in server.seen if method == "PATCH"]
        self.assertEqual(pieces, [("0", b"0123"), ("4", b"4567"), ("8", b"89")])

    def test_it_goes_on_where_the_server_is(self) -> None:
        sheaf, server = self.serve(MADE, None, at(2), THERE, BUSY, at(6), THERE, MEDIUM)
        sheaf.media.upload_from(io.BytesIO(b"0123456789"), filename="a")
        pieces = [body for method, _, _, body in server.seen if method == "PATCH"]
        self.assertEqual((pieces, self.pauses), ([b"0123", b"2345", b"6789", b"6789"], self.pauses))
        self.assertEqual(len(self.pauses), 1)  # after the piece that did not arrive

    def test_it_gives_up(self) -> None:
        sheaf, server = self.serve(MADE, BUSY, at(0), BUSY, at(0), retries=1)
        self.raises(errors.Unavailable, lambda: sheaf.media.upload_from(io.BytesIO(b"0123"), filename="a"))
        self.assertEqual(len(server.seen), 5)

    def test_an_empty_file_is_one_request(self) -> None:
        sheaf, server = self.serve(MADE, MEDIUM)
        sheaf.media.upload_from(io.BytesIO(b""), filename="a")
        self.assertEqual([method for method, _, _, _ in server.seen], ["POST", "GET"])

    def test_what_is_refused_is_raised(self) -> None:
        sheaf, server = self.serve(refused(403, "QUOTA_REACHED"))
        self.raises(errors.SheafError, lambda: sheaf.media.upload_from(io.BytesIO(b"x"), filename="a"))
