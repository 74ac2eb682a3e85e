"""Attachments: resumable uploads, ranges, digests, and who may read them."""

import hashlib
import os
import unittest
import uuid

from device import Device
from harness import GatewayTest

QUICK = True


def path(data):
    return f"/sync/v1/attachments/{hashlib.sha256(data).hexdigest()}"


class Attachments(GatewayTest):
    def put(self, data, piece=None, field=None, user="alice", status=201):
        headers = {"Content-Range": field} if field else {}
        answer = self.gateway.request("PUT", path(data), body=data if piece is None else piece, headers=headers, user=user)
        return self.expect(answer, status)

    def refer(self, *contents, **fields):
        digests = [hashlib.sha256(data).hexdigest() for data in contents]
        device = Device(self.gateway, "alice")
        outcome = device.change("create", str(uuid.uuid4()), {"title": "t", "attachments": digests, **fields})
        self.assertEqual(outcome["outcome"], "applied", outcome)

    def test_it_is_read_by_those_who_may_read_a_record_that_names_it(self):
        data = uuid.uuid4().bytes * 9000
        self.assertTrue(self.put(data).json()["complete"])
        self.expect(self.gateway.get(path(data), user="alice"), 404, "record.notFound")
        self.refer(data, sharedWith=["bob"])
        for user in ("alice", "bob"):
            answer = self.expect(self.gateway.get(path(data), user=user), 200)
            self.assertEqual(answer.body, data)
            self.assertEqual(answer.headers["content-length"], str(len(data)))
        self.expect(self.gateway.get(path(data), user="carol"), 404, "record.notFound")
        self.expect(self.gateway.get(path(data)), 401, "auth.required")

    def test_ranges_are_served(self):
        data = os.urandom(1600)
        self.put(data)
        self.refer(data)
        for field, part in (("bytes=0-9", data[:10]), ("bytes=1590-", data[1590:]), ("bytes=-5", data[-5:])):
            answer = self.expect(self.gateway.get(path(data), headers={"Range": field}, user="alice"), 206)
            self.assertEqual(answer.body, part)
            start = data.index(part)
            self.assertEqual(answer.headers["content-range"], f"bytes {start}-{start + len(part) - 1}/1600")
        beyond = self.gateway.get(path(data), headers={"Range": "bytes=1600-"}, user="alice")
        self.assertEqual((beyond.status, beyond.headers["content-range"]), (416, "bytes */1600"))
        self.assertEqual(self.gateway.request("HEAD", path(data), user="alice").status, 200)

    def test_an_upload_goes_on_where_it_was_cut(self):
        data = uuid.uuid4().bytes * 10
        first = self.put(data, data[:100], "bytes 0-99/160", status=202).json()
        self.assertEqual(first, {"complete": False, "received": 100})
        self.assertEqual(self.put(data, b"", "bytes */160", status=202).json()["received"], 100)
        self.put(data, data[50:120], "bytes 50-119/160", status=202)
        gap = self.put(data, data[140:], "bytes 140-159/160", status=409)
        self.assertEqual(gap.json()["error"]["code"], "record.conflict")
        self.assertTrue(self.put(data, data[120:], "bytes 120-159/160").json()["complete"])
        self.assertTrue(self.put(data).json()["complete"])
        self.refer(data)
        self.assertEqual(self.gateway.get(path(data), user="alice").body, data)

    def test_bytes_that_are_something_else_are_refused_and_forgotten(self):
        data = uuid.uuid4().bytes
        refused = self.put(data, b"x" * 16, "bytes 0-15/16", status=400)
        self.assertEqual(refused.json()["error"]["code"], "request.invalid")
        self.assertEqual(self.put(data, b"", "bytes */16", status=202).json()["received"], 0)
        self.put(data)

    def test_ranges_and_digests_that_are_none_are_refused(self):
        data = uuid.uuid4().bytes
        for field in ("bytes 0-9/16", "bytes 3-1/16", "0-15/16", "bytes 0-15/*", "bytes 0-15/15"):
            self.put(data, data, field, status=400)
        self.assertEqual(self.gateway.request("PUT", "/sync/v1/attachments/abc", body=b"x", user="alice").status, 404)
        self.assertEqual(self.gateway.request("PUT", path(data).upper(), body=data, user="alice").status, 404)


class AttachmentRoom(GatewayTest):
    settings = ("--set", "sync.limits.attachments=1KiB", "--set", "sync.limits.uploads=2")

    def test_all_attachments_together_have_a_limit_and_so_have_uploads(self):
        def put(data, field=None, piece=None):
            headers = {"Content-Range": field} if field else {}
            return self.gateway.request("PUT", path(data), body=piece or data, headers=headers, user="alice")

        self.expect(put(b"a" * 600), 201)
        self.expect(put(b"b" * 600), 507, "store.full")
        self.expect(put(b"a" * 600), 201)
        for name in (b"c", b"d"):
            self.expect(put(name * 50, "bytes 0-9/50", name * 10), 202)
        self.expect(put(b"e" * 50, "bytes 0-9/50", b"e" * 10), 503, "server.overloaded")
        self.expect(put(b"c" * 50, "bytes 10-49/50", b"c" * 40), 201)
        self.expect(put(b"e" * 50, "bytes 0-9/50", b"e" * 10), 202)


if __name__ == "__main__":
    unittest.main()
