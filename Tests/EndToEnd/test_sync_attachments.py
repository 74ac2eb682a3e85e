"""Attachments: resumable uploads, ranges, digests, and who may read them."""

import hashlib
import os
import re
import unittest
import uuid

from sync_device import Device
from harness import GatewayTest

QUICK = True
NOTES = "/api/v1/notes/notes"


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

    def test_it_is_readable_by_readers_of_a_record_that_names_it(self):
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


class OthersDigests(GatewayTest):
    """Who knows a digest has neither the bytes nor the knowledge whether they are here: every way to write a record that
    names it, and every way to ask, answers for a digest that another account uploaded as for an unknown one."""

    def setUp(self):
        self.data = os.urandom(600)
        self.digest, self.absent = hashlib.sha256(self.data).hexdigest(), os.urandom(32).hex()
        self.expect(self.gateway.request("PUT", path(self.data), body=self.data, user="alice"), 201)
        note = {"title": "hers", "attachments": [self.digest]}
        self.note = self.expect(self.gateway.send("POST", NOTES, note, user="alice"), 201).json()["id"]
        room = {"name": "a room", "id": str(uuid.uuid4())}
        self.room = self.expect(self.gateway.send("POST", "/chat/v1/rooms", room, user="carol"), 200).json()["room"]["id"]

    @staticmethod
    def told(answer):
        return answer.status, re.sub(rb'"requestId":"[^"]*"', b"", answer.body), {
            name: value for name, value in answer.headers.items() if name not in ("date", "x-request-id", "server-timing")}

    def writes(self):
        """Each takes a digest and the user, and gives what the gateway said."""
        send = self.gateway.send

        def own(user):
            return self.expect(send("POST", NOTES, {"title": "own"}, user=user), 201).json()["id"]

        def pushed(operation):
            def push(digest, user):
                device = Device(self.gateway, user)
                name = own(user) if operation == "update" else str(uuid.uuid4())
                outcome = device.change(operation, name, {"title": "t", "attachments": [digest]})
                return outcome["outcome"] == "applied", {name: outcome.get(name) for name in ("outcome", "reason", "message")}
            return push

        def posted(method, place, wrap=lambda fields: fields):
            def post(digest, user):
                answer = send(method, place(user), wrap({"title": "t", "attachments": [digest]}), user=user)
                return answer.status < 300, self.told(answer)[:2]
            return post

        def batched(digest, user):
            call = {"id": "1", "method": "POST", "path": NOTES, "body": {"title": "t", "attachments": [digest]}}
            answer = send("POST", "/batch", {"calls": [call]}, user=user).json()["answers"][0]
            return answer["status"] < 300, re.sub("'requestId': '[^']*'", "", str((answer["status"], answer["body"])))

        def message(fields):
            return {"text": "x", "attachments": fields["attachments"]}

        return {
            "resource POST": posted("POST", lambda user: NOTES),
            "resource PUT": posted("PUT", lambda user: f"{NOTES}/{uuid.uuid4()}"),
            "resource PUT over": posted("PUT", lambda user: f"{NOTES}/{own(user)}"),
            "resource PATCH": posted("PATCH", lambda user: f"{NOTES}/{own(user)}"),
            "push create": pushed("create"), "push update": pushed("update"), "batch": batched,
            "message resource": posted(
                "POST", lambda user: "/api/v1/chat/messages", lambda fields: {"room": self.room, **message(fields)}),
            "chat": posted("POST", lambda user: f"/chat/v1/rooms/{self.room}/messages", message),
            "Twaddle": posted(
                "POST", lambda user: "/chat",
                lambda fields: {"function": "postmessage", "room": self.room, **message(fields)}),
        }

    def probes(self, digest, size):
        place, request = f"/sync/v1/attachments/{digest}", self.gateway.request
        for headers in ({}, {"Range": "bytes=0-1"}, {"Range": f"bytes={size}-"}, {"If-None-Match": f'"{digest}"'},
                        {"If-None-Match": "*"}, {"If-Match": f'"{digest}"'}, {"If-Range": f'"{digest}"', "Range": "bytes=0-1"}):
            for method in ("GET", "HEAD"):
                yield request(method, place, headers=headers, user="carol")
        for total in (1, size, size + 1):
            yield request("PUT", place, body=b"", headers={"Content-Range": f"bytes */{total}"}, user="carol")
        yield request("PUT", place, body=b"x" * 10, headers={"Content-Range": f"bytes 0-9/{size}"}, user="carol")
        yield request("PUT", place, body=b"", headers={"Content-Range": f"bytes */{size}"}, user="carol")
        yield request("PUT", place, body=b"x", headers={"Content-Range": f"bytes {size - 1}-{size - 1}/{size}"}, user="carol")
        yield request("PUT", place, body=b"y" * (size - 10), headers={"Content-Range": f"bytes 10-{size - 1}/{size}"}, user="carol")
        yield request("PUT", place, body=b"z" * 3, user="carol")

    def test_naming_a_digest_gives_nothing(self):
        for name, write in self.writes().items():
            with self.subTest(name):
                (took, existing), (_, absent) = write(self.digest, "carol"), write(self.absent, "carol")
                self.assertEqual(existing, absent)
                self.assertFalse(took, existing)
                self.expect(self.gateway.get(path(self.data), user="carol"), 404, "record.notFound")

    def test_asking_tells_nothing(self):
        pairs = zip(self.probes(self.digest, 600), self.probes(self.absent, 600), strict=True)
        for number, (existing, absent) in enumerate(pairs):
            with self.subTest(number):
                self.assertEqual(self.told(existing), self.told(absent))
                self.assertIn(existing.status, (202, 400, 404, 409))

    def test_sending_the_bytes_gives_the_right_and_so_does_a_readable_record(self):
        for name, write in self.writes().items():
            with self.subTest(name):
                self.setUp()
                self.assertFalse(write(self.digest, "carol")[0])
                self.expect(self.gateway.request("PUT", path(self.data), body=self.data, user="carol"), 201)
                self.assertEqual(write(self.digest, "carol")[0], True)
                self.assertEqual(self.gateway.get(path(self.data), user="carol").body, self.data)
                self.setUp()
                shared = {"id": self.note, "with": ["carol"]}
                self.expect(self.gateway.send("POST", "/api/v1/notes/operations/share", shared, user="alice"), 200)
                asked = self.gateway.request(
                    "PUT", path(self.data), body=b"", headers={"Content-Range": "bytes */600"}, user="carol")
                self.assertEqual(self.expect(asked, 201).json(), {"complete": True, "received": 600})
                self.assertTrue(write(self.digest, "carol")[0])


class AttachmentCapacity(GatewayTest):
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


class CompleteBodies(GatewayTest):
    settings = ("--set", "sync.limits.uploads=2")

    def test_a_complete_body_takes_no_upload_slot(self):
        def put(data, user, field=None, piece=None):
            headers = {"Content-Range": field} if field else {}
            return self.gateway.request("PUT", path(data), body=piece or data, headers=headers, user=user)

        for name in (b"f", b"g"):
            self.expect(put(name * 50, "bob", "bytes 0-9/50", name * 10), 202)
        self.expect(put(b"h" * 50, "bob", "bytes 0-9/50", b"h" * 10), 503, "server.overloaded")
        self.expect(put(b"h" * 50, "carol"), 201)
        for name in (b"f", b"g"):
            self.expect(put(name * 50, "bob", "bytes 10-49/50", name * 40), 201)


class UploadShares(GatewayTest):
    """One account's uploads leave the others theirs."""

    settings = ("--set", "sync.limits.uploads=5", "--set", "sync.limits.uploadsPerPrincipal=3")

    def begin(self, name, user, *expected):
        data = name * 50
        answer = self.gateway.request(
            "PUT", path(data), body=name * 10, headers={"Content-Range": "bytes 0-9/50"}, user=user)
        return self.expect(answer, *expected)

    def received(self, name, user):
        answer = self.gateway.request(
            "PUT", path(name * 50), body=b"", headers={"Content-Range": "bytes */50"}, user=user)
        return self.expect(answer, 202).json()["received"]

    def test_an_account_beyond_its_share_gives_way_itself(self):
        for name in (b"a", b"b", b"c"):
            self.begin(name, "alice", 202)
        refused = self.begin(b"d", "alice", 503, "server.overloaded")
        self.assertIn("your uploads", refused.json()["error"]["message"])
        self.begin(b"d", "bob", 202)
        self.expect(self.gateway.request("PUT", path(b"e" * 50), body=b"e" * 50, user="bob"), 201)
        # Nobody went on with two of them for long.
        partial = os.path.join(self.gateway.data, "attachments", "partial")
        for name, age in ((b"b", 300), (b"c", 200)):
            digest = hashlib.sha256(name * 50).hexdigest()
            found, = (file for file in os.listdir(partial) if file.endswith(digest))
            then = os.stat(os.path.join(partial, found)).st_mtime - age
            os.utime(os.path.join(partial, found), (then, then))
        self.begin(b"d", "alice", 202)
        self.assertEqual([self.received(name, "alice") for name in (b"a", b"b", b"c", b"d")], [10, 0, 10, 10])
        self.begin(b"f", "bob", 202)
        self.begin(b"g", "bob", 503, "server.overloaded")
        self.assertEqual(self.received(b"d", "bob"), 10)


class UnnamedShares(GatewayTest):
    """What one account has uploaded and no record names leaves the others their room."""

    put, refer = Attachments.put, Attachments.refer

    settings = ("--set", "sync.limits.unnamedPerPrincipal=1000", "--set", "sync.limits.attachments=1MiB")

    def test_an_account_beyond_its_share_is_refused_until_records_name_its_uploads(self):
        data = [bytes([65 + number]) * 300 for number in range(8)]
        for whole in data[:3]:
            self.put(whole)
        self.put(data[3], status=507)
        self.put(data[3], data[3][:101], "bytes 0-100/300", status=507)
        # Uploads under way count, and another account has a share of its own.
        self.put(data[3], data[3][:100], "bytes 0-99/300", status=202)
        self.put(data[4], data[4][:1], "bytes 0-0/300", status=507)
        for whole in data[:3]:
            self.put(whole, user="bob")
        self.put(data[5], user="bob", status=507)
        # What records name counts no more, and stays so when the gateway starts again.
        self.refer(data[0], data[1])
        self.put(data[3], data[3][100:], "bytes 100-299/300")
        self.put(data[4])
        self.put(data[5], status=507)
        self.put(data[5], user="bob", status=507)
        self.refer(data[2], data[3], data[4])
        for whole in data[5:]:
            self.put(whole)


if __name__ == "__main__":
    unittest.main()
